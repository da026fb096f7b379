// SPDX-License-Identifier: Apache-2.0

//! Asks the holders of locks whether these still stand, before somebody is refused for good. [`crate::lock_checks`] says why.
//!
//! Failure model: a holder's client may be dead, hang or answer late; it keeps its lock then, and who asked has waited for
//! [`LIMIT_MS`]. Nothing is changed here: a client gives its locks up with `SetLock`, before it answers.

use super::grants;
use super::io::Token;
use super::state::{Progress, State, Task};
use super::waits::{Event, Wait};
use crate::file_locks::{self, Held};
use crate::ns::lock;
use nyala_wire::meta::{FileLock, MAX_LOCK_CHECKS, MetaReply};
use nyala_wire::meta_tx::LockOwner;
use nyala_wire::{ErrorCode, InodeId, SessionId, WireError};
use std::collections::BTreeSet;

/// How long holders may take to answer, milliseconds.
const LIMIT_MS: u64 = 1_000;
/// Most locks in the way that are asked after: with more, somebody who has not closed is very likely among them.
const MAX_HOLDERS: usize = 64;

/// Answers `LockConfirm`.
pub fn confirm(state: &mut State, token: Token, session: SessionId, inode: InodeId, lock: FileLock) {
    match holders(state, session, inode, lock) {
        Ok(holders) => {
            let numbers =
                if holders.len() <= MAX_HOLDERS { ask(state, inode, lock.flock, &holders) } else { Vec::new() };
            state.run(Confirm { token, numbers, until_ms: state.now.ms + LIMIT_MS });
        }
        Err(error) => state.reply(token, Err(error)),
    }
}

fn holders(
    state: &State,
    session: SessionId,
    inode: InodeId,
    lock: FileLock,
) -> Result<BTreeSet<LockOwner>, WireError> {
    let lock = file_locks::check(lock)?;
    let locks = lock::read(&*state.ground.tables, inode)?;
    Ok(locks.in_the_way(session, &lock).map(Held::owner).collect())
}

fn ask(state: &mut State, inode: InodeId, flock: bool, holders: &BTreeSet<LockOwner>) -> Vec<u64> {
    let (mut numbers, mut sessions) = (Vec::new(), Vec::new());
    for holder in holders {
        // A client without a poll cannot be asked.
        if state.polls.contains(&holder.session) {
            numbers.extend(state.lock_checks.ask(holder.session, inode, holder.owner, flock));
            sessions.push(holder.session);
        }
    }
    state.ring(sessions);
    numbers
}

/// Waits until all have answered, or a while. The questions are withdrawn when it ends.
struct Confirm {
    token: Token,
    numbers: Vec<u64>,
    until_ms: u64,
}

impl Task for Confirm {
    fn step(&mut self, state: &mut State) -> Progress {
        let open = self.numbers.iter().any(|number| state.lock_checks.is_open(*number));
        if open && state.now.ms < self.until_ms {
            return Progress::Wait(Wait::on(Event::LockChecks).or_until(self.until_ms));
        }
        self.numbers.iter().for_each(|number| state.lock_checks.withdraw(*number));
        state.reply(self.token, Ok(grants::plain(&MetaReply::Done)));
        Progress::Done
    }
}

/// Answers `LockChecked`.
pub fn checked(state: &mut State, session: SessionId, numbers: &[u64]) -> Result<Vec<u8>, WireError> {
    if numbers.len() > MAX_LOCK_CHECKS {
        return Err(ErrorCode::BAD_MESSAGE.with(format!("more than {MAX_LOCK_CHECKS} answers in one message")));
    }
    let ended = numbers.iter().filter(|number| state.lock_checks.answered(session, **number)).count();
    if ended > 0 {
        state.wake(Event::LockChecks);
    }
    Ok(grants::plain(&MetaReply::Done))
}
