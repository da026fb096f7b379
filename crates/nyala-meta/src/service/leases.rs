// SPDX-License-Identifier: Apache-2.0

//! Leases at work: operations wait for them, replies grant them, clients are told to let go. The bookkeeping, and its
//! failure model, is `nyala_namespace::leases`.

use super::coordinate::Patience;
use super::execute::Body;
use super::state::State;
use nyala_kv::Batch;
use nyala_namespace::keys;
use nyala_namespace::leases::{Leases, Need, Ticket};
use nyala_namespace::sessions::Leave;
use nyala_namespace::view::View;
use nyala_wire::meta::{
    ANSWER_HEAD_BYTES, Grants, LeaseMode, MAX_LEASES, MetaOp, MetaReply, MetaRequest, Returned, Want,
};
use nyala_wire::{ErrorCode, InodeId, SessionId, WireError, codec};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;

/// How long a poll is held.
const POLL: Duration = Duration::from_secs(5);
/// Longest pause between two looks, should a ring be missed.
const LOOK: Duration = Duration::from_millis(200);

/// An operation's way past other clients' leases: the inodes that it queues for.
pub struct Passage<'a> {
    state: &'a State,
    session: SessionId,
    pinned: bool,
    queued: Vec<(InodeId, Ticket)>,
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        if !self.queued.is_empty() {
            let mut leases = self.state.leases.borrow_mut();
            self.queued.iter().for_each(|(inode, ticket)| leases.leave(*inode, *ticket));
            drop(leases);
            self.state.lease_news.notify_waiters();
        }
    }
}

impl<'a> Passage<'a> {
    /// For a session; 0 for one whose own leases count too.
    pub fn new(state: &'a State, session: SessionId) -> Passage<'a> {
        Passage { state, session, pinned: false, queued: Vec::new() }
    }

    /// For a client's request.
    pub fn of(state: &'a State, request: &MetaRequest) -> Passage<'a> {
        let pinned = request.want.has(Want::PINNED);
        Passage { state, session: request.session, pinned, queued: Vec::new() }
    }

    /// Whether nobody is in the way of any; otherwise they are told, and nobody else is given anything meanwhile.
    pub fn clear(&mut self, inodes: &[InodeId], need: Need) -> bool {
        if inodes.is_empty() {
            return true;
        }
        let now_ms = self.state.now_ms();
        let mut leases = self.state.leases.borrow_mut();
        let (mut clear, mut pinned) = (true, false);
        for inode in inodes {
            if leases.clear(*inode, self.session, need, now_ms) {
                continue;
            }
            let (ticket, new) = queue(&mut self.queued, &mut leases, *inode, self.session, self.pinned);
            pinned |= new && self.pinned;
            // Never to see or to claim something: what others have not committed is not to be passed by.
            clear &= self.pinned && need == Need::Change && leases.passes(*inode, ticket);
        }
        let news = leases.take_news();
        drop(leases);
        tell(self.state, news);
        if pinned {
            // It may be what another one, which waits for this session, can pass for.
            self.state.lease_news.notify_waiters();
        }
        clear
    }

    /// Whether this session alone moves an inode's inline content from now on.
    pub fn claim(&mut self, inode: InodeId) -> bool {
        if self.clear(&[inode], Need::Read) && self.state.leases.borrow_mut().claim(inode, self.session) {
            return true;
        }
        let new = queue(&mut self.queued, &mut self.state.leases.borrow_mut(), inode, self.session, self.pinned).1;
        if new {
            // For the one that does: it may be waiting for this session's lease.
            self.state.lease_news.notify_waiters();
        }
        false
    }

    /// [`Passage::clear`] for a lease on one inode, in order of arrival.
    pub fn clear_for_lease(&mut self, inode: InodeId, mode: LeaseMode) -> bool {
        let first = {
            let mut leases = self.state.leases.borrow_mut();
            match self.queued.iter().find(|(queued, _)| *queued == inode) {
                Some((_, ticket)) => leases.is_next(inode, *ticket),
                None if leases.is_awaited(inode) => {
                    self.queued.push((inode, leases.queue(inode, self.session, false)));
                    false
                }
                None => true,
            }
        };
        first && self.clear(&[inode], Need::Lease(mode))
    }

    /// Waits for a lease to come back, or a moment.
    pub async fn wait(&self, news: tokio::sync::futures::Notified<'_>) {
        let _ = tokio::time::timeout(LOOK, news).await;
    }
}

/// The place in an inode's queue, and whether it is a new one.
fn queue(
    queued: &mut Vec<(InodeId, Ticket)>,
    leases: &mut Leases,
    inode: InodeId,
    session: SessionId,
    pinned: bool,
) -> (Ticket, bool) {
    if let Some((_, ticket)) = queued.iter().find(|(queued, _)| *queued == inode) {
        return (*ticket, false);
    }
    let ticket = leases.queue(inode, session, pinned);
    queued.push((inode, ticket));
    (ticket, true)
}

/// Answers `Spill`: when nobody else moves the file's inline content, nor has written something that is not committed; or
/// that it is over. A repetition finds its own claim; a copy that comes late is refused by its number.
pub async fn spill(state: &State, request: &MetaRequest, leave: Leave, done: bool) -> Result<Body, WireError> {
    let Some(inode) = request.op.home() else { return Err(ErrorCode::BAD_MESSAGE.into()) };
    let patience = Patience::new();
    let mut passage = Passage::of(state, request);
    loop {
        let news = state.lease_news.notified();
        if done {
            state.leases.borrow_mut().moved(inode, request.session);
            state.lease_news.notify_waiters();
            break;
        }
        // Its session may have ended, or its client given it up, while it waited: such a claim would never end.
        state.sessions.borrow().check(leave)?;
        if passage.claim(inode) {
            break;
        }
        patience.check()?;
        passage.wait(news).await;
    }
    Ok(answer(Grants::default(), &MetaReply::Done))
}

/// Rings for the polls of these sessions.
pub fn tell(state: &State, sessions: Vec<SessionId>) {
    let polls = state.polls.borrow();
    for session in sessions {
        if let Some(poll) = polls.get(&session) {
            poll.notify_one();
        }
    }
}

/// While sessions of an earlier run may keep leases, only what they need to let go is answered.
pub async fn recovered(state: &State, request: &MetaRequest, patience: &Patience) -> Result<(), WireError> {
    let needed = |state: &State| {
        let unconfirmed = state.leases.borrow().is_unconfirmed(request.session);
        match &request.op {
            MetaOp::SessionOpen { .. } | MetaOp::SessionClose | MetaOp::LeasePoll { .. } => true,
            MetaOp::LeaseReturn { .. } | MetaOp::Close { .. } | MetaOp::StatFs => true,
            MetaOp::Sync | MetaOp::Survived { .. } => true,
            MetaOp::Commit(_) | MetaOp::PutInline(_) | MetaOp::PutInlines { .. } => unconfirmed,
            MetaOp::FileInfo { .. } => unconfirmed,
            _ => false,
        }
    };
    while !state.leases.borrow().recovered() && !needed(state) {
        let news = state.lease_news.notified();
        patience
            .check()
            .map_err(|_| ErrorCode::NOT_READY.with("clients of before the restart have not answered yet"))?;
        let _ = tokio::time::timeout(LOOK, news).await;
    }
    Ok(())
}

/// Holds a client's poll until there is something to say. It confirms leases of an earlier run, and claims.
pub async fn poll(
    state: &Rc<State>,
    session: SessionId,
    boot: u64,
    (kept, moving): (&[Returned], &[InodeId]),
) -> Result<Body, WireError> {
    if kept.len().max(moving.len()) > MAX_LEASES {
        return Err(ErrorCode::BAD_MESSAGE.with(format!("more than {MAX_LEASES} leases in one message")));
    }
    if boot == state.boot && state.leases.borrow_mut().confirm(session, kept, moving) {
        tracing::info!("all clients of before the restart have said which of their leases they still have");
        state.lease_news.notify_waiters();
    }
    let ring = state.polls.borrow_mut().entry(session).or_insert_with(|| Rc::new(Notify::new())).clone();
    let news = || {
        let list = state.leases.borrow_mut().poll(session, state.now_ms());
        (list, state.lock_checks.borrow_mut().poll(session))
    };
    let (mut list, mut checks) = (Vec::new(), Vec::new());
    if boot == state.boot {
        (list, checks) = news();
        if list.is_empty() && checks.is_empty() {
            let _ = tokio::time::timeout(POLL, ring.notified()).await;
            (list, checks) = news();
        }
    }
    Ok(answer(Grants::default(), &MetaReply::Revocations { boot: state.boot, list, checks }))
}

/// Takes leases back, and wakes who waits for them. Files that the client has open count as open before anybody goes on.
pub async fn take_back(state: &Rc<State>, session: SessionId, leases: &[Returned]) -> Result<Body, WireError> {
    if leases.len() > MAX_LEASES {
        return Err(ErrorCode::BAD_MESSAGE.with(format!("more than {MAX_LEASES} leases in one message")));
    }
    let mut batch = Batch::new();
    for one in leases.iter().filter(|one| one.open) {
        let exists = View::get(&state.tables, &keys::inode(one.inode))?.is_some();
        if exists && View::get(&state.tables, &keys::open(one.inode, session))?.is_none() {
            batch.put(keys::open(one.inode, session), []);
        }
    }
    state.apply(&batch)?;
    if state.flusher.has_unwritten() {
        state.flusher.flushed().await?;
    }
    let news = {
        let mut table = state.leases.borrow_mut();
        leases.iter().filter(|one| table.returned(session, one)).count() > 0
    };
    if news {
        state.lease_news.notify_waiters();
    }
    Ok(answer(Grants::default(), &MetaReply::Done))
}

/// The answer to a read that found nothing: a missing name may be kept in mind too.
pub fn missing(state: &State, request: &MetaRequest, error: WireError) -> Result<Body, WireError> {
    match &request.op {
        MetaOp::Lookup { parent, .. } if error.code == ErrorCode::NOT_FOUND && request.want.has(Want::LEASES) => {
            // The directory itself may be what is missing.
            if View::get(&state.tables, &keys::inode(*parent))?.is_none() {
                return Err(error);
            }
            let mut reply = MetaReply::NoEntry;
            let grants = grants(state, request, &mut reply, None);
            Ok(answer(grants, &reply))
        }
        _ => Err(error),
    }
}

/// The body of a reply.
pub fn answer(grants: Grants, reply: &MetaReply) -> Body {
    let mut body = Vec::with_capacity(192);
    body.extend_from_slice(&grants.head_bytes());
    codec::encode_into(reply, &mut body);
    body
}

/// The body of a kept reply, which grants nothing.
pub fn answer_kept(kept: &[u8]) -> Body {
    let mut body = Vec::with_capacity(ANSWER_HEAD_BYTES + kept.len());
    body.extend_from_slice(&Grants::default().head_bytes());
    body.extend_from_slice(kept);
    body
}

/// Puts the grants into the head of a body.
pub fn set_grants(body: &mut Body, grants: Grants) {
    if let Some(head) = body.get_mut(..ANSWER_HEAD_BYTES) {
        head.copy_from_slice(&grants.head_bytes());
    }
}

/// The inodes whose attributes or content a reply shows.
pub fn shown(reply: &MetaReply) -> Vec<InodeId> {
    match reply {
        MetaReply::Entry(entry) => entry.attr.iter().map(|attr| attr.inode).collect(),
        MetaReply::Attr(attr) | MetaReply::Inline { attr, .. } => vec![attr.inode],
        MetaReply::Attrs(attrs) => attrs.iter().map(|attr| attr.inode).collect(),
        MetaReply::EntryInfo(info) => vec![info.attr.inode],
        MetaReply::Opened(file) => vec![file.attr.inode],
        MetaReply::Created { file: Some(file), .. } => vec![file.attr.inode],
        _ => Vec::new(),
    }
}

/// Leaves attributes out of a listing that somebody else may have changed without saying so yet.
pub fn cut_listing(state: &State, session: SessionId, reply: &mut MetaReply) {
    if let MetaReply::Listing(listing) = reply {
        let leases = state.leases.borrow();
        for entry in listing.entries.iter_mut().filter(|entry| entry.attr.is_some()) {
            if leases.in_the_way(entry.inode, session, Need::Read) {
                entry.attr = None;
            }
        }
    }
}

/// The mode that a request for a lease should get.
pub fn best(state: &State, request: &MetaRequest, inode: InodeId) -> LeaseMode {
    let (write, cached) = (request.want.has(Want::WRITE), request.want.has(Want::CACHED));
    state.leases.borrow().best(inode, request.session, write, cached, state.now_ms())
}

/// What a reply grants: what an `Acquire` has waited for (`awaited`), or can be had. Nothing that a transaction is changing.
pub fn grants(state: &State, request: &MetaRequest, reply: &mut MetaReply, awaited: Option<LeaseMode>) -> Grants {
    if !request.want.has(Want::LEASES) {
        return Grants::default();
    }
    let (session, now_ms) = (request.session, state.now_ms());
    let locks = state.locks.borrow();
    let mut leases = state.leases.borrow_mut();
    let seq = leases.next_seq();
    let mut shared = |inode: InodeId| {
        !locks.in_use(inode) && leases.give(inode, session, LeaseMode::Shared, seq, now_ms) != LeaseMode::None
    };
    let mut given = Grants { seq, ..Grants::default() };
    if let MetaOp::Lookup { parent: dir, .. } | MetaOp::ReadDir { dir, .. } = &request.op {
        given.dir = shared(*dir);
    }
    given.inodes = match reply {
        MetaReply::Listing(listing) => {
            for entry in listing.entries.iter_mut().filter(|entry| entry.attr.is_some()) {
                if !shared(entry.inode) {
                    entry.attr = None;
                }
            }
            LeaseMode::Shared
        }
        // One that is missing voids all, so that what is granted is never more than what the client takes it for.
        MetaReply::Entry(_) | MetaReply::Attr(_) | MetaReply::Attrs(_) | MetaReply::EntryInfo(_) => {
            let all = shown(reply);
            let asked = all.len();
            if asked > 0 && all.into_iter().filter(|inode| shared(*inode)).count() == asked {
                LeaseMode::Shared
            } else {
                LeaseMode::None
            }
        }
        MetaReply::Opened(file) => {
            let inode = file.attr.inode;
            let (write, cached) = (request.want.has(Want::WRITE), request.want.has(Want::CACHED));
            match awaited {
                _ if locks.in_use(inode) => LeaseMode::None,
                Some(mode) => leases.insist(inode, session, mode, seq),
                None => {
                    let mode = leases.best(inode, session, write, cached, now_ms);
                    leases.give(inode, session, mode, seq, now_ms)
                }
            }
        }
        MetaReply::Created { inode, file: Some(_), .. } if !locks.in_use(*inode) => {
            leases.give(*inode, session, LeaseMode::Exclusive, seq, now_ms)
        }
        _ => LeaseMode::None,
    };
    given
}
