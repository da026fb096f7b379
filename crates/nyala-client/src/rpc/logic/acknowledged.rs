// SPDX-License-Identifier: Apache-2.0

//! Which inodes' changes metadata servers have acknowledged and may not have on disk, and which of them a power cut took.
//!
//! A server's replies carry the number of its run, the log position that is on disk and the one that the reply rests on. A
//! later run goes on where it found the log to end; what an earlier one had answered behind that is lost. So the last
//! position of each inode is kept until it is on disk; with the first reply of a later run those that were not become
//! doubtful, and the server says which survived. It is told those that did not, and does them again ([`super::replay_log`]): what that
//! brings back is not lost. The positions of changes that others made a moment before count as
//! this client's: that errs to the side of loss. Inline content is told as a whole: what of it was lost is back with
//! the next telling, unless this client let its copy go and has loaded the server's since.

mod server;

use crate::rpc::logic::effects::ChangedPart;
use nyala_wire::{InodeId, TargetId};
use server::{FEW, Past, Server, note};
use std::collections::{BTreeMap, BTreeSet};

/// Where a server's log was when it replied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogMark {
    /// Of the server; 0: it does not say.
    pub run: u32,
    /// On disk up to here.
    pub durable: u64,
    /// The reply rests on nothing behind this.
    pub applied: u64,
}

/// Changes of one run that a later one has neither found nor done again.
#[derive(Debug, Default)]
pub struct Lost {
    /// All up to here.
    pub up_to: u64,
    /// Those at these positions, whatever inodes they were of, and all of these inodes.
    pub positions: BTreeSet<u64>,
    /// See above.
    pub inodes: BTreeSet<InodeId>,
}

impl Lost {
    fn has(&self, inode: InodeId, position: u64) -> bool {
        position <= self.up_to || self.positions.contains(&position) || self.inodes.contains(&inode)
    }
}

/// Of all servers.
#[derive(Debug, Default)]
pub struct AcknowledgedChanges {
    servers: BTreeMap<TargetId, Server>,
}

impl AcknowledgedChanges {
    /// A server replied to a change of these, or to a sync of none.
    pub fn heard(
        &mut self,
        target: TargetId,
        mark: LogMark,
        changed: impl IntoIterator<Item = (InodeId, ChangedPart)>,
    ) {
        if mark.run == 0 {
            return;
        }
        let server = self.servers.entry(target).or_default();
        if mark.run > server.run {
            server.next_run(mark.run);
        }
        if mark.run < server.run {
            let past = server.past.entry(mark.run).or_default();
            if past.survived.is_none_or(|survived| survived < mark.applied) {
                changed.into_iter().for_each(|change| note(&mut past.marks, change, mark.applied));
            }
            return server.tidy();
        }
        server.durable = server.durable.max(mark.durable);
        for change in changed {
            if change.1 == ChangedPart::Whole {
                server.content_replaced(change.0);
            }
            if mark.applied > server.durable {
                note(&mut server.marks, change, mark.applied);
            }
        }
        if server.marks.len() >= server.room.max(FEW) {
            server.prune();
            server.room = 2 * server.marks.len();
        }
    }

    /// A run of a server gave this client the content of an inode, in place of a copy of its own: what is told from now on rests on
    /// that, and brings nothing back that earlier runs have lost.
    pub fn reloaded(&mut self, target: TargetId, run: u32, inode: InodeId) {
        let Some(server) = self.servers.get_mut(&target) else { return };
        if run > server.run {
            server.next_run(run);
        }
        for past in server.past.range_mut(..run).map(|(_, past)| past) {
            if let Some([content, other]) = past.marks.get_mut(&inode) {
                *other = (*content).max(*other);
                *content = 0;
            }
        }
    }

    /// Runs of servers to ask about before anything can be said of this inode; of any inode if `None`.
    pub fn doubtful(&self, inode: Option<InodeId>) -> Vec<(TargetId, u32)> {
        let concerned = |past: &Past| inode.is_none_or(|inode| past.marks.contains_key(&inode));
        let of = |(target, server): (&TargetId, &Server)| {
            let runs = server.past.iter().filter(|(_, past)| past.survived.is_none() && concerned(past));
            runs.map(|(run, _)| (*target, *run)).collect::<Vec<_>>()
        };
        self.servers.iter().flat_map(of).collect()
    }

    /// The server says up to which position a run's changes are there.
    pub fn survived(&mut self, target: TargetId, run: u32, position: u64) {
        let Some(server) = self.servers.get_mut(&target) else { return };
        if let Some(past) = server.past.get_mut(&run) {
            past.survived = Some(position);
            past.marks.retain(|_, mark| mark.iter().any(|part| *part > position));
            past.marks.values_mut().flatten().filter(|part| **part <= position).for_each(|part| *part = 0);
        }
        server.tidy();
    }

    /// The run `now` of a server has done again what the run `before` had acknowledged behind the position `there`: all but what was lost.
    pub fn done_again(&mut self, target: TargetId, (before, now): (u32, u32), there: u64, lost: &Lost) {
        let Some(server) = self.servers.get_mut(&target) else { return };
        if server.run < now {
            server.next_run(now);
        }
        if let Some(past) = server.past.get_mut(&before) {
            past.survived = Some(there);
            past.marks.retain(|inode, mark| {
                let stays = |part: &u64| *part > there && lost.has(*inode, *part);
                mark.iter_mut().filter(|part| !stays(part)).for_each(|part| *part = 0);
                *mark != [0, 0]
            });
        }
        server.tidy();
    }

    /// Whether a change of this inode is known to be lost, at which server; said once.
    pub fn take_lost(&mut self, inode: InodeId) -> Option<TargetId> {
        let mut lost = None;
        for (target, server) in &mut self.servers {
            for past in server.past.values_mut().filter(|past| past.survived.is_some()) {
                if past.marks.remove(&inode).is_some() {
                    lost = Some(*target);
                }
            }
            server.tidy();
        }
        lost
    }

    /// One of the inodes of which changes are known to be lost.
    pub fn any_lost(&self) -> Option<(InodeId, TargetId)> {
        let of = |server: &Server| {
            let mut lost =
                server.past.values().filter(|past| past.survived.is_some()).flat_map(|past| past.marks.keys());
            lost.next().copied()
        };
        self.servers.iter().find_map(|(target, server)| Some((of(server)?, *target)))
    }
}

#[cfg(test)]
mod tests {
    use super::server::MAX_PAST;
    use super::*;

    const A: TargetId = TargetId(1);
    const ONE: InodeId = InodeId(11);
    const TWO: InodeId = InodeId(12);
    const OF_ONE: [(InodeId, ChangedPart); 1] = [(ONE, ChangedPart::Other)];
    const OF_TWO: [(InodeId, ChangedPart); 1] = [(TWO, ChangedPart::Other)];

    fn mark(run: u32, durable: u64, applied: u64) -> LogMark {
        LogMark { run, durable, applied }
    }

    #[test]
    fn what_is_done_again_is_not_lost() {
        let mut acknowledged = AcknowledgedChanges::default();
        let three = InodeId(13);
        acknowledged.heard(A, mark(1, 0, 5), OF_ONE);
        acknowledged.heard(A, mark(1, 0, 8), OF_TWO);
        acknowledged.heard(A, mark(1, 0, 9), [(three, ChangedPart::Other)]);
        let lost = Lost { up_to: 0, positions: [9].into(), inodes: [ONE].into() };
        acknowledged.done_again(A, (1, 2), 4, &lost);
        assert!(acknowledged.doubtful(None).is_empty(), "there is nothing to ask");
        let lost =
            |acknowledged: &mut AcknowledgedChanges| [ONE, TWO, three].map(|inode| acknowledged.take_lost(inode));
        assert_eq!(lost(&mut acknowledged), [Some(A), None, Some(A)]);
        acknowledged.heard(A, mark(2, 9, 12), OF_ONE);
        acknowledged.heard(A, mark(2, 9, 13), OF_TWO);
        acknowledged.done_again(A, (2, 3), 9, &Lost { up_to: 12, ..Lost::default() });
        assert_eq!(lost(&mut acknowledged), [Some(A), None, None], "what was left out");
    }

    #[test]
    fn what_a_later_run_did_not_find_is_lost_and_said_once() {
        let mut acknowledged = AcknowledgedChanges::default();
        acknowledged.heard(A, mark(1, 0, 5), OF_ONE);
        acknowledged.heard(A, mark(1, 0, 8), OF_TWO);
        assert!(acknowledged.doubtful(None).is_empty());
        acknowledged.heard(A, mark(2, 6, 6), []);
        assert_eq!((acknowledged.doubtful(Some(ONE)), acknowledged.take_lost(ONE)), (vec![(A, 1)], None));
        acknowledged.survived(A, 1, 5);
        assert!(acknowledged.doubtful(None).is_empty());
        assert_eq!((acknowledged.any_lost(), acknowledged.take_lost(ONE)), (Some((TWO, A)), None));
        assert_eq!(
            (acknowledged.take_lost(TWO), acknowledged.take_lost(TWO), acknowledged.any_lost()),
            (Some(A), None, None)
        );
    }

    #[test]
    fn what_was_on_disk_is_never_asked_about() {
        let mut acknowledged = AcknowledgedChanges::default();
        acknowledged.heard(A, mark(1, 0, 5), OF_ONE);
        acknowledged.heard(A, mark(1, 5, 5), []);
        acknowledged.heard(A, mark(2, 5, 5), []);
        assert!(acknowledged.doubtful(None).is_empty());
        acknowledged.heard(A, mark(2, 7, 7), OF_ONE);
        acknowledged.heard(A, mark(3, 7, 7), []);
        assert!(acknowledged.doubtful(None).is_empty());
        acknowledged.heard(A, LogMark::default(), OF_ONE);
        assert!(acknowledged.doubtful(None).is_empty());
    }

    #[test]
    fn a_late_reply_counts_for_the_run_that_gave_it() {
        let mut acknowledged = AcknowledgedChanges::default();
        acknowledged.heard(A, mark(1, 0, 1), []);
        acknowledged.heard(A, mark(2, 3, 4), OF_TWO);
        acknowledged.heard(A, mark(1, 0, 9), OF_ONE);
        assert_eq!(acknowledged.doubtful(None), [(A, 1)]);
        acknowledged.survived(A, 1, 3);
        acknowledged.heard(A, mark(1, 0, 2), OF_TWO);
        acknowledged.heard(A, mark(1, 0, 7), OF_TWO);
        assert_eq!((acknowledged.take_lost(ONE), acknowledged.take_lost(TWO)), (Some(A), Some(A)));
        acknowledged.heard(A, mark(3, 4, 4), []);
        acknowledged.survived(A, 2, u64::MAX);
        assert_eq!((acknowledged.doubtful(None), acknowledged.take_lost(TWO)), (vec![], None));
    }

    #[test]
    fn content_that_is_told_again_is_not_lost_but_what_else_was_changed_is() {
        let content = |inode| [(inode, ChangedPart::Content)];
        let whole = |inode| [(inode, ChangedPart::Whole)];
        for asked_first in [false, true] {
            let mut acknowledged = AcknowledgedChanges::default();
            acknowledged.heard(A, mark(1, 0, 4), content(ONE));
            acknowledged.heard(A, mark(1, 0, 5), content(TWO));
            acknowledged.heard(A, mark(1, 0, 6), OF_TWO);
            acknowledged.heard(A, mark(2, 3, 3), []);
            if asked_first {
                acknowledged.survived(A, 1, 3);
            }
            acknowledged.heard(A, mark(2, 4, 4), whole(ONE));
            acknowledged.heard(A, mark(2, 5, 5), whole(TWO));
            acknowledged.survived(A, 1, 3);
            assert_eq!((acknowledged.take_lost(ONE), acknowledged.take_lost(TWO)), (None, Some(A)));
        }
    }

    #[test]
    fn content_that_was_loaded_since_brings_nothing_back() {
        let content = [(ONE, ChangedPart::Content)];
        let whole = [(ONE, ChangedPart::Whole)];
        for (run_loaded, lost) in [(1, None), (2, Some(A))] {
            for asked_first in [false, true] {
                let mut acknowledged = AcknowledgedChanges::default();
                acknowledged.heard(A, mark(1, 0, 4), content);
                if asked_first {
                    acknowledged.heard(A, mark(2, 3, 3), []);
                    acknowledged.survived(A, 1, 3);
                }
                acknowledged.reloaded(A, run_loaded, ONE);
                acknowledged.heard(A, mark(2, 4, 4), whole);
                for (target, run) in acknowledged.doubtful(Some(ONE)) {
                    acknowledged.survived(target, run, 3);
                }
                assert_eq!(acknowledged.take_lost(ONE), lost, "{run_loaded} {asked_first}");
            }
        }
    }

    #[test]
    fn what_is_kept_is_bounded_by_what_is_not_on_disk() {
        let mut acknowledged = AcknowledgedChanges::default();
        for n in 1..=100 * FEW as u64 {
            acknowledged.heard(A, mark(1, n.saturating_sub(10), n), [(InodeId(n), ChangedPart::Content)]);
        }
        assert!(acknowledged.servers[&A].marks.len() <= 2 * FEW);
        for run in 2..100 {
            acknowledged.heard(A, mark(run, 0, 1), OF_ONE);
        }
        assert!(acknowledged.servers[&A].past.len() <= MAX_PAST);
    }
}
