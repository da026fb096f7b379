// SPDX-License-Identifier: Apache-2.0

//! Passes over the whole table, a little at a time: what nobody reads is compared with its checksums, too. Pure.
//!
//! A pass is short (a page in 1.6 ms, 10 GiB in 70 minutes), so where it was is not kept over restarts. It begins with the log: what that
//! has and the table has not is in memory, so that a checkpoint heals what is damaged there, and little stays there for longer than half a minute,
//! unless checkpoints find no room.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::ordered::Verified;
use crate::{Options, StoreError};

/// Pages of a slice.
pub(crate) const SLICE_PAGES: u64 = 64;
/// Damaged places that are told apart; behind that a table is as good as gone.
const MAX_PLACES: usize = 10_000;
/// Pause between two slices.
const SLICE_PAUSE: Duration = Duration::from_millis(100);

/// Where a pass is, and what it and the one before have found.
#[derive(Debug, Default)]
pub(crate) struct Scrub {
    /// Where the next slice begins; `None` between two passes.
    at: Option<Vec<u8>>,
    pages: u64,
    /// Of the pass under way, as text: file, offset, reason.
    found: BTreeSet<String>,
    /// Of the last whole one.
    known: BTreeSet<String>,
    /// Places of the log that no checkpoint healed.
    in_log: u64,
}

impl Scrub {
    /// How long to wait for the first pass; `None`: there is none.
    pub fn first(options: &Options) -> Option<Duration> {
        (!options.scrub_interval.is_zero()).then(|| options.scrub_interval.min(Options::SCRUB_DELAY))
    }

    /// Whether the next slice is the first of a pass.
    pub fn begins(&self) -> bool {
        self.at.is_none()
    }

    /// The log was compared, and so many places are damaged and needed.
    pub fn log_compared(&mut self, damaged: u64) {
        self.in_log = damaged;
    }

    /// Where the next slice begins.
    pub fn from(&self) -> Vec<u8> {
        self.at.clone().unwrap_or_default()
    }

    /// A slice was compared. Gives what was not known before, and how long to wait for the next one.
    pub fn compared(&mut self, slice: Verified, interval: Duration) -> (Vec<StoreError>, Duration) {
        self.pages += slice.pages;
        let is_new = |error: &StoreError| !self.known.contains(&error.to_string());
        let found: Vec<(String, bool)> = slice.damage.iter().map(|error| (error.to_string(), is_new(error))).collect();
        // A branch is read again by each slice below it.
        let first = |(text, new): (String, bool)| self.found.len() < MAX_PLACES && self.found.insert(text) && new;
        let new: Vec<bool> = found.into_iter().map(first).collect();
        let new = slice.damage.into_iter().zip(new).filter_map(|(error, new)| new.then_some(error)).collect();
        self.at = slice.next;
        if self.at.is_some() {
            return (new, SLICE_PAUSE);
        }
        self.known = std::mem::take(&mut self.found);
        (new, interval)
    }

    /// Pages that were compared, and places that are damaged.
    pub fn figures(&self) -> (u64, u64) {
        (self.pages, self.known.union(&self.found).count() as u64 + self.in_log)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn slice(damaged: &[u64], next: Option<&[u8]>) -> Verified {
        let of = |at: &u64| StoreError::TableDamaged { file: "tree".into(), offset: *at, reason: "bad".into() };
        Verified { pages: 10, damage: damaged.iter().map(of).collect(), next: next.map(<[u8]>::to_vec) }
    }

    #[test]
    fn a_pass_ends_and_damage_that_went_is_forgotten_by_the_next_one() {
        let mut scrub = Scrub::default();
        assert_eq!(scrub.from(), b"");
        let (new, pause) = scrub.compared(slice(&[4096, 8192], Some(b"k")), DAY);
        assert_eq!((new.len(), pause, scrub.from(), scrub.figures()), (2, SLICE_PAUSE, b"k".to_vec(), (10, 2)));
        let (new, pause) = scrub.compared(slice(&[4096], None), DAY);
        assert_eq!((new.len(), pause, scrub.from(), scrub.figures()), (0, DAY, vec![], (20, 2)), "said once");
        let (new, _) = scrub.compared(slice(&[8192], Some(b"x")), DAY);
        assert_eq!(
            (new.len(), scrub.figures().1),
            (0, 2),
            "known from the pass before, which counts until this one ends"
        );
        scrub.compared(slice(&[], None), DAY);
        assert_eq!(scrub.figures().1, 1);
        scrub.compared(slice(&[], None), DAY);
        assert_eq!(scrub.figures(), (50, 0));
        scrub.log_compared(2);
        assert_eq!(scrub.figures(), (50, 2));
        scrub.log_compared(0);
        assert_eq!((scrub.figures(), scrub.begins()), ((50, 0), true));
    }

    #[test]
    fn it_begins_soon_after_the_opening_or_not_at_all() {
        let with = |scrub_interval| Scrub::first(&Options { scrub_interval, ..Options::default() });
        assert_eq!((with(DAY), with(Duration::ZERO)), (Some(Options::SCRUB_DELAY), None));
        assert_eq!(with(Duration::from_secs(5)), Some(Duration::from_secs(5)));
    }
}
