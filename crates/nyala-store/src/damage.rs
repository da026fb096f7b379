// SPDX-License-Identifier: Apache-2.0

//! What an open store has found damaged, whoever came upon it: a reader, a checkpoint, or the comparison of the whole table.
//!
//! # Failure model
//! The first damage stays known until the store is opened again, also if a later look finds the place right: the disk has lied once.

use std::sync::OnceLock;

use crate::StoreError;

/// The first damage that was found.
#[derive(Debug, Default)]
pub(crate) struct Damage(OnceLock<StoreError>);

impl Damage {
    /// An operation failed.
    pub fn note(&self, error: &StoreError) {
        if error.is_damage() {
            // Only the first one counts.
            let _ = self.0.set(error.clone());
        }
    }

    /// What was found first.
    pub fn first(&self) -> Option<StoreError> {
        self.0.get().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(offset: u64) -> StoreError {
        StoreError::TableDamaged { file: "tree".into(), offset, reason: "bad".into() }
    }

    #[test]
    fn the_first_damage_is_remembered_and_other_failures_are_not() {
        let damage = Damage::default();
        let failed = std::io::Error::from_raw_os_error(libc::EMFILE);
        [StoreError::Closed, StoreError::Busy { bytes: 1 }, StoreError::io("open", "tree", failed)]
            .iter()
            .for_each(|error| damage.note(error));
        assert!(damage.first().is_none());
        [table(4096), table(8192)].iter().for_each(|error| damage.note(error));
        assert_eq!(damage.first().map(|error| error.to_string()), Some(table(4096).to_string()));
    }

    #[test]
    fn a_sector_that_the_disk_cannot_read_is_damage_too() {
        let unreadable = std::io::Error::from_raw_os_error(libc::EIO);
        assert!(StoreError::io("read", "tree", unreadable).is_damage());
        assert!(StoreError::LogDamaged { file: "1.seg".into(), offset: 0, reason: "bad".into() }.is_damage());
    }
}
