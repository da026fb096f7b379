// SPDX-License-Identifier: Apache-2.0

//! Inline content on its way to storage. Pure.

use crate::writeback::logic::ranges::RangeSet;
use std::ops::Range;

/// Whether a migration can still be committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outlook {
    Good,
    /// A part of the content could not be written to storage: it stays where it is.
    Failed,
}

/// Inline content on its way to storage: the server forgets its copy with the next commit.
pub(crate) struct InlineMigration {
    version: u64,
    base_len: u64,
    /// Written by this client since, or before and not part of the base.
    own: RangeSet,
    outlook: Outlook,
}

impl InlineMigration {
    /// Content of this version and length moves, beneath what this client wrote (`own`).
    pub(crate) fn new(version: u64, base_len: u64, own: RangeSet) -> InlineMigration {
        InlineMigration { version, base_len, own, outlook: Outlook::Good }
    }

    /// Which version of the content it moves.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// How many bytes of content it moves.
    pub(crate) fn base_len(&self) -> u64 {
        self.base_len
    }

    pub(crate) fn own(&self) -> &RangeSet {
        &self.own
    }

    /// This client wrote a range.
    pub(crate) fn note_write(&mut self, range: Range<u64>) {
        self.own.insert(range);
    }

    /// Only these are this client's: the rest is to be laid under them anew.
    pub(crate) fn set_own(&mut self, own: RangeSet) {
        self.own = own;
    }

    /// What lies beneath this client's own bytes is newer content from now on.
    pub(crate) fn rebase(&mut self, version: u64, base_len: u64) {
        (self.version, self.base_len) = (version, base_len);
    }

    /// A write that began at `start` failed.
    pub(crate) fn note_failed(&mut self, start: u64) {
        if start < self.base_len {
            self.outlook = Outlook::Failed;
        }
    }

    pub(crate) fn is_failed(&self) -> bool {
        self.outlook == Outlook::Failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_inline_can_fail_a_migration() {
        let mut migration = InlineMigration::new(3, 4, RangeSet::default());
        migration.note_failed(4);
        assert!(!migration.is_failed(), "behind the content");
        migration.note_failed(3);
        assert!(migration.is_failed());
        migration.rebase(4, 2);
        assert!(migration.is_failed() && (migration.version(), migration.base_len()) == (4, 2));
    }
}
