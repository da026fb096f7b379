// SPDX-License-Identifier: Apache-2.0

//! Range locks: what touches the same bytes of a chunk file goes one after the other, in the order in which it came; what
//! does not, goes in parallel. Readers share.

use crate::regions::Span;
use nyala_wire::storage::ChunkFileId;
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Copy, Debug)]
struct Turn {
    id: u64,
    span: Span,
    exclusive: bool,
    granted: bool,
}

impl Turn {
    fn conflicts(&self, other: &Turn) -> bool {
        (self.exclusive || other.exclusive) && self.span.overlaps(other.span)
    }
}

/// Who has which turn.
#[derive(Clone, Debug, Default)]
pub struct RangeLocks {
    files: BTreeMap<ChunkFileId, VecDeque<Turn>>,
}

impl RangeLocks {
    /// Stands in line. `true`: it is the caller's turn at once; else [`RangeLocks::leave`] of another will name it.
    pub fn enter(&mut self, id: u64, file: ChunkFileId, span: Span, exclusive: bool) -> bool {
        let line = self.files.entry(file).or_default();
        let mut turn = Turn { id, span, exclusive, granted: false };
        turn.granted = !line.iter().any(|before| before.conflicts(&turn));
        line.push_back(turn);
        turn.granted
    }

    /// Leaves the line, from wherever in it; returns those whose turn it is now.
    pub fn leave(&mut self, id: u64, file: ChunkFileId) -> Vec<u64> {
        let Some(line) = self.files.get_mut(&file) else { return Vec::new() };
        line.retain(|turn| turn.id != id);
        let mut granted = Vec::new();
        for at in 0..line.len() {
            let turn = line[at];
            if !turn.granted && !line.iter().take(at).any(|before| before.conflicts(&turn)) {
                line[at].granted = true;
                granted.push(turn.id);
            }
        }
        if line.is_empty() {
            self.files.remove(&file);
        }
        granted
    }

    /// Whether a change of these bytes has its turn or waits for it.
    pub fn has_change(&self, file: ChunkFileId, span: Span) -> bool {
        let line = self.files.get(&file);
        line.is_some_and(|line| line.iter().any(|turn| turn.exclusive && turn.span.overlaps(span)))
    }

    /// Whether nobody stands in line.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::InodeId;
    use proptest::prelude::*;

    const FILE: ChunkFileId = ChunkFileId { inode: InodeId(1), index: 0 };

    fn span(start: u64, end: u64) -> Span {
        Span { start, end }
    }

    #[test]
    fn first_come_first_served() {
        let mut turns = RangeLocks::default();
        assert!(turns.enter(1, FILE, span(0, 10), false));
        assert!(turns.enter(2, FILE, span(5, 15), false), "readers share");
        assert!(!turns.enter(3, FILE, span(9, 12), true));
        assert!(!turns.enter(4, FILE, span(11, 12), false), "no reader passes a waiting writer");
        assert!(turns.enter(5, FILE, span(15, 20), true), "elsewhere");
        assert!(turns.has_change(FILE, span(10, 11)) && turns.has_change(FILE, span(19, 30)));
        assert!(!turns.has_change(FILE, span(0, 9)) && !turns.has_change(FILE, span(12, 15)), "only readers are there");
        assert_eq!(turns.leave(1, FILE), []);
        assert_eq!(turns.leave(2, FILE), [3]);
        assert_eq!(turns.leave(3, FILE), [4]);
        assert_eq!((turns.leave(4, FILE), turns.leave(5, FILE)), (vec![], vec![]));
        assert!(turns.is_empty());
    }

    proptest! {
        /// Whoever has a turn conflicts with nobody else who has one, and everybody gets one in the end.
        #[test]
        fn no_conflicts_and_no_one_starves(wishes in proptest::collection::vec((0_u64..20, 1_u64..8, any::<bool>()), 1..30), pick in any::<u64>()) {
            let mut turns = RangeLocks::default();
            let mut holding = Vec::new();
            let operation = |id: u64| { let (start, len, exclusive) = wishes[id as usize]; (span(start, start + len), exclusive) };
            for id in 0..wishes.len() as u64 {
                let (span, exclusive) = operation(id);
                if turns.enter(id, FILE, span, exclusive) { holding.push(id); }
            }
            let mut served = 0;
            while !holding.is_empty() {
                for (at, a) in holding.iter().enumerate() {
                    for b in &holding[..at] {
                        let ((sa, ea), (sb, eb)) = (operation(*a), operation(*b));
                        prop_assert!(!((ea || eb) && sa.overlaps(sb)));
                    }
                }
                let id = holding.swap_remove((pick as usize + served) % holding.len());
                holding.extend(turns.leave(id, FILE));
                served += 1;
            }
            prop_assert_eq!(served, wishes.len());
            prop_assert!(turns.is_empty());
        }
    }
}
