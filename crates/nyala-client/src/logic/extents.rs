// SPDX-License-Identifier: Apache-2.0

//! Written bytes of a file that are not on a server yet.
//!
//! Extents never overlap and never cross a multiple of `unit` (a chunk, or a part of one), so each goes out as one
//! storage write; one that fills its unit is complete and need not wait for more.

use crate::logic::ranges::RangeSet;
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes at an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Offset in the file.
    pub offset: u64,
    /// The bytes.
    pub data: Vec<u8>,
    /// When the oldest of them was written, milliseconds of the client's clock.
    pub born_ms: u64,
    /// The stamp of the oldest write in it.
    pub stamp: u64,
    /// It should go out although it may not be full.
    pub hurried: bool,
}

impl Extent {
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
    bytes: usize,
}

impl ExtentMap {
    /// No extents; they are cut at multiples of `unit` bytes.
    pub fn new(unit: u64) -> ExtentMap {
        ExtentMap { unit: unit.max(1), extents: BTreeMap::new(), bytes: 0 }
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

    /// Does the extent fill its unit?
    pub fn is_complete(&self, extent: &Extent) -> bool {
        extent.data.len() as u64 == self.unit
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
        let mut by_age: Vec<(u64, u64)> = self.extents.values().map(|extent| (extent.stamp, extent.offset)).collect();
        by_age.sort_unstable();
        let mut bytes = 0;
        for (_, offset) in by_age.into_iter().rev() {
            if let Some(extent) = self.extents.get_mut(&offset) {
                extent.hurried = true;
                bytes += extent.data.len();
            }
            if bytes >= self.bytes / 4 {
                break;
            }
        }
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
        let unit_start = offset - offset % self.unit;
        let unit_end = unit_start.saturating_add(self.unit);
        let touching = self.extents.range(unit_start..=offset).next_back().filter(|(_, e)| e.range().end >= offset);
        let base = touching.map_or(offset, |(&base, _)| base);
        let unit = self.unit as usize;
        let extent = self.extents.entry(base).or_insert_with(|| Extent {
            offset,
            data: Vec::new(),
            born_ms: now_ms,
            stamp,
            hurried: false,
        });
        let at = (offset - base) as usize;
        let covered = data.len().min(extent.data.len() - at);
        extent.data[at..at + covered].copy_from_slice(&data[..covered]);
        let added = data.len() - covered;
        if extent.data.len() + added > extent.data.capacity() {
            // Grow by doubling, but never beyond the unit: a full buffer must not keep as much again idle.
            let want = (extent.data.len() + added).max(extent.data.len() * 2).min(unit);
            extent.data.reserve_exact(want - extent.data.len());
        }
        extent.data.extend_from_slice(&data[covered..]);
        extent.born_ms = extent.born_ms.min(now_ms);
        extent.stamp = extent.stamp.min(stamp);
        self.bytes += added;
        self.absorb_followers(base, unit_end);
    }

    /// Joins the extent at `base` with those behind it that it now touches.
    fn absorb_followers(&mut self, base: u64, unit_end: u64) {
        loop {
            let Some(end) = self.extents.get(&base).map(|extent| extent.range().end) else { return };
            let next = self.extents.range(base + 1..unit_end).next().map(|(&key, _)| key);
            let Some(follower) = next.filter(|&key| key <= end).and_then(|key| self.extents.remove(&key)) else {
                return;
            };
            let hidden = ((end - follower.offset) as usize).min(follower.data.len());
            self.bytes -= hidden;
            if let Some(extent) = self.extents.get_mut(&base) {
                extent.data.extend_from_slice(&follower.data[hidden..]);
                extent.born_ms = extent.born_ms.min(follower.born_ms);
                extent.stamp = extent.stamp.min(follower.stamp);
                extent.hurried |= follower.hurried;
            }
        }
    }

    /// Writes `data` under what is there: only where nothing is.
    pub fn insert_under(&mut self, offset: u64, data: &[u8], now_ms: u64, stamp: u64) {
        let mut held = RangeSet::default();
        self.overlapping(offset..offset + data.len() as u64).for_each(|extent| held.insert(extent.range()));
        for gap in held.gaps(offset..offset + data.len() as u64) {
            self.insert(gap.start, &data[(gap.start - offset) as usize..(gap.end - offset) as usize], now_ms, stamp);
        }
    }

    /// Takes the extent that starts at `offset` out.
    pub fn take(&mut self, offset: u64) -> Option<Extent> {
        let extent = self.extents.remove(&offset)?;
        self.bytes -= extent.data.len();
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
        let hit: Vec<u64> = self.overlapping(range.clone()).map(|extent| extent.offset).collect();
        for key in hit {
            let Some(mut extent) = self.take(key) else { continue };
            let whole = extent.range();
            if whole.end > range.end {
                let data = extent.data.split_off((range.end - whole.start) as usize);
                self.bytes += data.len();
                self.extents.insert(range.end, Extent { offset: range.end, data, ..extent });
            }
            if whole.start < range.start {
                extent.data.truncate((range.start - whole.start) as usize);
                self.bytes += extent.data.len();
                self.extents.insert(whole.start, extent);
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
    }

    fn op() -> impl Strategy<Value = Op> {
        let data = || proptest::collection::vec(1_u8.., 0..60);
        prop_oneof![
            3 => (0_u64..200, data()).prop_map(|(o, d)| Op::Insert(o, d)),
            1 => (0_u64..200, data()).prop_map(|(o, d)| Op::Under(o, d)),
            1 => (0_u64..220, 0_u64..80).prop_map(|(o, l)| Op::Remove(o, l)),
            1 => (0_u64..220).prop_map(Op::Take),
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
                    Op::Take(near) => {
                        let first = map.overlapping(near..400).next().map(|extent| extent.offset);
                        if let Some(extent) = first.and_then(|offset| map.take(offset)) {
                            model[extent.offset as usize..extent.range().end as usize].fill(0);
                        }
                    }
                }
                let mut seen = vec![0_u8; 400];
                let mut end = 0;
                for extent in map.iter() {
                    prop_assert!(!extent.data.is_empty() && extent.offset >= end);
                    prop_assert_eq!(extent.offset / unit, (extent.range().end - 1) / unit, "crosses a unit");
                    prop_assert!(extent.stamp <= stamp as u64);
                    end = extent.range().end;
                    seen[extent.offset as usize..end as usize].copy_from_slice(&extent.data);
                }
                prop_assert_eq!(&seen, &model);
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
        assert!(map.overlapping(600..700).all(|extent| extent.hurried && map.is_complete(extent)));
        ExtentMap::new(10).hurry_newest();
    }

    #[test]
    fn appended_writes_are_one_extent_of_bounded_capacity() {
        let mut map = ExtentMap::new(1 << 16);
        for i in 0..16_u64 {
            map.insert(i * 4096, &[7; 4096], i, i);
        }
        let extent = map.iter().next().unwrap();
        assert!(map.is_complete(extent) && extent.stamp == 0 && extent.born_ms == 0);
        assert!(extent.data.capacity() <= 1 << 16);
    }
}
