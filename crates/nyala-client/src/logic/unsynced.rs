// SPDX-License-Identifier: Apache-2.0

//! Which targets may hold bytes of a file that are not on their disks.
//!
//! Others may have written what they did not sync, and so may this client before it forgot the file. So all targets may,
//! until they were synced under a lease that keeps others from writing; from then on, as long as that lease is held, those
//! that this client wrote to.

use std::collections::BTreeSet;

/// What one client knows about one file.
#[derive(Debug, Default)]
pub struct Unsynced {
    /// All that is unsynced is in `written`.
    known: bool,
    written: BTreeSet<u16>,
    /// Grows when others may write.
    era: u64,
}

/// A sync of some targets under way.
#[derive(Debug)]
pub struct Syncing {
    /// Stripe indices of the targets.
    pub indices: BTreeSet<u16>,
    /// Nobody else could write when it began, and then.
    alone: Option<u64>,
}

impl Unsynced {
    /// This client wrote there. Whether it is the first that is unsynced.
    pub fn wrote(&mut self, index: u16) -> bool {
        let first = self.written.is_empty();
        self.written.insert(index);
        first
    }

    /// Whether this client wrote something and did not sync it since.
    pub fn has_own(&self) -> bool {
        !self.written.is_empty()
    }

    /// The lease is gone: others may write.
    pub fn shared(&mut self) {
        self.known = false;
        self.era += 1;
    }

    /// Begins a sync. `all`: those that hold any of the file; `alone`: a lease keeps others from writing.
    pub fn begin(&mut self, all: impl Iterator<Item = u16>, alone: bool) -> Syncing {
        let mut indices = std::mem::take(&mut self.written);
        if !self.known {
            indices.extend(all);
        }
        Syncing { indices, alone: alone.then_some(self.era) }
    }

    /// All of it worked.
    pub fn done(&mut self, syncing: &Syncing) {
        self.known |= syncing.alone == Some(self.era);
    }

    /// Some of it did not: as if it had not been begun.
    pub fn failed(&mut self, syncing: Syncing) {
        self.written.extend(syncing.indices);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indices(syncing: &Syncing) -> Vec<u16> {
        syncing.indices.iter().copied().collect()
    }

    #[test]
    fn all_targets_until_synced_alone_and_again_when_others_may_have_written() {
        let mut unsynced = Unsynced::default();
        assert!(unsynced.wrote(1) && !unsynced.wrote(2));
        let first = unsynced.begin(0..4, true);
        assert_eq!(indices(&first), [0, 1, 2, 3]);
        // Written while it is under way.
        assert!(unsynced.wrote(3));
        unsynced.done(&first);
        let second = unsynced.begin(0..4, true);
        assert_eq!(indices(&second), [3]);
        unsynced.failed(second);
        assert_eq!(indices(&unsynced.begin(0..4, true)), [3]);
        assert!(unsynced.begin(0..4, true).indices.is_empty());
        unsynced.shared();
        assert_eq!(indices(&unsynced.begin(0..2, true)), [0, 1]);
    }

    #[test]
    fn a_sync_proves_nothing_where_others_could_write_meanwhile() {
        let mut unsynced = Unsynced::default();
        let without = unsynced.begin(0..2, false);
        unsynced.done(&without);
        let with = unsynced.begin(0..2, true);
        assert_eq!(indices(&with), [0, 1]);
        unsynced.shared();
        unsynced.done(&with);
        assert_eq!(indices(&unsynced.begin(0..2, true)), [0, 1]);
    }
}
