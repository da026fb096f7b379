// SPDX-License-Identifier: Apache-2.0

//! When it pays to know all names of a directory, and how they are gathered while it is in use. Pure.
//!
//! The kernel looks every name up that it is going to make. Where all names are known, no server is asked; of a directory that nobody
//! listed yet that takes a listing. It is asked for once names that are not there were asked for often enough.
//!
//! **Failure model.** Listings may be older or newer than a local change: what is changed while names are gathered is known from the
//! change, or not at all. Others' changes end the delegation, and what was gathered with it.

use nyala_wire::InodeId;
use nyala_wire::fragments::{CookieRange, cookie};
use std::collections::HashSet;

/// So many entries are listed for each time that a name was asked for in vain: a listing that turns out to be of no use then costs about
/// a sixth of what those requests did.
const ENTRIES_PER_MISS: u64 = 32;

/// With more names that are uncertain, a directory's names do not count as all known.
pub const MAX_UNCERTAIN: usize = 1_000;

/// Whether to ask for all names of a directory (or fragment) with `entries` of them.
pub fn pays(misses: u32, entries: u64) -> bool {
    entries <= u64::from(misses) * ENTRIES_PER_MISS
}

/// Names that are all known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllOf {
    /// All of a directory.
    Directory,
    /// Those of a fragment.
    Fragment {
        /// The directory that is split.
        dir: InodeId,
        /// The cookies of its names.
        range: CookieRange,
    },
}

impl AllOf {
    /// Whether a name is one of them.
    pub fn has(&self, name: &[u8]) -> bool {
        match self {
            AllOf::Directory => true,
            AllOf::Fragment { dir, range } => range.has(cookie(*dir, name)),
        }
    }
}

/// Names on their way to be all known.
#[derive(Debug, Default)]
pub struct Gathering {
    misses: u32,
    /// As many misses there were when [`pays`] was last to be asked.
    considered: u32,
    tickets: u64,
    /// Names that were changed here since it began.
    changed: Option<HashSet<Vec<u8>>>,
}

impl Gathering {
    /// A server was asked for a name that is not there.
    pub fn missed(&mut self) {
        self.misses = self.misses.saturating_add(1);
    }

    /// How often that was, if [`pays`] is to be asked now: from `first` times on, and then each time that they are twice as many.
    pub fn due(&mut self, first: u32) -> Option<u32> {
        let is_due = self.misses >= first && self.misses >= self.considered.saturating_mul(2);
        is_due.then(|| {
            self.considered = self.misses;
            self.misses
        })
    }

    /// Begins; one that had begun before comes to nothing.
    pub fn begin(&mut self) -> u64 {
        self.tickets += 1;
        self.changed = Some(HashSet::new());
        self.tickets
    }

    /// A name is being changed here. With too many of them it comes to nothing.
    pub fn changes(&mut self, name: &[u8]) {
        self.changed = self.changed.take().filter(|changed| changed.len() < MAX_UNCERTAIN);
        if let Some(changed) = &mut self.changed {
            changed.insert(name.to_vec());
        }
    }

    /// What was changed meanwhile, unless it came to nothing.
    pub fn end(&mut self, ticket: u64) -> Option<HashSet<Vec<u8>>> {
        self.changed.take_if(|_| ticket == self.tickets)
    }
}
