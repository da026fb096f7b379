// SPDX-License-Identifier: Apache-2.0

//! One client request from its arrival to its reply.
//!
//! Failure model: requests may be repeated, also while the first copy runs or after this server was restarted; they may
//! come from a session that has ended, or for a slot that is not ours. Replies may get lost. A changing request's reply
//! is logged in the same record as its change, and a repetition gets that reply. What was seen, be it that something is
//! missing, may be applied but not yet written: no reply leaves before that is done (`Service::settle`), so that a crash
//! takes nothing back that somebody was told.

use super::coordinate::{self, Failed, Patience};
use super::leases::{self, Passage};
use super::state::{Caller, State};
use super::{bring, doubt, truncate, unsaid};
use nyala_kv::{Batch, ChangeKind};
use nyala_namespace::change::{Change, Fault, Step};
use nyala_namespace::growth;
use nyala_namespace::leases::Need;
use nyala_namespace::ns;
use nyala_namespace::replies;
use nyala_namespace::sessions::Leave;
use nyala_wire::meta::{ANSWER_HEAD_BYTES, Grants, MetaOp, MetaReply, MetaRequest, PutOutcome, Want};
use nyala_wire::{ErrorCode, InodeId, SessionId, WireError};
use std::rc::Rc;
use std::time::Duration;

/// An encoded reply body.
pub type Body = Vec<u8>;

/// Answers a client's request.
pub async fn request(state: &Rc<State>, request: MetaRequest) -> Result<Body, WireError> {
    if !state.member.lease_valid() {
        return Err(ErrorCode::NOT_READY.with("this server is waiting for its lease"));
    }
    check_home(state, &request.op)?;
    state.count(op_name(&request.op));
    leases::recovered(state, &request, &Patience::new()).await?;
    if let MetaOp::SessionOpen { client } = &request.op {
        let keeps = request.want.has(Want::LEASES);
        return super::sessions::open(state, request.session, client, keeps).await;
    }
    let leave = state.sessions.borrow_mut().hear(&request, state.now_ms())?;
    match &request.op {
        MetaOp::SessionClose => {
            super::sessions::end(state, request.session, false).await?;
            Ok(done())
        }
        MetaOp::Sync => {
            state.flusher.flushed().await?;
            state.durable().await?;
            Ok(done())
        }
        MetaOp::LeasePoll { boot, kept, moving } => leases::poll(state, request.session, *boot, (kept, moving)).await,
        MetaOp::LeaseReturn { leases } => leases::take_back(state, request.session, leases).await,
        MetaOp::Spill { done, .. } => leases::spill(state, &request, leave, *done).await,
        MetaOp::LockWait { inode, lock } => {
            let reply = super::lock_wait::wait(state, request.session, *inode, *lock).await?;
            Ok(leases::answer(Grants::default(), &reply))
        }
        MetaOp::LockConfirm { inode, lock } => super::lock_check::confirm(state, request.session, *inode, *lock).await,
        MetaOp::LockChecked { numbers } => super::lock_check::checked(state, request.session, numbers),
        MetaOp::Survived { run } => {
            let position = nyala_namespace::runs::survived(&state.tables, *run)?;
            Ok(leases::answer(Grants::default(), &MetaReply::Position(position)))
        }
        op if op.is_change() => change_once(state, request, leave).await,
        _ => read(state, &request).await,
    }
}

fn done() -> Body {
    leases::answer(Grants::default(), &MetaReply::Done)
}

fn check_home(state: &State, op: &MetaOp) -> Result<(), WireError> {
    match op.home() {
        Some(inode) if state.map().slot_target(inode.slot()) != Some(state.me) => {
            Err(ErrorCode::WRONG_SERVER.with(format!("slot {} is not served by target {}", inode.slot(), state.me)))
        }
        _ => Ok(()),
    }
}

async fn read(state: &Rc<State>, request: &MetaRequest) -> Result<Body, WireError> {
    let patience = Patience::new();
    if let MetaOp::ReadDir { dir, .. } = &request.op {
        settled_dir(state, *dir, &patience).await?;
    }
    let mut passage = Passage::new(state, request.session);
    // What others were last asked to let go of: once they have, this is what there was a quarrel about.
    let mut asked = None;
    loop {
        let released = state.released.notified();
        let news = state.lease_news.notified();
        if let MetaOp::Acquire { inode } = &request.op {
            let mode = asked.unwrap_or_else(|| leases::best(state, request, *inode));
            if !passage.clear_for_lease(*inode, mode) {
                asked = Some(leases::best(state, request, *inode));
                patience.check()?;
                passage.wait(news).await;
                continue;
            }
            asked = Some(mode);
        }
        let caller = caller(request);
        let outcome = state.with_change(&caller, None, |mut change, env| {
            let reply = ns::run(&mut change, env, &request.op)?;
            let mut reply = bring::content(state, request, &mut change, reply)?;
            check_listing(state, request, &mut change, &mut reply)?;
            state.doubts.borrow().tell(&mut reply);
            Ok(reply)
        });
        match outcome {
            Ok(mut reply) => {
                leases::cut_listing(state, request.session, &mut reply);
                if !passage.clear(&leases::shown(&reply), Need::Read) {
                    patience.check()?;
                    passage.wait(news).await;
                    continue;
                }
                let grants = leases::grants(state, request, &mut reply, asked);
                return Ok(leases::answer(grants, &reply));
            }
            Err(Fault::Refused(error)) => return leases::missing(state, request, error),
            Err(Fault::Blocked) => {
                patience.check()?;
                wait_release(released).await;
            }
            Err(Fault::Elsewhere(_)) => return Err(ErrorCode::UNKNOWN_MESSAGE.into()),
        }
    }
}

/// Of a listing that is too short the end is an error.
fn check_listing(state: &State, request: &MetaRequest, change: &mut Change, reply: &mut MetaReply) -> Step<()> {
    match (&request.op, reply) {
        (MetaOp::ReadDir { dir, after, .. }, MetaReply::Listing(listing)) => {
            state.listings.borrow_mut().check(change, request.session, (*dir, *after), listing)
        }
        _ => Ok(()),
    }
}

/// Before a directory is listed: waits for the transactions that are changing it now. They may be decided, and show
/// elsewhere already: a name on its way would be found in neither directory. Later ones do not matter, so this ends.
async fn settled_dir(state: &State, dir: InodeId, patience: &Patience) -> Result<(), WireError> {
    let before = state.locks.borrow().pinned_by(dir);
    while !before.is_empty() {
        let released = state.released.notified();
        let now = state.locks.borrow().pinned_by(dir);
        if !before.iter().any(|tx| now.contains(tx)) {
            break;
        }
        patience.check()?;
        wait_release(released).await;
    }
    Ok(())
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

async fn change_once(state: &Rc<State>, request: MetaRequest, leave: Leave) -> Result<Body, WireError> {
    let key = (request.session, request.sequence);
    if request.sequence == 0 {
        return Err(ErrorCode::BAD_MESSAGE.with("a changing request needs a sequence number"));
    }
    let patience = Patience::new();
    loop {
        let finished = state.finished.notified();
        if state.running.borrow_mut().insert(key) {
            break;
        }
        // The same request, sent again while the first copy runs: wait for that one.
        patience.check()?;
        let _ = tokio::time::timeout(Duration::from_secs(1), finished).await;
    }
    let _running = Running { state, key };
    let caller = caller(&request);
    let kept = match leave.is_new() {
        true => None,
        false => {
            let kept = state.with_change(&caller, None, |change, _| replies::kept(&change, &request));
            kept.map_err(settled_fault)?
        }
    };
    let body = match kept {
        Some(body) => {
            unsaid::reply_again(state, &request, leave, &body)?;
            truncate::settled(state, &request.op, &patience).await?;
            told(state, key, &patience).await?;
            leases::answer_kept(&body)
        }
        None => {
            state.room().await;
            let room = state.room_for(growth::of_op(&request.op, &|inode| state.inline_len(inode))).await;
            change(state, &request, leave, room).await?
        }
    };
    if wants_sync(&request.op) {
        state.flusher.flushed().await?;
        state.durable().await?;
    }
    Ok(body)
}

fn settled_fault(fault: Fault) -> WireError {
    match fault {
        Fault::Refused(error) => error,
        Fault::Blocked | Fault::Elsewhere(_) => ErrorCode::BUSY.into(),
    }
}

/// Before a repeated request gets its kept reply: if it was a transaction of the last run, waits until it is known
/// everywhere.
async fn told(state: &State, key: (SessionId, u64), patience: &Patience) -> Result<(), WireError> {
    while state.untold.borrow().contains(&key) {
        patience.check()?;
        wait_release(state.released.notified()).await;
    }
    Ok(())
}

/// `room`: what to answer if the operation would make the tables larger.
async fn change(
    state: &Rc<State>,
    request: &MetaRequest,
    leave: Leave,
    room: Result<(), WireError>,
) -> Result<Body, WireError> {
    let mut patience = Patience::new();
    let mut passage = Passage::of(state, request);
    loop {
        let released = state.released.notified();
        let news = state.lease_news.notified();
        let caller = caller(request);
        // Its session may have ended, or its client given it up, while it waited.
        state.sessions.borrow().check(leave)?;
        let outcome = state.with_change(&caller, None, |mut change, env| {
            let mut reply = ns::run(&mut change, env, &request.op)?;
            state.doubts.borrow().tell(&mut reply);
            let body = leases::answer(Grants::default(), &reply);
            replies::keep(&mut change, request, &body[ANSWER_HEAD_BYTES..]);
            let (touched, gone) = (change.touched(), change.destroyed());
            Ok((reply, body, touched, gone, change.finish()))
        });
        match outcome {
            Ok((mut reply, mut body, touched, gone, mut batch)) => {
                if let Some(answer) = no_room(state, request, (&reply, &batch), &room) {
                    return answer;
                }
                let shows = if matches!(request.op, MetaOp::Open { .. }) { leases::shown(&reply) } else { Vec::new() };
                if !passage.clear(&touched, Need::Change)
                    || !passage.clear(&gone, Need::Remove)
                    || !passage.clear(&shows, Need::Read)
                {
                    if let MetaOp::PutInlines { puts } = &request.op {
                        return Ok(none_taken(puts.len(), &ErrorCode::BUSY.into()));
                    }
                    patience.check()?;
                    passage.wait(news).await;
                    continue;
                }
                make(state, request, &mut batch, (&mut reply, &mut body), &gone).await?;
                // Only now others may be given something again: what they see then is what this operation made.
                drop(passage);
                return Ok(body);
            }
            Err(Fault::Refused(error)) => return Err(error),
            Err(Fault::Blocked) => {
                patience.check()?;
                wait_release(released).await;
            }
            // Before it takes locks: who has to write something first can do that now.
            Err(Fault::Elsewhere(_)) if !passage.clear(&dirs_here(state, &request.op), Need::Change) => {
                patience.check()?;
                passage.wait(news).await;
            }
            Err(Fault::Elsewhere(plan)) => match coordinate::attempt(state, *plan, request, leave).await {
                Ok(body) => return Ok(leases::answer_kept(&body)),
                Err(Failed::Refused(error) | Failed::Unknown(error)) => return Err(error),
                Err(Failed::Again) => patience.wait(state).await?,
            },
        }
    }
}

/// Applies a change that nothing stands in the way of any more, and completes its answer.
async fn make(
    state: &Rc<State>,
    request: &MetaRequest,
    batch: &mut Batch,
    (reply, body): (&mut MetaReply, &mut Body),
    gone: &[InodeId],
) -> Result<(), WireError> {
    let pending = truncate::begin(state, &request.op, batch)?;
    let applied = state.apply(batch);
    if let Err(error) = applied {
        truncate::cancel(state, pending);
        return Err(error);
    }
    let grants = leases::grants(state, request, reply, None);
    unsaid::replied(state, request, reply, grants)?;
    leases::set_grants(body, grants);
    gone.iter().for_each(|inode| state.leases.borrow_mut().end_inode(*inode));
    doubt::settle(state, &request.op, gone);
    if let MetaOp::SetLock { inode, lock } = &request.op {
        state.lock_waits.applied(request.session, *inode, lock);
    }
    truncate::finish(state, pending).await
}

/// The answer to many contents of which one has to wait for another client, or does not fit: that one is then sent in a request
/// of its own, so that the others do not fare like it.
fn none_taken(count: usize, why: &WireError) -> Body {
    let refused = || PutOutcome::Refused(why.clone());
    leases::answer(Grants::default(), &MetaReply::Inlines(std::iter::repeat_with(refused).take(count).collect()))
}

/// The answer to an operation that would make full tables larger.
fn no_room(
    state: &State,
    request: &MetaRequest,
    (reply, batch): (&MetaReply, &Batch),
    room: &Result<(), WireError>,
) -> Option<Result<Body, WireError>> {
    let error = room.as_ref().err()?;
    match &request.op {
        MetaOp::PutInlines { puts } => Some(Ok(none_taken(puts.len(), error))),
        op => {
            // What cannot be read was read a moment ago: the next request says what is wrong with it.
            let is_there = |key: &[u8]| state.store.get(key).is_ok_and(|row| row.is_some());
            let kind = growth::of_outcome(op, reply, batch, &is_there);
            (kind != ChangeKind::Maintains).then(|| Err(error.clone()))
        }
    }
}

/// The directories of this server that an operation names.
fn dirs_here(state: &State, op: &MetaOp) -> Vec<InodeId> {
    let to = if let MetaOp::Rename(rename) = op { Some(rename.to_parent) } else { None };
    let map = state.map();
    op.home().into_iter().chain(to).filter(|dir| map.slot_target(dir.slot()) == Some(state.me)).collect()
}

fn wants_sync(op: &MetaOp) -> bool {
    match op {
        MetaOp::Commit(commit) => commit.sync,
        MetaOp::PutInline(put) => put.sync,
        MetaOp::PutInlines { puts } => puts.iter().any(|put| put.sync),
        _ => false,
    }
}

fn caller(request: &MetaRequest) -> Caller {
    let unsaid = request.want.has(Want::UNSAID);
    Caller { session: request.session, unsaid, owner: request.owner, now: request.now }
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
        MetaOp::PutInlines { .. } => "op.put_inlines",
        MetaOp::SetPattern { .. } => "op.set_pattern",
        MetaOp::LeasePoll { .. } => "op.lease_poll",
        MetaOp::LeaseReturn { .. } => "op.lease_return",
        MetaOp::Acquire { .. } => "op.acquire",
        MetaOp::Spill { .. } => "op.spill",
        MetaOp::GetLock { .. } => "op.get_lock",
        MetaOp::LockWait { .. } => "op.lock_wait",
        MetaOp::LockConfirm { .. } => "op.lock_confirm",
        MetaOp::LockChecked { .. } => "op.lock_checked",
        MetaOp::Survived { .. } => "op.survived",
        MetaOp::SetLock { .. } => "op.set_lock",
        MetaOp::Tmpfile { .. } => "op.tmpfile",
    }
}
