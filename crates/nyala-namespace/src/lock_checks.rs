// SPDX-License-Identifier: Apache-2.0

//! Questions to clients: does this lock still stand? Pure.
//!
//! A client hears of the end of an open file a moment after whoever was told by the program that closed it. So before a
//! refusal is believed, the holders' clients are asked, by way of their polls, to give up what has ended.
//!
//! **Failure model.** A question or its answer may get lost, a client may be dead, late, or answer what it was not asked:
//! whoever asked waits for a moment only, and a lock is never given up here. The number of questions is bounded; beyond it none is put.

use nyala_wire::meta::{LockCheck, MAX_LOCK_CHECKS};
use nyala_wire::{InodeId, SessionId};
use std::collections::BTreeMap;

struct Question {
    session: SessionId,
    check: LockCheck,
    sent: bool,
}

/// The questions that are open at one server.
#[derive(Default)]
pub struct LockChecks {
    next: u64,
    open: BTreeMap<u64, Question>,
}

impl LockChecks {
    /// Asks a session after an owner's lock; the question's number, or none if too many are open.
    pub fn ask(&mut self, session: SessionId, inode: InodeId, owner: u64, flock: bool) -> Option<u64> {
        if self.open.len() >= MAX_LOCK_CHECKS {
            return None;
        }
        self.next += 1;
        let check = LockCheck { number: self.next, inode, owner, flock };
        self.open.insert(self.next, Question { session, check, sent: false });
        Some(self.next)
    }

    /// What a session is to be asked now; each question is put once.
    pub fn poll(&mut self, session: SessionId) -> Vec<LockCheck> {
        let new = self.open.values_mut().filter(|question| question.session == session && !question.sent);
        new.map(|question| {
            question.sent = true;
            question.check
        })
        .collect()
    }

    /// A session has answered. Whether that ends a question, which has to be its own.
    pub fn answered(&mut self, session: SessionId, number: u64) -> bool {
        let own = self.open.get(&number).is_some_and(|question| question.session == session);
        own && self.open.remove(&number).is_some()
    }

    /// Whether a question is not answered yet.
    pub fn is_open(&self, number: u64) -> bool {
        self.open.contains_key(&number)
    }

    /// Nobody waits for this answer any more.
    pub fn withdraw(&mut self, number: u64) {
        self.open.remove(&number);
    }

    /// A session has ended, and its locks with it.
    pub fn forget(&mut self, session: SessionId) {
        self.open.retain(|_, question| question.session != session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: InodeId = InodeId(5);

    #[test]
    fn a_question_is_put_once_and_ends_with_its_sessions_answer() {
        let mut checks = LockChecks::default();
        let (one, two) = (SessionId(1), SessionId(2));
        let first = checks.ask(one, FILE, 7, true).unwrap();
        let other = checks.ask(two, FILE, 7, false).unwrap();
        assert_eq!(checks.poll(one), [LockCheck { number: first, inode: FILE, owner: 7, flock: true }]);
        assert!(checks.poll(one).is_empty());
        assert!(!checks.answered(two, first) && checks.is_open(first), "another one's word does not count");
        assert!(checks.answered(one, first) && !checks.is_open(first));
        assert!(!checks.answered(one, first), "said twice");
        assert!(checks.is_open(other));
        checks.forget(two);
        assert!(!checks.is_open(other) && checks.poll(two).is_empty());
    }

    #[test]
    fn questions_are_bounded_and_withdrawn() {
        let mut checks = LockChecks::default();
        let numbers: Vec<u64> = (0..).map_while(|owner| checks.ask(SessionId(1), FILE, owner, true)).collect();
        assert_eq!(numbers.len(), MAX_LOCK_CHECKS);
        checks.withdraw(numbers[0]);
        let next = checks.ask(SessionId(1), FILE, 1, true).unwrap();
        assert!(!numbers.contains(&next), "a late answer to an old question ends no new one");
        assert_eq!(checks.poll(SessionId(1)).len(), MAX_LOCK_CHECKS);
    }
}
