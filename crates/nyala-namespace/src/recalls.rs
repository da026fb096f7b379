// SPDX-License-Identifier: Apache-2.0

//! Recalls that are not answered yet, by session, and how long answers took. Pure: times are arguments. Which recall stands at which
//! delegation, and the failure model, is [`crate::delegations`].

use nyala_wire::{InodeId, SessionId};
use std::collections::{BTreeMap, HashMap};

/// Recalls that a session has not answered, and since when.
type OfSession = BTreeMap<InodeId, u64>;

/// A session that has not answered recalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// The session.
    pub session: SessionId,
    /// When the oldest of them was made, milliseconds of the server's clock.
    pub since_ms: u64,
    /// Number of inodes that it was asked to let go of.
    pub inodes: usize,
}

/// Recalls under way.
#[derive(Debug, Default)]
pub(crate) struct Recalls {
    sessions: HashMap<SessionId, OfSession>,
    answered: u64,
    answered_ms: u64,
}

impl Recalls {
    /// A session is asked to let go of an inode. If it has been asked before, and is asked for more now, it is waited for since then.
    pub fn insert(&mut self, session: SessionId, inode: InodeId, now_ms: u64) {
        self.sessions.entry(session).or_default().entry(inode).or_insert(now_ms);
    }

    /// It has let go, or has nothing to let go of any more.
    pub fn remove(&mut self, session: SessionId, inode: InodeId) -> Option<u64> {
        let of = self.sessions.get_mut(&session)?;
        let since_ms = of.remove(&inode)?;
        if of.is_empty() {
            self.sessions.remove(&session);
        }
        Some(since_ms)
    }

    /// The same, as the answer to a recall, which counts.
    pub fn answer(&mut self, session: SessionId, inode: InodeId, now_ms: u64) {
        if let Some(since_ms) = self.remove(session, inode) {
            self.answered += 1;
            self.answered_ms += now_ms.saturating_sub(since_ms);
        }
    }

    /// A session ended.
    pub fn end_session(&mut self, session: SessionId) {
        self.sessions.remove(&session);
    }

    /// What a session was asked to let go of.
    pub fn of(&self, session: SessionId) -> impl Iterator<Item = InodeId> + '_ {
        self.sessions.get(&session).into_iter().flat_map(|of| of.keys().copied())
    }

    /// Every session that has not answered something. Costs a step for each recall.
    pub fn unanswered(&self) -> impl Iterator<Item = Unanswered> + '_ {
        self.sessions.iter().filter_map(|(session, of)| {
            let since_ms = *of.values().min()?;
            Some(Unanswered { session: *session, since_ms, inodes: of.len() })
        })
    }

    /// Number of recalls that were answered, and how long that took, milliseconds for all together.
    pub fn figures(&self) -> (u64, u64) {
        (self.answered, self.answered_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(recalls: &Recalls) -> Vec<(u64, u64, usize)> {
        let mut all: Vec<_> = recalls.unanswered().map(|one| (one.session.0, one.since_ms, one.inodes)).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn the_oldest_recall_of_a_session_counts_until_it_is_answered() {
        let mut recalls = Recalls::default();
        let [a, b] = [1, 2].map(SessionId);
        let [x, y] = [7, 3].map(InodeId);
        recalls.insert(a, x, 100);
        recalls.insert(a, y, 200);
        recalls.insert(b, y, 300);
        assert_eq!(all(&recalls), [(1, 100, 2), (2, 300, 1)]);
        recalls.answer(a, x, 150);
        assert_eq!(all(&recalls), [(1, 200, 1), (2, 300, 1)]);
        recalls.insert(a, y, 250);
        assert_eq!(all(&recalls), [(1, 200, 1), (2, 300, 1)], "asked for more: the first was not answered either");
        recalls.answer(a, y, 260);
        recalls.answer(a, y, 270);
        assert_eq!((all(&recalls), recalls.figures()), (vec![(2, 300, 1)], (2, 110)), "an answer counts once");
        assert_eq!(recalls.of(b).collect::<Vec<_>>(), [y]);
        recalls.end_session(b);
        assert_eq!((all(&recalls), recalls.of(b).count()), (vec![], 0));
    }

    #[test]
    fn what_is_gone_is_no_answer() {
        let mut recalls = Recalls::default();
        recalls.insert(SessionId(1), InodeId(7), 100);
        assert_eq!(recalls.remove(SessionId(1), InodeId(7)), Some(100));
        assert_eq!((all(&recalls), recalls.figures()), (vec![], (0, 0)));
    }
}
