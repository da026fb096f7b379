// SPDX-License-Identifier: Apache-2.0

//! Asks the holders of locks whether these still stand, before somebody is refused for good. `nyala_namespace::lock_checks` says why.
//!
//! Failure model: a holder's client may be dead, hang or answer late; it keeps its lock then, and who asked has waited for
//! [`LIMIT`]. Nothing is changed here: a client gives its locks up with `SetLock`, before it answers.

use super::execute::Body;
use super::leases::{answer, tell};
use super::lock_wait;
use super::state::State;
use nyala_namespace::file_locks;
use nyala_wire::meta::{FileLock, Grants, MAX_LOCK_CHECKS, MetaReply};
use nyala_wire::meta_tx::LockOwner;
use nyala_wire::{ErrorCode, InodeId, SessionId, WireError};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

/// How long holders may take to answer.
const LIMIT: Duration = Duration::from_secs(1);
/// Most locks in the way that are asked after: with more, somebody who has not closed is very likely among them.
const MAX_HOLDERS: usize = 64;

/// The questions of one request, withdrawn when it ends.
struct Asked<'a> {
    state: &'a State,
    numbers: Vec<u64>,
}

impl Asked<'_> {
    fn is_open(&self) -> bool {
        let checks = self.state.lock_checks.borrow();
        self.numbers.iter().any(|number| checks.is_open(*number))
    }

    async fn answered(&self) {
        loop {
            let news = self.state.lock_news.notified();
            if !self.is_open() {
                return;
            }
            news.await;
        }
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let mut checks = self.state.lock_checks.borrow_mut();
        self.numbers.iter().for_each(|number| checks.withdraw(*number));
    }
}

/// Answers `LockConfirm`.
pub async fn confirm(state: &Rc<State>, session: SessionId, inode: InodeId, lock: FileLock) -> Result<Body, WireError> {
    let lock = file_locks::check(lock)?;
    let locks = lock_wait::locks(state, inode)?;
    let in_the_way: BTreeSet<LockOwner> = locks.in_the_way(session, &lock).map(file_locks::Held::owner).collect();
    if in_the_way.len() <= MAX_HOLDERS {
        let asked = ask(state, inode, lock.flock, &in_the_way);
        // why ignored: who has not answered keeps its lock.
        let _ = tokio::time::timeout(LIMIT, asked.answered()).await;
    }
    Ok(answer(Grants::default(), &MetaReply::Done))
}

fn ask<'a>(state: &'a State, inode: InodeId, flock: bool, holders: &BTreeSet<LockOwner>) -> Asked<'a> {
    let mut asked = Asked { state, numbers: Vec::new() };
    let mut sessions = Vec::new();
    for holder in holders {
        // A client that keeps no leases has no poll, and cannot be asked.
        if !state.polls.borrow().contains_key(&holder.session) {
            continue;
        }
        let number = state.lock_checks.borrow_mut().ask(holder.session, inode, holder.owner, flock);
        asked.numbers.extend(number);
        sessions.push(holder.session);
    }
    tell(state, sessions);
    asked
}

/// Answers `LockChecked`.
pub fn checked(state: &State, session: SessionId, numbers: &[u64]) -> Result<Body, WireError> {
    if numbers.len() > MAX_LOCK_CHECKS {
        return Err(ErrorCode::BAD_MESSAGE.with(format!("more than {MAX_LOCK_CHECKS} answers in one message")));
    }
    let mut checks = state.lock_checks.borrow_mut();
    let ended = numbers.iter().filter(|number| checks.answered(session, **number)).count();
    drop(checks);
    if ended > 0 {
        state.lock_news.notify_waiters();
    }
    Ok(answer(Grants::default(), &MetaReply::Done))
}

/// A session has ended: nobody waits for its answers.
pub fn forget(state: &State, session: SessionId) {
    state.lock_checks.borrow_mut().forget(session);
    state.lock_news.notify_waiters();
}
