// SPDX-License-Identifier: Apache-2.0

//! Waiting for locks: the server keeps a request until the lock may be free, so that clients need not ask again and
//! again. The lock itself is taken with `SetLock` afterwards, and somebody else may be faster.
//!
//! Failure model: a client may die, be interrupted, or send its request twice; a wait then lasts a few seconds for
//! nothing and takes nothing. Whoever gives up its lock or its session ends its waits here, so that no circle is found
//! through a program that no longer waits. Other servers may be down or slow: a circle through them is found when they
//! answer. What was waited for is read from the tables whenever it counts, never from memory.

use super::grants;
use super::io::{Note, Ticket, Token};
use super::lock_waits::cluster_wide;
use super::state::{Progress, State, Task};
use super::waits::{Event, Wait};
use crate::deadlock::{closes_circle, is_victim, lasting};
use crate::file_locks::{self, FileLocks};
use crate::ns::lock;
use nyala_wire::meta::{FileLock, LockKind, MetaReply};
use nyala_wire::meta_tx::{LockEdge, LockOwner, TxAction, TxId, TxReply};
use nyala_wire::{ErrorCode, InodeId, SessionId, TargetId, WireError};
use std::collections::BTreeSet;

/// A wait is answered after so long at the latest, milliseconds.
const LONGEST_MS: u64 = 5_000;
/// After so long other servers are asked who waits there, and again after each doubling.
const ASK_OTHERS_AFTER_MS: u64 = 1_000;

/// After a `SetLock` was applied: wakes who waits for locks of that file. Who gives up a range no longer waits for one
/// within it.
pub fn applied(state: &mut State, session: SessionId, inode: InodeId, lock: &FileLock) {
    if lock.kind == LockKind::Unlock {
        state.lock_waits.give_up(session, inode, lock);
    }
    state.wake(Event::FileLocks(inode));
}

/// A session has ended: it waits for nothing any more.
pub fn forget(state: &mut State, session: SessionId) {
    for inode in state.lock_waits.forget(session) {
        state.wake(Event::FileLocks(inode));
    }
}

/// Answers another server's `LockEdges`.
pub fn edges(state: &State) -> Vec<LockEdge> {
    state.lock_waits.edges(&|inode| locks(state, inode))
}

/// All locks on a file. A table that cannot be read is reported to who waits for it.
fn locks(state: &State, inode: InodeId) -> FileLocks {
    lock::read(&*state.ground.tables, inode).unwrap_or_default()
}

/// Answers `LockWait`: `Done` when the lock could be had (or nobody waits any more, which `Unlock` says), when the wait is over,
/// or after 5 s; EDEADLK if it never could.
pub fn wait(state: &mut State, token: Token, session: SessionId, inode: InodeId, lock: FileLock) {
    let done = |state: &mut State, result: Result<(), WireError>| {
        state.reply(token, result.map(|()| grants::plain(&MetaReply::Done)));
    };
    let lock = match file_locks::check(lock) {
        Ok(lock) => lock,
        Err(error) => return done(state, Err(error)),
    };
    if lock.kind == LockKind::Unlock {
        applied(state, session, inode, &lock);
        return done(state, Ok(()));
    }
    match state.lock_waits.begin(session, inode, lock) {
        Ok(number) => {
            let ask_after_ms = ASK_OTHERS_AFTER_MS;
            state.run(WaitForLock {
                token,
                number,
                session,
                inode,
                lock,
                began_ms: state.now.ms,
                ask_after_ms,
                search: None,
            });
        }
        Err(error) => done(state, Err(error)),
    }
}

struct WaitForLock {
    token: Token,
    number: u64,
    session: SessionId,
    inode: InodeId,
    lock: FileLock,
    began_ms: u64,
    ask_after_ms: u64,
    /// For a circle over several servers.
    search: Option<Search>,
}

/// Edges are collected twice: what servers say is of different moments, and only an edge that was there both times was
/// there in between.
struct Search {
    /// So long it had waited when the search began, milliseconds.
    waited_ms: u64,
    before: Option<BTreeSet<LockEdge>>,
    asked: Vec<(TargetId, Ticket)>,
    edges: BTreeSet<LockEdge>,
}

impl Task for WaitForLock {
    fn step(&mut self, state: &mut State) -> Progress {
        let result = match self.advance(state) {
            Ok(Some(wait)) => return Progress::Wait(wait),
            Ok(None) => Ok(grants::plain(&MetaReply::Done)),
            Err(error) => Err(error),
        };
        state.lock_waits.leave(self.number);
        state.reply(self.token, result);
        Progress::Done
    }
}

impl WaitForLock {
    /// Who waits, as all servers name it.
    fn me(&self) -> LockOwner {
        cluster_wide(LockOwner { session: self.session, owner: self.lock.owner })
    }

    fn advance(&mut self, state: &mut State) -> Result<Option<Wait>, WireError> {
        let me = self.me();
        loop {
            if let Some(search) = &mut self.search {
                let Some(victim) = search.advance(state, me) else { return Ok(Some(Wait::COMPLETION)) };
                if victim && !state.lock_waits.is_over(self.number) {
                    return Err(deadlock());
                }
                self.ask_after_ms = (self.ask_after_ms * 2).max(search.waited_ms + ASK_OTHERS_AFTER_MS);
                self.search = None;
            }
            if !state.ground.is_here(self.inode.slot()) {
                return Err(ErrorCode::WRONG_SERVER.with("the file is another server's now"));
            }
            let (over, locks) = (state.lock_waits.is_over(self.number), &*state.ground.tables);
            if over || lock::read(locks, self.inode)?.in_the_way(self.session, &self.lock).next().is_none() {
                return Ok(None);
            }
            let flock = self.lock.flock;
            if !flock && self.closes_circle(state) {
                return Err(deadlock());
            }
            let waited_ms = state.now.ms.saturating_sub(self.began_ms);
            if waited_ms >= LONGEST_MS {
                return Ok(None);
            }
            if flock || waited_ms < self.ask_after_ms {
                let until_ms = if flock { LONGEST_MS } else { LONGEST_MS.min(self.ask_after_ms) };
                return Ok(Some(Wait::on(Event::FileLocks(self.inode)).or_until(self.began_ms + until_ms)));
            }
            self.search = Some(Search::new(state, waited_ms));
        }
    }

    fn closes_circle(&self, state: &State) -> bool {
        let waits_for = |owner| {
            let edges = state.lock_waits.waits_for(owner, &|inode| locks(state, inode));
            edges.into_iter().map(|edge| edge.holder).collect()
        };
        closes_circle(self.me(), waits_for)
    }
}

impl Search {
    fn new(state: &mut State, waited_ms: u64) -> Search {
        let mut search = Search { waited_ms, before: None, asked: Vec::new(), edges: BTreeSet::new() };
        search.ask(state);
        search
    }

    fn ask(&mut self, state: &mut State) {
        let (map, me) = (state.ground.map().clone(), state.ground.me);
        let others = map.metadata_servers().filter(|server| *server != me);
        let tx = TxId { coordinator: me, number: 0 };
        self.asked = others.map(|other| (other, state.ask(other, tx, TxAction::LockEdges))).collect();
    }

    /// Whether this owner is the one of a circle that is refused; `None` while that is not known.
    fn advance(&mut self, state: &mut State, me: LockOwner) -> Option<bool> {
        loop {
            let edges = &mut self.edges;
            self.asked.retain(|(target, ticket)| match state.heard(*ticket) {
                None => true,
                Some(Ok(TxReply::LockEdges(more))) => {
                    edges.extend(more);
                    false
                }
                Some(Ok(_)) => false,
                Some(Err(error)) => {
                    state.note(Note::LockEdgesUnknown(*target, error));
                    false
                }
            });
            if !self.asked.is_empty() {
                return None;
            }
            let mut edges = std::mem::take(&mut self.edges);
            edges.extend(self::edges(state));
            let sure = self.before.as_ref().map_or_else(|| edges.clone(), |before| lasting(before, &edges));
            if !is_victim(me, &sure) {
                return Some(false);
            }
            if self.before.replace(edges).is_some() {
                return Some(true);
            }
            self.ask(state);
        }
    }
}

fn deadlock() -> WireError {
    ErrorCode::DEADLOCK.with("the lock's holder waits, by way of others perhaps, for one of this owner's locks")
}
