// SPDX-License-Identifier: Apache-2.0

//! Which targets may hold bytes of a file that are not on their disks.
//!
//! Others may have written what they did not sync, and so may this client before it forgot the file. So all targets may,
//! until they were synced under a delegation that keeps others from writing; from then on, as long as that delegation
//! is held, those that this client wrote to.

use nyala_wire::storage::WriteVerifier;
use nyala_wire::{InodeId, Layout};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a target said of this client's writes since the last sync.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// With the last of them.
    verifier: Option<WriteVerifier>,
    /// With one before it said something else.
    changed: bool,
}

impl Noted {
    /// Whether all that was written is on disk once a sync was answered with this verifier; otherwise the target may have lost
    /// some of it between the two.
    pub fn holds(&self, synced: WriteVerifier) -> bool {
        !self.changed && self.verifier.is_none_or(|wrote| wrote == synced)
    }

    /// And what was written before that.
    fn since(&mut self, before: Noted) {
        let verifier = self.verifier.or(before.verifier);
        self.changed |= before.changed || (before.verifier.is_some() && before.verifier != verifier);
        self.verifier = verifier;
    }
}

/// Stripe indices that were written to and not synced since.
pub type Written = BTreeMap<u16, Noted>;

/// What this client wrote and did not sync, by inode and how often its data had been moved when it was written: moving it syncs the
/// copy, but only the targets that it was on before know whether they had lost any of it.
pub type UnsyncedFiles = BTreeMap<(InodeId, u32), (Arc<Layout>, Written)>;

/// What one client knows about one file.
#[derive(Debug, Default)]
pub struct Unsynced {
    /// All that is unsynced is in `written`.
    known: bool,
    written: Written,
    /// What was written before the file was forgotten is in `written` too.
    adopted: bool,
    /// Grows when others may write.
    era: u64,
}

/// A sync of some targets under way.
#[derive(Debug)]
pub struct Syncing {
    /// Stripe indices of the targets, and what they said of writes.
    pub indices: Written,
    /// Nobody else could write when it began, and then.
    alone: Option<u64>,
}

impl Unsynced {
    /// This client wrote there. Whether that changes what is to be remembered if the file is forgotten.
    pub fn record_write(&mut self, index: u16, verifier: WriteVerifier) -> bool {
        let noted = self.written.entry(index).or_default();
        let before = std::mem::replace(noted, Noted { verifier: Some(verifier), changed: false });
        noted.since(before);
        *noted != before
    }

    /// Whether this client wrote something and did not sync it since.
    pub fn has_own(&self) -> bool {
        !self.written.is_empty()
    }

    /// What was written and not synced.
    pub fn written(&self) -> &Written {
        &self.written
    }

    /// Goes on with what was written before the file was forgotten; only the first time does something.
    pub fn adopt(&mut self, before: Option<&Written>) {
        if !std::mem::replace(&mut self.adopted, true) {
            before
                .into_iter()
                .flatten()
                .for_each(|(index, noted)| self.written.entry(*index).or_default().since(*noted));
        }
    }

    /// What is noted of some indices.
    pub fn noted(&self, indices: impl Iterator<Item = u16>) -> Written {
        indices.map(|index| (index, self.written.get(&index).copied().unwrap_or_default())).collect()
    }

    /// What was written there may be lost, which is dealt with: what is written from now on counts.
    pub fn dealt_with(&mut self, index: u16) {
        self.written.insert(index, Noted::default());
    }

    /// The delegation is gone: others may write.
    pub fn shared(&mut self) {
        self.known = false;
        self.era += 1;
    }

    /// The data is on other targets, of which nothing is known.
    pub fn relocate(&mut self) {
        let era = self.era + 1;
        *self = Unsynced { era, ..Unsynced::default() };
    }

    /// Begins a sync. `all`: those that hold any of the file; `alone`: a delegation keeps others from writing.
    pub fn begin(&mut self, all: impl Iterator<Item = u16>, alone: bool) -> Syncing {
        let mut indices = std::mem::take(&mut self.written);
        for index in all.filter(|_| !self.known) {
            indices.entry(index).or_default();
        }
        Syncing { indices, alone: alone.then_some(self.era) }
    }

    /// All of it worked.
    pub fn done(&mut self, syncing: &Syncing) {
        self.known |= syncing.alone == Some(self.era);
    }

    /// Some of it did not: as if it had not been begun.
    pub fn failed(&mut self, syncing: Syncing) {
        syncing.indices.into_iter().for_each(|(index, noted)| self.written.entry(index).or_default().since(noted));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::TargetId;

    const ONCE: WriteVerifier = WriteVerifier { target: TargetId(7), losses: 1 };
    const TWICE: WriteVerifier = WriteVerifier { losses: 2, ..ONCE };

    fn indices(syncing: &Syncing) -> Vec<u16> {
        syncing.indices.keys().copied().collect()
    }

    #[test]
    fn all_targets_until_synced_alone_and_again_when_others_may_have_written() {
        let mut unsynced = Unsynced::default();
        assert!(unsynced.record_write(1, ONCE) && unsynced.record_write(2, ONCE) && !unsynced.record_write(2, ONCE));
        let first = unsynced.begin(0..4, true);
        assert_eq!(indices(&first), [0, 1, 2, 3]);
        // Written while it is under way.
        assert!(unsynced.record_write(3, ONCE));
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

    #[test]
    fn what_a_target_lost_between_a_write_and_its_sync_does_not_pass_for_synced() {
        let holds = |syncing: &Syncing, now| syncing.indices.values().all(|noted| noted.holds(now));
        let mut unsynced = Unsynced::default();
        assert!(unsynced.record_write(0, ONCE));
        let syncing = unsynced.begin(0..2, true);
        assert!(holds(&syncing, ONCE) && !holds(&syncing, TWICE));
        unsynced.failed(syncing);
        assert!(unsynced.record_write(0, TWICE), "the first one may be lost, whatever the sync is answered with");
        let syncing = unsynced.begin(0..2, true);
        assert!(!holds(&syncing, ONCE) && !holds(&syncing, TWICE));
        unsynced.done(&syncing);
        unsynced.record_write(0, TWICE);
        assert!(holds(&unsynced.begin(0..2, true), TWICE), "it was told");
    }

    #[test]
    fn a_forgotten_file_is_not_forgotten_to_be_doubtful() {
        let mut first = Unsynced::default();
        first.record_write(0, ONCE);
        let mut again = Unsynced::default();
        again.record_write(0, TWICE);
        again.adopt(Some(first.written()));
        again.adopt(Some(first.written()));
        assert!(!again.noted(0..1)[&0].holds(TWICE));
        again.dealt_with(0);
        assert!(again.noted(0..1)[&0].holds(TWICE));
    }
}
