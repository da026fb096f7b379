// SPDX-License-Identifier: Apache-2.0

//! What this client wrote to a file and no server has yet: dirty extents, and those on their way. Pure.

use crate::writeback::logic::extents::{Extent, ExtentMap};
use bytes::Bytes;
use nyala_wire::Time;
use std::ops::Range;

/// Bytes on their way to a server.
pub(crate) struct InFlight {
    id: u64,
    offset: u64,
    data: Bytes,
    born_ms: u64,
    stamp: u64,
}

impl InFlight {
    pub(crate) fn range(&self) -> Range<u64> {
        self.offset..self.offset + self.data.len() as u64
    }

    fn overlaps(&self, range: &Range<u64>) -> bool {
        self.offset < range.end && self.range().end > range.start
    }
}

/// An extent that was taken to be sent.
pub(crate) struct Departing {
    /// For [`WrittenState::end_flight`] and [`WrittenState::take_back`].
    pub(crate) id: u64,
    pub(crate) offset: u64,
    pub(crate) data: Bytes,
    /// More than one write made it.
    pub(crate) in_pieces: bool,
}

/// Whether what is due goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outflow {
    /// Nothing that is due waits.
    Free,
    /// Something that is due waits for what is under way.
    Blocked,
}

pub(crate) struct WrittenState {
    dirty: ExtentMap,
    in_flight: Vec<InFlight>,
    next_stamp: u64,
    /// Everything up to this stamp should go out now.
    flush_upto: u64,
    outflow: Outflow,
    /// When a unit was last written full.
    filled_ms: u64,
    /// End and time of own writes that metadata does not know of.
    own_end: Option<u64>,
    own_mtime: Option<Time>,
}

impl WrittenState {
    /// Nothing written; extents are cut at multiples of `unit` bytes.
    pub(crate) fn new(unit: u64) -> WrittenState {
        WrittenState {
            dirty: ExtentMap::new(unit),
            in_flight: Vec::new(),
            next_stamp: 1,
            flush_upto: 0,
            outflow: Outflow::Free,
            filled_ms: 0,
            own_end: None,
            own_mtime: None,
        }
    }

    /// Forgets dirty extents, and cuts new ones at multiples of `unit` bytes.
    pub(crate) fn restart(&mut self, unit: u64) {
        self.dirty = ExtentMap::new(unit);
    }

    /// Forgets everything that no server has.
    pub(crate) fn discard(&mut self, unit: u64) {
        self.restart(unit);
        self.in_flight.clear();
        self.forget_own();
    }

    pub(crate) fn dirty(&self) -> &ExtentMap {
        &self.dirty
    }

    pub(crate) fn in_flight(&self) -> &[InFlight] {
        &self.in_flight
    }

    /// Bytes held, dirty and on their way.
    pub(crate) fn bytes(&self) -> usize {
        self.dirty.bytes() + self.in_flight.iter().map(|flying| flying.data.len()).sum::<usize>()
    }

    /// Nothing is dirty, and nothing on its way.
    pub(crate) fn is_clean(&self) -> bool {
        self.dirty.is_empty() && self.in_flight.is_empty()
    }

    /// Whether something on its way overlaps `range`.
    pub(crate) fn is_flying(&self, range: &Range<u64>) -> bool {
        self.in_flight.iter().any(|flying| flying.overlaps(range))
    }

    /// The stamp of a new write.
    pub(crate) fn stamp(&mut self) -> u64 {
        self.next_stamp += 1;
        self.next_stamp - 1
    }

    /// Writes over what is dirty.
    pub(crate) fn insert(&mut self, offset: u64, data: &[u8], now_ms: u64, stamp: u64) {
        self.dirty.insert(offset, data, now_ms, stamp);
    }

    /// Writes under what is dirty.
    pub(crate) fn insert_under(&mut self, offset: u64, data: &[u8], now_ms: u64, stamp: u64) {
        self.dirty.insert_under(offset, data, now_ms, stamp);
    }

    /// Marks the newest quarter to go out, unless what is due waits already.
    pub(crate) fn hurry_newest(&mut self) {
        if !self.is_blocked() {
            self.dirty.hurry_newest();
        }
    }

    /// Takes the extent at `offset` to be sent: it is on its way now.
    pub(crate) fn depart(&mut self, offset: u64) -> Option<Departing> {
        let Extent { offset, data, born_ms, stamp, in_pieces, .. } = self.dirty.take(offset)?;
        let (id, data) = (self.stamp(), data.freeze());
        self.in_flight.push(InFlight { id, offset, data: data.clone(), born_ms, stamp });
        Some(Departing { id, offset, data, in_pieces })
    }

    /// Whether all of a range is dirty.
    pub(crate) fn fills(&self, range: Range<u64>) -> bool {
        let inside = |extent: &Extent| extent.range().end.min(range.end).saturating_sub(extent.offset.max(range.start));
        self.dirty.overlapping(range.clone()).map(inside).sum::<u64>() == range.end - range.start
    }

    /// Takes all that is dirty in a range, which no extent crosses, to be sent: it is on its way now.
    pub(crate) fn depart_within(&mut self, range: Range<u64>) -> Vec<Departing> {
        let offsets: Vec<u64> = self.dirty.overlapping(range).map(|extent| extent.offset).collect();
        offsets.into_iter().filter_map(|offset| self.depart(offset)).collect()
    }

    /// Whether something goes out that does not fill its unit: it is old, or somebody waits, or memory is short.
    pub(crate) fn is_hurried(&mut self, upto_ms: Option<u64>) -> bool {
        self.dirty.hurry_old(self.flush_upto, upto_ms);
        self.dirty.ready().any(|extent| extent.hurried)
    }

    /// What was on its way has arrived, or is given up; its range. `None`: it was discarded meanwhile.
    pub(crate) fn end_flight(&mut self, id: u64) -> Option<Range<u64>> {
        let at = self.in_flight.iter().position(|flying| flying.id == id)?;
        Some(self.in_flight.swap_remove(at).range())
    }

    /// Bytes that were on their way are dirty again, under what was written since.
    pub(crate) fn take_back(&mut self, id: u64) {
        if let Some(at) = self.in_flight.iter().position(|flying| flying.id == id) {
            let flying = self.in_flight.swap_remove(at);
            self.dirty.insert_under(flying.offset, &flying.data, flying.born_ms, flying.stamp);
        }
    }

    /// Everything written so far should go out now; up to which stamp that is.
    pub(crate) fn flush_all(&mut self) -> u64 {
        self.flush_upto = self.stamp();
        self.flush_upto
    }

    /// Offsets of the extents to send now, in file order and at most `room`: what is full, what somebody waits for, and what was written at
    /// `upto_ms` or before (`None`: nothing is that old yet). What overlaps something on its way waits for that. Notes whether more would be due.
    ///
    /// Takes time for what is due, not for what is dirty.
    pub(crate) fn pick_due(&mut self, upto_ms: Option<u64>, room: usize) -> Vec<u64> {
        self.dirty.hurry_old(self.flush_upto, upto_ms);
        let mut picked = Vec::new();
        self.outflow = Outflow::Free;
        for extent in self.dirty.ready() {
            if picked.len() == room {
                self.outflow = Outflow::Blocked;
                break;
            }
            if self.is_flying(&extent.range()) {
                self.outflow = Outflow::Blocked;
            } else {
                picked.push(extent.offset);
            }
        }
        picked
    }

    /// Whether anything up to this stamp is still dirty or on its way.
    pub(crate) fn holds_upto(&self, stamp: u64) -> bool {
        self.dirty.holds_upto(stamp) || self.in_flight.iter().any(|one| one.stamp <= stamp)
    }

    pub(crate) fn is_blocked(&self) -> bool {
        self.outflow == Outflow::Blocked
    }

    pub(crate) fn filled_ms(&self) -> u64 {
        self.filled_ms
    }

    /// A unit was written full.
    pub(crate) fn filled(&mut self, now_ms: u64) {
        self.filled_ms = now_ms;
    }

    /// This client wrote up to `end`, which metadata does not know.
    pub(crate) fn note_write_to(&mut self, end: u64, mtime: Time) {
        self.own_end = Some(self.own_end.unwrap_or(0).max(end));
        self.own_mtime = Some(mtime);
    }

    /// This client wrote, without the file becoming longer.
    pub(crate) fn note_write_within(&mut self, mtime: Time) {
        self.own_mtime = Some(mtime);
    }

    /// End of own writes that metadata does not know of; 0: none.
    pub(crate) fn own_end(&self) -> u64 {
        self.own_end.unwrap_or(0)
    }

    pub(crate) fn own_mtime(&self) -> Option<Time> {
        self.own_mtime
    }

    /// Metadata knows of all own writes.
    pub(crate) fn forget_own(&mut self) {
        self.own_end = None;
        self.own_mtime = None;
    }

    /// After the file was cut: own writes end where what is left of them does; `committed`: also at storage.
    pub(crate) fn cut_own(&mut self, at_storage: Option<u64>) {
        let flying = self.in_flight.iter().map(|flying| flying.range().end);
        self.own_end = flying.chain(self.dirty.end()).chain(at_storage).max();
    }

    /// Own bytes in `range` that are on no server, oldest first.
    pub(crate) fn unsent(&self, range: Range<u64>) -> Vec<(u64, Bytes)> {
        let flying = self.in_flight.iter().filter(|flying| flying.overlaps(&range));
        let mut out: Vec<(u64, Bytes)> = flying.map(|flying| (flying.offset, flying.data.clone())).collect();
        for extent in self.dirty.overlapping(range.clone()) {
            let (from, to) = (extent.offset.max(range.start), extent.range().end.min(range.end));
            let part = &extent.data[(from - extent.offset) as usize..(to - extent.offset) as usize];
            out.push((from, Bytes::copy_from_slice(part)));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_goes_out_in_file_order_and_what_is_not_is_not_looked_at() {
        let mut state = WrittenState::new(100);
        for n in (0..50).rev() {
            let stamp = state.stamp();
            state.insert(n * 200, &[1; 10], 1000, stamp);
        }
        assert!(
            state.pick_due(Some(999), 8).is_empty() && state.dirty().ready().next().is_none() && !state.is_blocked()
        );
        let stamp = state.stamp();
        state.insert(400, &[2; 100], 1100, stamp);
        assert_eq!(state.pick_due(Some(999), 8), [400], "a whole unit");
        let gone = state.depart(400).unwrap();
        let stamp = state.stamp();
        state.insert(420, &[3; 20], 1200, stamp);
        assert!(state.pick_due(Some(999), 8).is_empty() && !state.is_blocked(), "as young as what was written last");
        let upto = state.flush_all();
        assert_eq!(state.pick_due(None, 3), [0, 200, 600], "what overlaps something on its way waits");
        assert!(state.is_blocked() && state.holds_upto(upto));
        assert_eq!(state.end_flight(gone.id), Some(400..500));
        let all = state.pick_due(None, 100);
        assert_eq!((all.len(), all[2], state.is_blocked()), (50, 420, false));
        all.into_iter().for_each(|offset| drop(state.depart(offset)));
        assert!(state.dirty().is_empty() && state.holds_upto(upto));
        state.take_back(state.in_flight()[0].id);
        assert_eq!(state.pick_due(None, 1).len(), 1, "what came back still has to go");
    }

    #[test]
    fn a_range_is_full_and_departs_as_a_whole() {
        let mut state = WrittenState::new(100);
        for (at, len) in [(0, 100), (100, 40), (150, 150)] {
            let stamp = state.stamp();
            state.insert(at, &vec![1; len], 1000, stamp);
        }
        assert!(state.fills(0..140) && !state.fills(0..150) && state.fills(150..300) && !state.fills(200..301));
        assert!(!state.is_hurried(Some(999)) && state.is_hurried(Some(1000)));
        let gone: Vec<(u64, usize)> =
            state.depart_within(100..200).iter().map(|piece| (piece.offset, piece.data.len())).collect();
        assert_eq!(gone, [(100, 40), (150, 50)]);
        assert!(!state.fills(100..140) && state.fills(0..100) && state.fills(200..300) && state.in_flight().len() == 2);
    }

    #[test]
    fn what_is_old_goes_out() {
        let mut state = WrittenState::new(100);
        for n in 0..4 {
            let stamp = state.stamp();
            state.insert(n * 200, &[1; 10], 1000 + n, stamp);
        }
        let stamp = state.stamp();
        state.insert(210, &[1; 10], 2000, stamp);
        assert_eq!(state.pick_due(Some(1001), 8), [0, 200], "as old as the oldest byte");
        assert_eq!((state.dirty().ready().count(), state.dirty().iter().count()), (2, 4));
    }
}
