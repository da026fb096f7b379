// SPDX-License-Identifier: Apache-2.0

//! One client request from its arrival to its reply.
//!
//! Failure model: requests may be repeated, also while the first copy runs or after this server was restarted; they may
//! come from a session that has ended, or for a slot that is not ours. Replies may get lost. A changing request's reply
//! is logged in the same record as its change, and a repetition gets that reply.

use super::coordinate;
use super::state::{Caller, State};
use super::truncate;
use crate::change::Fault;
use crate::keys;
use crate::ns;
use crate::records::ReplyRecord;
use nyala_wire::meta::{MetaOp, MetaReply, MetaRequest};
use nyala_wire::{ErrorCode, SessionId, WireError, codec};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// An encoded reply body.
pub type Body = Vec<u8>;

/// Answers a client's request.
pub async fn request(state: &Rc<State>, request: MetaRequest) -> Result<Body, WireError> {
    if !state.member.lease_valid() {
        return Err(ErrorCode::NOT_READY.with("this server is waiting for its lease"));
    }
    check_home(state, &request.op)?;
    state.count(op_name(&request.op));
    if let MetaOp::SessionOpen { client } = &request.op {
        return super::sessions::open(state, request.session, client).await;
    }
    touch(state, request.session)?;
    match &request.op {
        MetaOp::SessionClose => {
            super::sessions::end(state, request.session).await?;
            Ok(codec::encode(&MetaReply::Done))
        }
        MetaOp::Sync => {
            state.flusher.flushed().await?;
            durable(state).await?;
            Ok(codec::encode(&MetaReply::Done))
        }
        op if op.is_change() => change_once(state, request).await,
        _ => read(state, &request).await,
    }
}

fn check_home(state: &State, op: &MetaOp) -> Result<(), WireError> {
    match op.home() {
        Some(inode) if state.map().slot_target(inode.slot()) != Some(state.me) => {
            Err(ErrorCode::WRONG_SERVER.with(format!("slot {} is not served by target {}", inode.slot(), state.me)))
        }
        _ => Ok(()),
    }
}

fn touch(state: &State, session: SessionId) -> Result<(), WireError> {
    match state.sessions.borrow_mut().get_mut(&session) {
        Some(seen) => {
            *seen = Instant::now();
            Ok(())
        }
        None => Err(ErrorCode::STALE_SESSION.with("the session is not known here; open it again")),
    }
}

async fn read(state: &Rc<State>, request: &MetaRequest) -> Result<Body, WireError> {
    loop {
        let released = state.released.notified();
        let caller = caller(request);
        let outcome = state.with_change(&caller, None, |mut change, env| ns::run(&mut change, env, &request.op));
        match outcome {
            Ok(reply) => {
                // What was seen may be applied but not yet written; it must not be taken back by a crash.
                if state.flusher.has_unwritten() {
                    state.flusher.flushed().await?;
                }
                return Ok(codec::encode(&reply));
            }
            Err(Fault::Refused(error)) => return Err(error),
            Err(Fault::Blocked) => wait_release(released).await,
            Err(Fault::Elsewhere(_)) => return Err(ErrorCode::UNKNOWN_MESSAGE.into()),
        }
    }
}

/// Waits for a release of locks, or a while: a lock may go without a ring, when its holder is found dead.
pub async fn wait_release(released: tokio::sync::futures::Notified<'_>) {
    let _ = tokio::time::timeout(Duration::from_millis(200), released).await;
}

/// Ends a request's mark as running, whatever way it ends.
struct Running<'a> {
    state: &'a State,
    key: (SessionId, u64),
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.state.running.borrow_mut().remove(&self.key);
        self.state.finished.notify_waiters();
    }
}

async fn change_once(state: &Rc<State>, request: MetaRequest) -> Result<Body, WireError> {
    let key = (request.session, request.sequence);
    if request.sequence == 0 {
        return Err(ErrorCode::BAD_MESSAGE.with("a changing request needs a sequence number"));
    }
    loop {
        let finished = state.finished.notified();
        if state.running.borrow_mut().insert(key) {
            break;
        }
        // The same request, sent again while the first copy runs: wait for that one.
        finished.await;
    }
    let _running = Running { state, key };
    if let Some(body) = kept_reply(state, &request)? {
        truncate::settled(state, &request.op).await;
        told(state).await;
        return Ok(body);
    }
    state.room().await;
    let body = change(state, &request).await?;
    if wants_sync(&request.op) {
        durable(state).await?;
    }
    Ok(body)
}

/// Before a repeated request gets its kept reply: waits until transactions of the last run are known everywhere, since
/// it may have been one of them.
async fn told(state: &State) {
    while state.untold.get() > 0 {
        wait_release(state.released.notified()).await;
    }
}

/// The reply to a request that was done before.
fn kept_reply(state: &State, request: &MetaRequest) -> Result<Option<Body>, WireError> {
    let caller = caller(request);
    let kept = state.with_change(&caller, None, |change, _| {
        change.record::<ReplyRecord>(&keys::reply(request.session, request.sequence))
    });
    match kept {
        Ok(Some(record)) if record.sequence == request.sequence => Ok(Some(record.body.into())),
        Ok(Some(record)) if record.sequence > request.sequence => {
            Err(ErrorCode::BAD_MESSAGE.with("the reply to this old request is no longer kept"))
        }
        Ok(_) => Ok(None),
        Err(Fault::Refused(error)) => Err(error),
        Err(_) => Err(ErrorCode::BUSY.into()),
    }
}

async fn change(state: &Rc<State>, request: &MetaRequest) -> Result<Body, WireError> {
    let mut patience = coordinate::Patience::new();
    loop {
        let released = state.released.notified();
        let caller = caller(request);
        let outcome = state.with_change(&caller, None, |mut change, env| {
            let reply = ns::run(&mut change, env, &request.op)?;
            let body = codec::encode(&reply);
            keep_reply(&mut change, request, &body);
            Ok((body, change.finish()))
        });
        match outcome {
            Ok((body, batch)) => {
                let pending = truncate::begin(state, &request.op, &batch)?;
                let applied = state.apply(&batch);
                if let Err(error) = applied {
                    truncate::cancel(state, pending);
                    return Err(error);
                }
                state.flusher.flushed().await?;
                truncate::finish(state, pending).await?;
                return Ok(body);
            }
            Err(Fault::Refused(error)) => return Err(error),
            Err(Fault::Blocked) => wait_release(released).await,
            Err(Fault::Elsewhere(plan)) => {
                drop(released);
                match coordinate::attempt(state, &plan, request).await {
                    Ok(body) => return Ok(body),
                    Err(coordinate::Failed::Refused(error)) => return Err(error),
                    Err(coordinate::Failed::Again) => patience.wait(state).await?,
                }
            }
        }
    }
}

/// Puts the reply into the same record as the change.
pub fn keep_reply(change: &mut crate::change::Change, request: &MetaRequest, body: &[u8]) {
    let record = ReplyRecord { sequence: request.sequence, body: body.to_vec().into() };
    change.put_record(keys::reply(request.session, request.sequence), &record);
}

fn wants_sync(op: &MetaOp) -> bool {
    match op {
        MetaOp::Commit(commit) => commit.sync,
        MetaOp::PutInline(put) => put.sync,
        _ => false,
    }
}

async fn durable(state: &State) -> Result<(), WireError> {
    state.store.wait_durable(state.store.written()).await.map_err(crate::view::store_error)
}

fn caller(request: &MetaRequest) -> Caller {
    Caller { session: request.session, owner: request.owner, now: request.now }
}

fn op_name(op: &MetaOp) -> &'static str {
    match op {
        MetaOp::SessionOpen { .. } => "op.session_open",
        MetaOp::SessionClose => "op.session_close",
        MetaOp::Lookup { .. } => "op.lookup",
        MetaOp::GetAttr { .. } => "op.getattr",
        MetaOp::GetAttrs { .. } => "op.getattrs",
        MetaOp::ReadDir { .. } => "op.readdir",
        MetaOp::ReadLink { .. } => "op.readlink",
        MetaOp::GetXattr { .. } => "op.getxattr",
        MetaOp::ListXattr { .. } => "op.listxattr",
        MetaOp::EntryInfo { .. } => "op.entry_info",
        MetaOp::StatFs => "op.statfs",
        MetaOp::GetParent { .. } => "op.get_parent",
        MetaOp::Sync => "op.sync",
        MetaOp::FileInfo { .. } => "op.file_info",
        MetaOp::Create { .. } => "op.create",
        MetaOp::Open { .. } => "op.open",
        MetaOp::Close { .. } => "op.close",
        MetaOp::Mkdir { .. } => "op.mkdir",
        MetaOp::Mknod { .. } => "op.mknod",
        MetaOp::Symlink { .. } => "op.symlink",
        MetaOp::Unlink { .. } => "op.unlink",
        MetaOp::Rmdir { .. } => "op.rmdir",
        MetaOp::Rename(_) => "op.rename",
        MetaOp::Link { .. } => "op.link",
        MetaOp::SetAttr { .. } => "op.setattr",
        MetaOp::SetXattr { .. } => "op.setxattr",
        MetaOp::RemoveXattr { .. } => "op.removexattr",
        MetaOp::Commit(_) => "op.commit",
        MetaOp::PutInline(_) => "op.put_inline",
        MetaOp::SetPattern { .. } => "op.set_pattern",
    }
}
