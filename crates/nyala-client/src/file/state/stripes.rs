// SPDX-License-Identifier: Apache-2.0

//! Whole stripes of a new file on their way to storage in its erasure code. Pure.
//!
//! A stripe is taken out of what is dirty when it goes out, and counts as there when it and all before it are. What fails,
//! or has to change what went out, ends it: the data is moved back ([`crate::file::leave_stripes`]).

use crate::writeback::logic::unsynced::{Syncing, Unsynced, Written};
use nyala_wire::Layout;
use nyala_wire::storage::WriteVerifier;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Stripes of one file that are under way at the same time.
const MAX_UNDER_WAY: usize = 4;

/// Whether more is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Open,
    /// Its last stripe, which is not whole, is under way, or there.
    Closing,
    /// The data has to be moved back.
    Failed,
}

#[derive(Default)]
pub(crate) struct Stripes {
    /// Where its server says that the data is, which has none there, until it knows better.
    pub(super) before: Option<Arc<Layout>>,
    phase: Phase,
    stripe_bytes: u64,
    /// What is before has gone out.
    next: u64,
    /// What is before is at its targets.
    stored: u64,
    under_way: VecDeque<Flight>,
    /// What targets said of writes that were not synced since.
    unsynced: Unsynced,
}

struct Flight {
    id: u64,
    range: Range<u64>,
    /// Of the extents that it was made of.
    extents: Vec<u64>,
    landed: bool,
}

impl Stripes {
    pub(super) fn new(to: &Layout, before: Arc<Layout>) -> Stripes {
        Stripes { before: Some(before), stripe_bytes: u64::from(to.chunk_bytes) * to.width(), ..Stripes::default() }
    }

    /// What is before is at its targets, all of it.
    pub(crate) fn stored(&self) -> u64 {
        self.stored
    }

    /// The range of the next stripe, if one more may go out now.
    pub(crate) fn next_stripe(&self) -> Option<Range<u64>> {
        let free = self.phase == Phase::Open && self.under_way.len() < MAX_UNDER_WAY;
        free.then(|| self.next..self.next + self.stripe_bytes)
    }

    /// Whether a write from `at` on leaves alone what has gone out.
    pub(super) fn accepts(&self, at: u64) -> bool {
        self.phase != Phase::Closing && at >= self.next
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.phase == Phase::Closing
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.phase == Phase::Failed
    }

    pub(crate) fn is_any_under_way(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// A target has a part of one.
    pub(crate) fn record_write(&mut self, index: u16, verifier: WriteVerifier) {
        self.unsynced.record_write(index, verifier);
    }

    /// What was written and not synced.
    pub(crate) fn unsynced(&self) -> &Written {
        self.unsynced.written()
    }

    /// Begins a sync of what was written and not synced.
    pub(crate) fn begin_sync(&mut self) -> Syncing {
        self.unsynced.begin(std::iter::empty(), false)
    }

    /// A sync did not work, or a target had lost something before it.
    pub(crate) fn not_synced(&mut self, syncing: Syncing) {
        self.unsynced.failed(syncing);
        self.phase = Phase::Failed;
    }

    /// These extents go out up to `end`; `last`: as the file's last stripe, which may not be whole.
    pub(crate) fn depart(&mut self, end: u64, extents: Vec<u64>, last: bool) {
        assert!(self.phase == Phase::Open && end >= self.next, "a stripe goes out that is not next");
        if last {
            self.phase = Phase::Closing;
        }
        let id = extents.first().copied().unwrap_or_default();
        self.under_way.push_back(Flight { id, range: self.next..end, extents, landed: false });
        self.next = end;
    }

    /// Whether this one is under way: one that went out before all was dropped is not.
    pub(crate) fn has(&self, id: u64) -> bool {
        self.under_way.iter().any(|flight| flight.id == id)
    }

    /// This stripe is at its targets: what is there now that was not, and the extents that it was made of.
    pub(crate) fn landed(&mut self, id: u64) -> (Range<u64>, Vec<u64>) {
        let from = self.stored;
        let mut extents = Vec::new();
        if let Some(flight) = self.under_way.iter_mut().find(|flight| flight.id == id) {
            flight.landed = true;
        }
        if self.phase != Phase::Failed {
            while let Some(flight) = self.under_way.pop_front_if(|flight| flight.landed) {
                self.stored = flight.range.end;
                extents.extend(flight.extents);
            }
        }
        (from..self.stored, extents)
    }

    /// One is not: nothing goes out until the data is moved back.
    pub(crate) fn failed(&mut self) {
        self.phase = Phase::Failed;
    }

    /// After a failure: a stripe has ended, with or without success. The extents that are dirty again.
    pub(crate) fn taken_back(&mut self, id: u64) -> Vec<u64> {
        assert!(self.phase == Phase::Failed, "a stripe is taken back that was stored");
        let at = self.under_way.iter().position(|flight| flight.id == id);
        at.and_then(|at| self.under_way.remove(at)).map(|flight| flight.extents).unwrap_or_default()
    }
}
