// SPDX-License-Identifier: Apache-2.0

//! Sessions: opened by clients, kept while they are heard of, ended on request or after the timeout. The bookkeeping,
//! and its failure model, is `nyala_namespace::sessions`.

use super::execute::Body;
use super::leases::answer;
use super::state::{Caller, State};
use nyala_kv::Batch;
use nyala_namespace::change::{Change, Fault, Step};
use nyala_namespace::keys;
use nyala_namespace::ns::open::close_here;
use nyala_namespace::records::SessionRecord;
use nyala_namespace::view::View;
use nyala_wire::meta::{Grants, MetaReply, SessionReply};
use nyala_wire::{InodeId, SessionId, Time, WireError, codec};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

/// Most characters of a client's name that are kept.
const MAX_CLIENT_CHARS: usize = 256;
/// A client that is heard of may take so many session timeouts to let go of a lease: it may have much to write first, to a
/// storage target that is away. With the default timeout that is longer than a client tries (`retry-timeout`), which then
/// reports what it wrote as lost, and lets go.
const OVERDUE: u64 = 22;
/// Shortest and longest pause between two looks for sessions that end.
const LOOK: [Duration; 2] = [Duration::from_millis(10), Duration::from_secs(1)];

/// Opens a session, or keeps it alive.
pub async fn open(state: &Rc<State>, session: SessionId, client: &str, leases: bool) -> Result<Body, WireError> {
    let known = state.sessions.borrow_mut().open(session, state.now_ms())?;
    if !known {
        let name: String = client.chars().take(MAX_CLIENT_CHARS).collect();
        tracing::info!(%session, client = %name, "session opened");
        let mut batch = Batch::new();
        batch.put(
            keys::session(session),
            codec::encode(&SessionRecord { client: name, leases: leases.then_some(true) }),
        );
        if let Err(error) = state.apply(&batch) {
            state.sessions.borrow_mut().forget(session);
            return Err(error);
        }
    }
    // Also when it is known: the record may have been applied by another copy of this request, and not be on disk yet.
    state.flusher.flushed().await?;
    state.durable().await?;
    let map = state.map();
    let timeout_ms = map.settings.session_timeout_ms;
    Ok(answer(
        Grants::default(),
        &MetaReply::Session(SessionReply { timeout_ms, map_version: map.version, known, boot: state.boot }),
    ))
}

/// Ends a session: what it holds open is closed, its kept replies are forgotten, its leases are free. `fence`: its client
/// does not know, so storage has to refuse what it may still write.
pub async fn end(state: &Rc<State>, session: SessionId, fence: bool) -> Result<(), WireError> {
    if !state.sessions.borrow_mut().begin_end(session) {
        return Ok(());
    }
    // Nobody is given what it held before storage refuses what it may still write.
    if fence && state.leases.borrow().may_write(session) {
        let fenced = super::fence::everywhere(state, session).await;
        if let Err(error) = fenced {
            state.sessions.borrow_mut().ended(session, false);
            return Err(error);
        }
    }
    if fence {
        super::doubt::died(state, session);
    }
    let ended = close_and_forget(state, session).await;
    state.sessions.borrow_mut().ended(session, ended.is_ok());
    state.leases.borrow_mut().end_session(session);
    state.polls.borrow_mut().remove(&session);
    super::lock_check::forget(state, session);
    state.lease_news.notify_waiters();
    ended
}

async fn close_and_forget(state: &Rc<State>, session: SessionId) -> Result<(), WireError> {
    for inode in state.tables.opened_by(session) {
        close_one(state, session, inode).await?;
    }
    for inode in nyala_namespace::ns::lock::locked_by(&state.tables, session)? {
        release_locks(state, session, inode).await?;
    }
    state.lock_waits.forget(session);
    let mut batch = Batch::new();
    let prefix = keys::reply_prefix(session);
    state.tables.scan(&prefix, &keys::prefix_end(&prefix), &mut |key, _| {
        batch.delete(key);
        ControlFlow::Continue(())
    })?;
    batch.delete(keys::session(session));
    state.apply(&batch)?;
    state.flusher.flushed().await
}

async fn release_locks(state: &Rc<State>, session: SessionId, inode: InodeId) -> Result<(), WireError> {
    apply_when_free(state, |change| nyala_namespace::ns::lock::release_all(change, session, inode).map(drop)).await?;
    state.lock_waits.released(inode);
    Ok(())
}

async fn close_one(state: &Rc<State>, session: SessionId, inode: InodeId) -> Result<(), WireError> {
    apply_when_free(state, |change| close_here(change, session, inode)).await
}

/// Applies a change of the service's own once no transaction stands in the way.
async fn apply_when_free(state: &Rc<State>, logic: impl Fn(&mut Change<'_>) -> Step<()>) -> Result<(), WireError> {
    loop {
        let released = state.released.notified();
        let caller = Caller::service(Time::default());
        state.room().await;
        let changed = state.with_change(&caller, None, |mut change, _| {
            logic(&mut change)?;
            Ok(change.finish())
        });
        match changed {
            Ok(batch) => return state.apply(&batch),
            Err(Fault::Refused(error)) => return Err(error),
            Err(_) => super::execute::wait_release(released).await,
        }
    }
}

/// Ends sessions that were not heard of for the timeout. Runs until the service stops.
pub async fn expire(state: Rc<State>) {
    loop {
        let timeout_ms = u64::from(state.map().settings.session_timeout_ms);
        tokio::time::sleep(Duration::from_millis(timeout_ms / 4).clamp(LOOK[0], LOOK[1])).await;
        let serving = state.member.lease_valid();
        let silent = state.sessions.borrow_mut().to_end(state.now_ms(), timeout_ms, serving);
        let limit_ms = timeout_ms.saturating_mul(OVERDUE);
        let overdue = state.leases.borrow().overdue(state.now_ms(), limit_ms);
        for session in silent.into_iter().chain(overdue) {
            tracing::warn!(%session, timeout_ms, "session ends: its client was silent, or kept a lease, for too long");
            let state = state.clone();
            // Each on its own: one may have to wait for a transaction or a truncation.
            tokio::task::spawn_local(async move {
                if let Err(error) = end(&state, session, true).await {
                    tracing::error!(%session, %error, "cannot end the session; tried again");
                }
            });
        }
    }
}
