// SPDX-License-Identifier: Apache-2.0

//! Sessions: opened by clients, kept while they are heard of, ended on request or after the timeout.

use super::execute::Body;
use super::state::{Caller, State};
use crate::change::Fault;
use crate::keys;
use crate::ns::open::close_here;
use crate::records::SessionRecord;
use crate::view::View;
use nyala_store::Batch;
use nyala_wire::meta::{MetaReply, SessionReply};
use nyala_wire::{ErrorCode, InodeId, SessionId, Time, WireError, codec};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Most bytes of a client's name that are kept.
const MAX_CLIENT_BYTES: usize = 256;

/// Opens a session, or keeps it alive.
pub async fn open(state: &Rc<State>, session: SessionId, client: &str) -> Result<Body, WireError> {
    if session.0 == 0 {
        return Err(ErrorCode::INVALID.with("session 0 is nobody's"));
    }
    let known = state.sessions.borrow_mut().insert(session, Instant::now()).is_some();
    if !known {
        let name: String = client.chars().take(MAX_CLIENT_BYTES).collect();
        tracing::info!(%session, client = %name, "session opened");
        let mut batch = Batch::new();
        batch.put(keys::session(session), codec::encode(&SessionRecord { client: name }));
        state.apply(&batch)?;
        state.flusher.flushed().await?;
    }
    let map = state.map();
    let timeout_ms = map.settings.session_timeout_ms;
    Ok(codec::encode(&MetaReply::Session(SessionReply { timeout_ms, map_version: map.version, known })))
}

/// Ends a session: what it holds open is closed, its kept replies are forgotten.
pub async fn end(state: &Rc<State>, session: SessionId) -> Result<(), WireError> {
    state.sessions.borrow_mut().remove(&session);
    for inode in opened_by(state, session)? {
        close_one(state, session, inode).await?;
    }
    let mut batch = Batch::new();
    let prefix = keys::reply_prefix(session);
    View::scan(&state.store, &prefix, &keys::prefix_end(&prefix), &mut |key, _| {
        batch.delete(key);
        ControlFlow::Continue(())
    })?;
    batch.delete(keys::session(session));
    state.apply(&batch)?;
    state.flusher.flushed().await
}

fn opened_by(state: &State, session: SessionId) -> Result<Vec<InodeId>, WireError> {
    let mut found = Vec::new();
    View::scan(&state.store, &[keys::OPEN], &[keys::OPEN + 1], &mut |key, _| {
        found.extend(keys::parse_open(key).filter(|(_, opener)| *opener == session).map(|(inode, _)| inode));
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

async fn close_one(state: &Rc<State>, session: SessionId, inode: InodeId) -> Result<(), WireError> {
    loop {
        let released = state.released.notified();
        let caller = Caller::service(Time::default());
        let closed = state.with_change(&caller, None, |mut change, _| {
            close_here(&mut change, session, inode)?;
            Ok(change.finish())
        });
        match closed {
            Ok(batch) => return state.apply(&batch),
            Err(Fault::Refused(error)) => return Err(error),
            Err(_) => super::execute::wait_release(released).await,
        }
    }
}

/// Ends sessions that were not heard of for the timeout. Runs until the service stops.
pub async fn expire(state: Rc<State>) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let timeout = Duration::from_millis(u64::from(state.map().settings.session_timeout_ms));
        let silent: Vec<SessionId> = {
            let sessions = state.sessions.borrow();
            sessions.iter().filter(|(_, seen)| seen.elapsed() > timeout).map(|(session, _)| *session).collect()
        };
        for session in silent {
            tracing::warn!(%session, "session ended: its client was silent for {timeout:?}");
            if let Err(error) = end(&state, session).await {
                tracing::error!(%session, %error, "cannot end the session");
            }
        }
    }
}
