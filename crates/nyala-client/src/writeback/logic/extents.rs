// SPDX-License-Identifier: Apache-2.0

//! Written bytes of a file that are not on a server yet.
//!
//! Extents never overlap and never cross a multiple of `unit` (a chunk, or a part of one), so each goes out as one
//! storage write; one that fills its unit is complete and need not wait for more.

use crate::writeback::logic::due_index::{DueEntry, DueIndex};
use crate::writeback::logic::partial_units::PartialUnits;
use crate::writeback::logic::ranges::RangeSet;
use crate::writeback::logic::spare_capacity::SpareCapacity;
use bytes::BytesMut;
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes at an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Offset in the file.
    pub offset: u64,
    /// The bytes.
    pub data: BytesMut,
    /// When the oldest of them was written, milliseconds of the client's clock.
    pub born_ms: u64,
    /// The stamp of the oldest write in it.
    pub stamp: u64,
    /// It should go out although it may not be full.
    pub hurried: bool,
    /// More than one write made it.
    pub in_pieces: bool,
    /// It fills its unit, or what is left of it.
    pub complete: bool,
}

impl Extent {
    fn due_entry(&self) -> DueEntry {
        DueEntry { offset: self.offset, stamp: self.stamp, ready: self.complete || self.hurried }
    }

    /// Other bytes became part of it, or lie over it: it is as old as the oldest of them.
    fn age(&mut self, born_ms: u64, stamp: u64) {
        (self.born_ms, self.stamp) = (self.born_ms.min(born_ms), self.stamp.min(stamp));
    }

    /// The bytes' range in the file.
    pub fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.data.len() as u64
    }
}

/// The extents of one file.
#[derive(Debug)]
pub struct ExtentMap {
    unit: u64,
    extents: BTreeMap<u64, Extent>,
    /// Which of them go out next; what changes an extent's stamp, or whether it is ready, changes this.
    due: DueIndex,
    spare: SpareCapacity,
    partial: PartialUnits,
    bytes: usize,
}

/// A unit's own buffer is made when one of so many parts of it is there, so that buffers take no more than so many times
/// what they hold.
const GATHERED: u64 = 4;

/// Appends, growing by doubling, but never beyond the unit: a full buffer must not keep as much again idle.
fn append(to: &mut BytesMut, data: &[u8], unit: usize) {
    let len = to.len() + data.len();
    if len > to.capacity() {
        let mut longer = BytesMut::with_capacity(len.max(to.len() * 2).min(unit));
        longer.extend_from_slice(to);
        *to = longer;
    }
    to.extend_from_slice(data);
}

impl ExtentMap {
    /// No extents; they are cut at multiples of `unit` bytes.
    pub fn new(unit: u64) -> ExtentMap {
        ExtentMap {
            unit: unit.max(1),
            extents: BTreeMap::new(),
            due: DueIndex::default(),
            spare: SpareCapacity::default(),
            partial: PartialUnits::default(),
            bytes: 0,
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    /// All extents in file order.
    pub fn iter(&self) -> impl Iterator<Item = &Extent> {
        self.extents.values()
    }

    /// Does the range fill its unit, or what is left of it?
    fn completes(&self, range: &Range<u64>) -> bool {
        range.end - range.start == self.unit || self.partial.is_closed_by(self.unit_of(range.start), range)
    }

    fn unit_of(&self, offset: u64) -> Range<u64> {
        let start = offset - offset % self.unit;
        start..start.saturating_add(self.unit)
    }

    /// Would writing to `range` begin a unit of which nothing is held, without filling it?
    pub fn begins_unit(&self, range: &Range<u64>) -> bool {
        let unit = range.end.saturating_sub(1) / self.unit * self.unit;
        let fills = range.start <= unit && range.end == unit.saturating_add(self.unit);
        !fills && self.overlapping(unit..unit.saturating_add(self.unit)).next().is_none()
    }

    /// Bytes held in extents that start before `offset`.
    pub fn bytes_below(&self, offset: u64) -> usize {
        self.extents.range(..offset).map(|(_, extent)| extent.data.len()).sum()
    }

    /// Marks the newest quarter of what is held to go out. The older is closer to being full where several writers go
    /// through one file side by side.
    pub fn hurry_newest(&mut self) {
        let mut bytes = self.ready().map(|extent| extent.data.len()).sum::<usize>();
        while bytes < self.bytes.div_ceil(4) {
            let Some(offset) = self.due.newest_waiting() else { return };
            bytes += self.hurry(offset);
        }
    }

    /// Makes ready to go out what was first written at `upto_stamp` or before, or `upto_ms` or before. Takes time for what becomes ready only:
    /// stamps rise with time (but for the moment between a writer's look at the clock and its stamp).
    pub fn hurry_old(&mut self, upto_stamp: u64, upto_ms: Option<u64>) {
        while let Some(offset) = self.due.oldest_waiting() {
            let due = |extent: &Extent| extent.stamp <= upto_stamp || upto_ms.is_some_and(|ms| extent.born_ms <= ms);
            if !self.extents.get(&offset).is_some_and(due) {
                return;
            }
            self.hurry(offset);
        }
    }

    fn hurry(&mut self, offset: u64) -> usize {
        self.change(offset, |extent| {
            extent.hurried = true;
            extent.data.len()
        })
        .unwrap_or(0)
    }

    /// Extents that should go out now, in file order: complete ones, and those that are hurried.
    pub fn ready(&self) -> impl Iterator<Item = &Extent> {
        self.due.ready().filter_map(|offset| self.extents.get(&offset))
    }

    /// Whether anything first written at this stamp or before is held.
    pub fn holds_upto(&self, stamp: u64) -> bool {
        let waits = self.due.oldest_waiting().and_then(|offset| self.extents.get(&offset));
        waits.into_iter().chain(self.ready()).any(|extent| extent.stamp <= stamp)
    }

    /// The end of the last byte held.
    pub fn end(&self) -> Option<u64> {
        self.extents.last_key_value().map(|(_, extent)| extent.range().end)
    }

    fn change<T>(&mut self, offset: u64, change: impl FnOnce(&mut Extent) -> T) -> Option<T> {
        let extent = self.extents.get_mut(&offset)?;
        let before = extent.due_entry();
        let result = change(extent);
        self.due.moved(before, extent.due_entry());
        Some(result)
    }

    fn put(&mut self, extent: Extent) {
        self.due.add(extent.due_entry());
        self.extents.insert(extent.offset, extent);
    }

    fn pull(&mut self, offset: u64) -> Option<Extent> {
        let extent = self.extents.remove(&offset)?;
        self.due.remove(extent.due_entry());
        Some(extent)
    }

    /// The extent of the unit from `start` that begins at `offset` or before.
    fn last_upto(&self, start: u64, offset: u64) -> Option<&Extent> {
        self.extents.range(start..=offset).next_back().map(|(_, extent)| extent)
    }

    /// Writes `data` over what is there.
    pub fn insert(&mut self, offset: u64, data: &[u8], now_ms: u64, stamp: u64) {
        let (mut at, mut rest) = (offset, data);
        while !rest.is_empty() {
            let room = (self.unit - at % self.unit).min(rest.len() as u64) as usize;
            self.insert_in_unit(at, &rest[..room], now_ms, stamp);
            at += room as u64;
            rest = &rest[room..];
        }
    }

    fn insert_in_unit(&mut self, offset: u64, data: &[u8], now_ms: u64, stamp: u64) {
        let Range { start, end } = self.unit_of(offset);
        self.partial.written(start..end, &(offset..offset + data.len() as u64));
        let (mut at, mut rest) = (offset, data);
        while !rest.is_empty() {
            let here = self.last_upto(start, at).filter(|extent| extent.range().end > at).map(|extent| extent.offset);
            let over = here.and_then(|here| {
                self.change(here, |extent| {
                    let inside = (at - extent.offset) as usize;
                    let taken = rest.len().min(extent.data.len() - inside);
                    extent.data[inside..inside + taken].copy_from_slice(&rest[..taken]);
                    extent.age(now_ms, stamp);
                    taken
                })
            });
            let taken = if let Some(taken) = over {
                taken
            } else {
                let next = self.extents.range(at..end).next().map_or(end, |(&key, _)| key);
                let taken = rest.len().min((next - at) as usize);
                self.add(start, at, &rest[..taken], now_ms, stamp);
                taken
            };
            at += taken as u64;
            rest = &rest[taken..];
        }
        self.join(start..end, offset, at);
        self.gather(start..end);
        // What goes out touches nothing that stays, so only what is written can complete an extent.
        if let Some(joined) = self.last_upto(start, offset).map(Extent::range) {
            let complete = self.completes(&joined);
            self.change(joined.start, |extent| extent.complete = complete);
        }
    }

    /// Adds bytes where nothing is: in the unit's own buffer if it has one, or at the end of those before, or by themselves.
    fn add(&mut self, unit_start: u64, offset: u64, data: &[u8], now_ms: u64, stamp: u64) {
        self.bytes += data.len();
        let new = if let Some(mut room) = self.spare.take(offset, data.len()) {
            room.copy_from_slice(data);
            room
        } else {
            let unit = self.unit as usize;
            let before = self.last_upto(unit_start, offset).filter(|extent| extent.range().end == offset);
            if let Some(before) = before.map(|extent| extent.offset) {
                self.change(before, |extent| {
                    append(&mut extent.data, data, unit);
                    extent.age(now_ms, stamp);
                    extent.in_pieces = true;
                });
                return;
            }
            BytesMut::from(data)
        };
        let extent =
            Extent { offset, data: new, born_ms: now_ms, stamp, hurried: false, in_pieces: false, complete: false };
        self.put(extent);
    }

    /// Joins the unit's extents that touch each other from `first` to `last`. Those in one buffer join without a copy.
    fn join(&mut self, unit: Range<u64>, first: u64, last: u64) {
        let mut base = self.extents.range(unit.start..first).next_back().map_or(first, |(&key, _)| key);
        while let Some((&next, _)) = self.extents.range(base + 1..unit.end).next().filter(|(key, _)| **key <= last) {
            if self.extents.get(&base).is_none_or(|extent| extent.range().end < next) {
                base = next;
                continue;
            }
            let Some(follower) = self.pull(next) else { return };
            self.change(base, |extent| {
                extent.data.unsplit(follower.data);
                extent.age(follower.born_ms, follower.stamp);
                extent.hurried |= follower.hurried;
                extent.in_pieces = true;
            });
        }
    }

    /// A unit that is filled out of order gets a buffer of its own once a good part of it is there: what comes then is
    /// copied to its place, once, instead of with every piece that closes a gap before it.
    fn gather(&mut self, unit: Range<u64>) {
        let (mut count, mut bytes) = (0, 0);
        for (_, extent) in self.extents.range(unit.clone()) {
            count += 1;
            bytes += extent.data.len() as u64;
        }
        if count < 2 || bytes < self.unit / GATHERED || self.spare.has(&unit) {
            return;
        }
        let mut room = BytesMut::zeroed(self.unit as usize);
        for (_, extent) in self.extents.range_mut(unit.clone()).rev() {
            let behind = room.split_off((extent.range().end - unit.start) as usize);
            self.spare.give(extent.range().end, behind);
            let mut place = room.split_off((extent.offset - unit.start) as usize);
            place.copy_from_slice(&extent.data);
            extent.data = place;
        }
        self.spare.give(unit.start, room);
    }

    /// Writes `data` under what is there: only where nothing is.
    pub fn insert_under(&mut self, offset: u64, data: &[u8], now_ms: u64, stamp: u64) {
        let mut held = RangeSet::default();
        self.overlapping(offset..offset + data.len() as u64).for_each(|extent| held.insert(extent.range()));
        for gap in held.gaps(offset..offset + data.len() as u64) {
            self.insert(gap.start, &data[(gap.start - offset) as usize..(gap.end - offset) as usize], now_ms, stamp);
        }
    }

    /// Takes the extent that starts at `offset` out, to be sent.
    pub fn take(&mut self, offset: u64) -> Option<Extent> {
        let extent = self.cut(offset)?;
        if extent.data.len() as u64 != self.unit {
            self.partial.gone(self.unit_of(offset), extent.range());
        }
        Some(extent)
    }

    fn cut(&mut self, offset: u64) -> Option<Extent> {
        let extent = self.pull(offset)?;
        self.bytes -= extent.data.len();
        let unit = self.unit_of(offset);
        if self.extents.range(unit.clone()).next().is_none() {
            self.spare.clear(&unit);
        }
        Some(extent)
    }

    /// Extents that share a byte with `range`.
    pub fn overlapping(&self, range: Range<u64>) -> impl Iterator<Item = &Extent> {
        let first = self.extents.range(..range.start).next_back().map_or(range.start, |(&key, _)| key);
        self.extents
            .range(first..range.end.max(first))
            .map(|(_, extent)| extent)
            .filter(move |extent| extent.range().end > range.start)
    }

    /// Forgets the bytes in `range`.
    pub fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let hit: Vec<u64> = self.overlapping(range.clone()).map(|extent| extent.offset).collect();
        for key in hit {
            let Some(mut extent) = self.cut(key) else { continue };
            let whole = extent.range();
            if whole.end > range.end {
                let data = extent.data.split_off((range.end - whole.start) as usize);
                self.bytes += data.len();
                let complete = self.completes(&(range.end..whole.end));
                self.put(Extent { offset: range.end, data, complete, ..extent });
            }
            if whole.start < range.start {
                extent.data.truncate((range.start - whole.start) as usize);
                self.bytes += extent.data.len();
                extent.complete = self.completes(&extent.range());
                self.put(extent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Op {
        Insert(u64, Vec<u8>),
        Under(u64, Vec<u8>),
        Remove(u64, u64),
        Take(u64),
        HurryNewest,
        /// What was written this many operations ago and before.
        HurryOld(u64),
    }

    fn op() -> impl Strategy<Value = Op> {
        let data = || proptest::collection::vec(1_u8.., 0..60);
        prop_oneof![
            3 => (0_u64..200, data()).prop_map(|(o, d)| Op::Insert(o, d)),
            1 => (0_u64..200, data()).prop_map(|(o, d)| Op::Under(o, d)),
            1 => (0_u64..220, 0_u64..80).prop_map(|(o, l)| Op::Remove(o, l)),
            1 => (0_u64..220).prop_map(Op::Take),
            1 => Just(Op::HurryNewest),
            1 => (0_u64..8).prop_map(Op::HurryOld),
        ]
    }

    proptest! {
        /// 0 is "nothing here" in the model: written bytes are never 0.
        #[test]
        fn like_a_sparse_buffer(ops in proptest::collection::vec(op(), 1..60), unit in 1_u64..50) {
            let mut map = ExtentMap::new(unit);
            let mut model = vec![0_u8; 400];
            for (stamp, op) in ops.into_iter().enumerate() {
                match op {
                    Op::Insert(offset, data) => {
                        model[offset as usize..offset as usize + data.len()].copy_from_slice(&data);
                        map.insert(offset, &data, stamp as u64, stamp as u64);
                    }
                    Op::Under(offset, data) => {
                        let under = &mut model[offset as usize..];
                        under.iter_mut().zip(&data).filter(|(old, _)| **old == 0).for_each(|(old, new)| *old = *new);
                        map.insert_under(offset, &data, stamp as u64, stamp as u64);
                    }
                    Op::Remove(offset, len) => {
                        model[offset as usize..(offset + len) as usize].fill(0);
                        map.remove(offset..offset + len);
                    }
                    Op::HurryNewest => {
                        map.hurry_newest();
                        let ready: usize = map.ready().map(|extent| extent.data.len()).sum();
                        prop_assert!(ready * 4 >= map.bytes(), "a quarter goes out");
                    }
                    Op::HurryOld(ago) => {
                        let upto = (stamp as u64).saturating_sub(ago);
                        map.hurry_old(upto, None);
                        let waits = |extent: &&Extent| !extent.complete && !extent.hurried;
                        prop_assert!(map.iter().filter(waits).all(|extent| extent.stamp > upto), "old and waits");
                        prop_assert_eq!(map.holds_upto(upto), map.iter().any(|extent| extent.stamp <= upto));
                    }
                    Op::Take(near) => {
                        let first = map.overlapping(near..400).next().map(|extent| extent.offset);
                        if let Some(extent) = first.and_then(|offset| map.take(offset)) {
                            model[extent.offset as usize..extent.range().end as usize].fill(0);
                        }
                    }
                }
                let mut seen = vec![0_u8; 400];
                let (mut end, mut touched) = (0, 0);
                for extent in map.iter() {
                    prop_assert!(!extent.data.is_empty() && extent.offset >= end);
                    prop_assert_eq!(extent.offset / unit, (extent.range().end - 1) / unit, "crosses a unit");
                    prop_assert!(extent.stamp <= stamp as u64);
                    prop_assert!(extent.complete || !map.completes(&extent.range()), "complete and not known");
                    prop_assert!(extent.offset > touched || extent.offset % unit == 0, "touches the one before");
                    touched = extent.range().end;
                    end = extent.range().end;
                    seen[extent.offset as usize..end as usize].copy_from_slice(&extent.data);
                }
                prop_assert_eq!(&seen, &model);
                let due = |extent: &&Extent| extent.complete || extent.hurried;
                let (ready, wanted): (Vec<_>, Vec<_>) = (map.ready().collect(), map.iter().filter(due).collect());
                prop_assert_eq!(ready, wanted, "the index and the extents differ");
                prop_assert_eq!(map.end(), map.iter().last().map(|extent| extent.range().end));
                prop_assert_eq!(map.bytes(), model.iter().filter(|byte| **byte != 0).count());
            }
        }
    }

    #[test]
    fn units_are_begun_and_the_newest_hurried() {
        let mut map = ExtentMap::new(100);
        assert!(map.begins_unit(&(10..20)) && map.begins_unit(&(50..120)));
        assert!(!map.begins_unit(&(100..200)) && !map.begins_unit(&(50..200)), "what fills its unit goes out at once");
        for i in 0..8 {
            map.insert(i * 100, &[1; 10], i, i);
        }
        assert_eq!((map.bytes_below(0), map.bytes_below(200), map.bytes_below(201)), (0, 20, 30));
        assert!(!map.begins_unit(&(50..60)) && map.begins_unit(&(850..860)));
        map.hurry_newest();
        let hurried: Vec<u64> = map.iter().filter(|extent| extent.hurried).map(|extent| extent.offset).collect();
        assert_eq!(hurried, [600, 700]);
        map.insert(610, &[1; 90], 9, 9);
        assert!(map.overlapping(600..700).all(|extent| extent.hurried && extent.complete));
        ExtentMap::new(10).hurry_newest();
    }

    #[test]
    fn appended_writes_are_one_extent_of_bounded_capacity() {
        let mut map = ExtentMap::new(1 << 16);
        for i in 0..16_u64 {
            map.insert(i * 4096, &[7; 4096], i, i);
        }
        let extent = map.iter().next().unwrap();
        assert!(extent.complete && extent.stamp == 0 && extent.born_ms == 0);
        assert!(extent.data.capacity() <= 1 << 16);
    }
    #[test]
    fn pieces_in_any_order_become_one_extent_that_is_not_copied_again() {
        let (unit, piece) = (1000_u64, 90_u64);
        let mut map = ExtentMap::new(unit);
        let order = [3_u64, 7, 0, 9, 5, 11, 1, 10, 8, 2, 6, 4];
        let mut buffer = None;
        for (stamp, number) in order.into_iter().enumerate() {
            let range = number * piece..((number + 1) * piece).min(unit);
            map.insert(range.start, &vec![number as u8 + 1; (range.end - range.start) as usize], 1, stamp as u64);
            if stamp >= 3 {
                let starts: Vec<usize> =
                    map.iter().map(|extent| extent.data.as_ptr().addr() - extent.offset as usize).collect();
                assert!(starts.iter().all(|start| *start == *buffer.get_or_insert(starts[0])), "{starts:?}");
            }
        }
        let extent = map.take(0).unwrap();
        assert!(extent.complete && extent.in_pieces && map.is_empty() && !map.spare.has(&(0..unit)));
        assert!((0..unit).all(|at| extent.data[at as usize] == (at / piece) as u8 + 1));
    }
}
