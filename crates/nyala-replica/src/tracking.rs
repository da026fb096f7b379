// SPDX-License-Identifier: Apache-2.0

//! What may differ between members, remembered so that no crash makes us forget it.
//!
//! **Failure model.** A process dies: memory is gone, everything applied stays. A machine loses power: what was not
//! flushed may be lost, kept or torn, and so may the log records behind the last durable one. Therefore:
//!
//! - Before a region changes here, a **write intent** for it is on disk. It goes only when the change is known to be on every
//!   acting member and flushed here. After a restart all intents are *inherited*: regions of which nobody knows.
//! - A row of intents is on its way to the disk for a while, and a flush may end meanwhile and take regions ahead out again. What it
//!   took out does not count when the older row is on disk, even if a newer row, which is not, has it again.
//! - Regions that change while a member gets no changes are **dirty** for it. Their rows are written in the record that
//!   removes the intent of the region, not before: until then the intent says enough.

use crate::regions::{EXACT, RegionSet, Span};
use crate::rows::{Row, RowKey};
use nyala_wire::TargetId;
use nyala_wire::storage::ChunkFileId;
use std::collections::{BTreeMap, BTreeSet};

/// Intents and dirty regions of one member.
#[derive(Clone, Debug, Default)]
pub struct Tracking {
    max_runs: usize,
    /// Intents, as on disk or on the way there.
    intents: RegionSet,
    /// Those whose row is on disk: changes may begin.
    open: RegionSet,
    /// Rows of intents on their way to the disk, by number: what is open once each is there.
    opening: BTreeMap<u64, RegionSet>,
    /// The last one's number.
    last_opening: u64,
    /// Of the intents: not agreed with the other members since a crash or change of term.
    inherited: RegionSet,
    dirty: BTreeMap<TargetId, RegionSet>,
    /// Dirty rows that differ from what is on disk.
    stale_rows: BTreeSet<(TargetId, ChunkFileId)>,
    /// Regions in which a change began since the flush began.
    touched: RegionSet,
}

impl Tracking {
    /// From what was on disk.
    pub fn load(rows: impl IntoIterator<Item = Row>, max_runs: usize) -> Tracking {
        let mut tracking = Tracking { max_runs, ..Tracking::default() };
        for Row { key, runs } in rows {
            let Some(runs) = runs else { continue };
            match key {
                RowKey::Intent(file) => tracking.intents.set(file, runs),
                RowKey::Dirty(member, file) => tracking.dirty.entry(member).or_default().set(file, runs),
            }
        }
        // What was read may be in the page cache only: a row counts as on disk when this run has put it there.
        tracking.inherited = tracking.intents.clone();
        tracking
    }

    /// A change is about to begin in these regions. `None`: it may; else the row that has to be on disk first, and the number under
    /// which [`Tracking::opened`] hears of it. Where the region before has an intent, the file is being written in order: so many
    /// regions `ahead` get theirs in the same row.
    pub fn begin(&mut self, file: ChunkFileId, run: Span, ahead: u64) -> Option<(u64, Row)> {
        if self.open.contains(file, run) {
            if !self.touched.contains(file, run) {
                self.touched.insert(file, run, self.max_runs);
            }
            return None;
        }
        let before = run.start.checked_sub(1).map(|start| Span { start, end: run.start });
        let in_order = run.end != u64::MAX && before.is_some_and(|before| self.intents.contains(file, before));
        let end = if in_order { run.end.saturating_add(ahead) } else { run.end };
        let run = Span { end, ..run };
        self.touched.insert(file, run, self.max_runs);
        self.intents.insert(file, run, self.max_runs);
        self.last_opening += 1;
        self.opening.entry(self.last_opening).or_default().insert(file, run, EXACT);
        Some((self.last_opening, self.intent_row(file)))
    }

    /// That row is on disk, or could not be put there.
    pub fn opened(&mut self, opening: u64, ok: bool) {
        let regions = self.opening.remove(&opening).filter(|_| ok).unwrap_or_default();
        self.open.add(&regions, EXACT);
    }

    /// A region changes while `member` gets no changes.
    pub fn mark_dirty(&mut self, member: TargetId, file: ChunkFileId, run: Span) {
        let set = self.dirty.entry(member).or_default();
        if !set.contains(file, run) {
            set.insert(file, run, self.max_runs);
            self.stale_rows.insert((member, file));
        }
    }

    /// The same for a whole set.
    pub fn mark_all_dirty(&mut self, member: TargetId, regions: &RegionSet) {
        regions.iter().for_each(|(file, run)| self.mark_dirty(member, file, run));
    }

    /// The member has these regions now, on its disk.
    pub fn clean(&mut self, member: TargetId, regions: &RegionSet) {
        let set = self.dirty.entry(member).or_default();
        set.subtract(regions);
        self.stale_rows.extend(regions.files().map(|file| (member, file)));
    }

    /// The member has everything.
    pub fn clean_all(&mut self, member: TargetId) {
        if let Some(set) = self.dirty.remove(&member) {
            self.stale_rows.extend(set.files().map(|file| (member, file)));
        }
    }

    /// Regions that changed without the member.
    pub fn dirty(&self, member: TargetId) -> RegionSet {
        self.dirty.get(&member).cloned().unwrap_or_default()
    }

    /// Regions of which nobody knows.
    pub fn inherited(&self) -> &RegionSet {
        &self.inherited
    }

    /// Changes that had begun in these regions may or may not be on the others.
    pub fn inherit(&mut self, file: ChunkFileId, run: Span) {
        self.inherited.insert(file, run, self.max_runs);
    }

    /// The members agree on everything that was inherited.
    pub fn agreed(&mut self) {
        self.inherited = RegionSet::default();
    }

    /// A flush begins: intents that may go when it has ended, given the regions that are `busy`.
    pub fn closable(&mut self, busy: &RegionSet) -> RegionSet {
        self.touched = RegionSet::default();
        let mut closable = self.intents.clone();
        closable.subtract(&self.inherited);
        closable.subtract(busy);
        closable
    }

    /// The flush has ended: the record that removes those intents and writes what is dirty.
    pub fn close(&mut self, mut closable: RegionSet) -> Vec<Row> {
        closable.subtract(&self.touched);
        closable.subtract(&self.inherited);
        self.intents.subtract(&closable);
        self.open.subtract(&closable);
        self.opening.values_mut().for_each(|regions| regions.subtract(&closable));
        let mut rows = self.dirty_rows();
        rows.extend(closable.files().map(|file| self.intent_row(file)));
        rows
    }

    /// Dirty rows that are not as on disk yet.
    pub fn dirty_rows(&mut self) -> Vec<Row> {
        let row = |(member, file): (TargetId, ChunkFileId)| Row {
            key: RowKey::Dirty(member, file),
            runs: self.dirty.get(&member).and_then(|set| set.runs(file)).cloned(),
        };
        std::mem::take(&mut self.stale_rows).into_iter().map(row).collect()
    }

    /// Regions with intents, regions of which nobody knows, and dirty regions by member.
    pub fn counts(&self) -> (u64, u64, Vec<(TargetId, u64)>) {
        let dirty = self.dirty.iter().map(|(target, set)| (*target, set.count())).collect();
        (self.intents.count(), self.inherited.count(), dirty)
    }

    /// Whether nothing is open and nothing dirty.
    pub fn is_clean(&self) -> bool {
        self.intents.is_empty() && self.dirty.values().all(RegionSet::is_empty)
    }

    fn intent_row(&self, file: ChunkFileId) -> Row {
        Row { key: RowKey::Intent(file), runs: self.intents.runs(file).cloned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::InodeId;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, VecDeque};

    const FILE: ChunkFileId = ChunkFileId { inode: InodeId(1), index: 0 };
    const AWAY: TargetId = TargetId(9);

    fn one(region: u64) -> Span {
        Span { start: region, end: region + 1 }
    }

    proptest! {
        /// Rows take their time to the disk, and whatever part of the log behind the last durable record is lost: a region that
        /// changed while the other was away is dirty, or has an intent, after the restart.
        #[test]
        fn no_crash_forgets_a_change(steps in proptest::collection::vec((0_u8..6, 0_u64..8), 0..80), lost in 0_usize..40, ahead in 0_u64..4) {
            let mut tracking = Tracking::load([], 4);
            let (mut log, mut durable): (Vec<Vec<Row>>, usize) = (Vec::new(), 0);
            let (mut changed, mut flushing) = (RegionSet::default(), None);
            // Rows on their way, each with its place in the log and the region whose change waits for it.
            let mut on_the_way = VecDeque::new();
            for (what, region) in steps {
                match what {
                    0 | 1 => {
                        tracking.mark_dirty(AWAY, FILE, one(region));
                        match tracking.begin(FILE, one(region), ahead) {
                            None => changed.insert(FILE, one(region), 100),
                            Some((opening, row)) => {
                                log.push(vec![row]);
                                on_the_way.push_back((opening, log.len(), region));
                            }
                        }
                    }
                    2 => {
                        let mut busy = RegionSet::default();
                        on_the_way.iter().for_each(|(_, _, region)| busy.insert(FILE, one(*region), EXACT));
                        flushing = Some(tracking.closable(&busy));
                    }
                    3 => if let Some(closable) = flushing.take() { log.push(tracking.close(closable)); },
                    _ => if let Some((opening, records, region)) = on_the_way.pop_front() {
                        durable = records;
                        tracking.opened(opening, true);
                        changed.insert(FILE, one(region), 100);
                    },
                }
            }
            log.truncate(durable.max(log.len().saturating_sub(lost)));
            let mut table = BTreeMap::new();
            log.into_iter().flatten().for_each(|row| { table.insert(row.key, row.runs); });
            let again = Tracking::load(table.into_iter().map(|(key, runs)| Row { key, runs }), 4);
            for (file, run) in changed.iter() {
                for region in run.start..run.end {
                    let known = again.dirty(AWAY).contains(file, one(region)) || again.inherited().contains(file, one(region));
                    prop_assert!(known, "region {} is forgotten", region);
                }
            }
        }
    }

    /// Begins in a region whose row has to be on disk first.
    fn opening(tracking: &mut Tracking, region: u64, ahead: u64) -> (u64, Vec<Span>) {
        let (opening, row) = tracking.begin(FILE, one(region), ahead).expect("a row is needed");
        (opening, row.runs.map(|runs| runs.iter().collect()).unwrap_or_default())
    }

    #[test]
    fn what_a_flush_took_out_again_is_not_opened_by_an_older_row() {
        let mut tracking = Tracking::load([], 4);
        let (first, _) = opening(&mut tracking, 5, 3);
        tracking.opened(first, true);
        let (older, runs) = opening(&mut tracking, 6, 3);
        assert_eq!(runs, [Span { start: 5, end: 10 }]);
        // Nothing has come to 7 and those behind: a flush takes them out while the row is on its way.
        let mut busy = RegionSet::default();
        busy.insert(FILE, one(6), EXACT);
        let closable = tracking.closable(&busy);
        tracking.close(closable);
        let (newer, runs) = opening(&mut tracking, 7, 3);
        assert_eq!(runs, [Span { start: 6, end: 11 }]);
        tracking.opened(older, true);
        assert!(tracking.begin(FILE, one(6), 0).is_none());
        assert!(tracking.begin(FILE, one(8), 0).is_some(), "the newest row that is on disk does not have it");
        tracking.opened(newer, true);
        assert!(tracking.begin(FILE, one(8), 0).is_none());
    }

    #[test]
    fn a_row_that_could_not_be_written_opens_nothing() {
        let mut tracking = Tracking::load([], 4);
        let (first, _) = opening(&mut tracking, 1, 0);
        tracking.opened(first, false);
        let (again, _) = opening(&mut tracking, 1, 0);
        tracking.opened(again, true);
        assert!(tracking.begin(FILE, one(1), 0).is_none());
    }

    #[test]
    fn what_begins_during_a_flush_stays_open() {
        let mut tracking = Tracking::load([], 4);
        let (first, _) = opening(&mut tracking, 1, 0);
        tracking.opened(first, true);
        assert!(tracking.begin(FILE, one(1), 0).is_none(), "one intent is enough");
        let closable = tracking.closable(&RegionSet::default());
        assert!(tracking.begin(FILE, one(1), 0).is_none());
        tracking.close(closable);
        assert!(!tracking.is_clean());
        let closable = tracking.closable(&RegionSet::default());
        tracking.close(closable);
        assert!(tracking.is_clean());
    }

    #[test]
    fn a_file_written_in_order_has_intents_ahead_which_go_when_nothing_comes() {
        let mut tracking = Tracking::load([], 4);
        let (first, runs) = opening(&mut tracking, 5, 3);
        assert_eq!(runs, [one(5)], "nothing is known of its order");
        tracking.opened(first, true);
        let (ahead, runs) = opening(&mut tracking, 6, 3);
        assert_eq!(runs, [Span { start: 5, end: 10 }]);
        assert!(tracking.begin(FILE, one(7), 3).is_some(), "the row is not on disk yet");
        tracking.opened(ahead, true);
        assert!((6..10).all(|region| tracking.begin(FILE, one(region), 3).is_none()));
        let (_, row) = tracking.begin(FILE, Span { start: 11, end: u64::MAX }, 3).expect("a row is needed");
        assert_eq!(row.runs.and_then(|runs| runs.iter().last()), Some(Span { start: 5, end: u64::MAX }));
        let closable = tracking.closable(&RegionSet::default());
        tracking.close(closable);
        assert!(tracking.is_clean());
    }

    #[test]
    fn what_a_crash_left_stays_until_it_is_agreed_on_and_is_not_taken_for_durable() {
        let row = Tracking::load([], 4).begin(FILE, one(1), 0).map(|(_, row)| row);
        let mut tracking = Tracking::load(row, 4);
        assert!(tracking.closable(&RegionSet::default()).is_empty());
        assert!(tracking.begin(FILE, one(1), 0).is_some(), "the row may be in the page cache only");
        tracking.agreed();
        let closable = tracking.closable(&RegionSet::default());
        tracking.close(closable);
        assert!(tracking.is_clean());
    }
}
