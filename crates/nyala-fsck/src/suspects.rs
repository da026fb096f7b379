// SPDX-License-Identifier: Apache-2.0

//! What looks wrong, until it is looked at again.
//!
//! Servers were asked at different moments while clients worked, so a first pass finds what is not there: a name that moved from a
//! directory that was not read yet to one that was. A suspicion is a finding when a later pass finds the same, and what it rests upon
//! has not changed in between (`crate::finding::Rests`): an inode's ctime changes with every name that it gets or loses. Inode
//! numbers are never used again, so what is missing stays missing.

use crate::finding::{Finding, Subject};
use crate::looked::Looked;
use nyala_wire::InodeId;
use std::collections::{BTreeMap, BTreeSet};

type Key = (&'static str, Subject);

/// Suspicions, and what was confirmed.
#[derive(Debug, Default)]
pub struct Suspects {
    open: BTreeMap<Key, Finding>,
    confirmed: BTreeMap<Key, Finding>,
}

impl Suspects {
    /// Those of a first pass. What a pass can be sure of by itself is confirmed at once.
    pub fn of(looked: &[Finding]) -> Suspects {
        let mut suspects = Suspects::default();
        for finding in looked {
            let sure = crate::classes::of(finding.class).is_some_and(|class| class.is_sure());
            let list = if sure { &mut suspects.confirmed } else { &mut suspects.open };
            list.insert((finding.class, finding.subject), finding.clone());
        }
        suspects
    }

    /// Inodes to look at again.
    pub fn inodes(&self) -> BTreeSet<InodeId> {
        self.open.values().flat_map(|finding| finding.involves.iter().copied()).collect()
    }

    /// Whether there is anything to look at again.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Takes in a later pass over [`Suspects::inodes`]. What only this one finds has just begun: the next check sees whether it lasts.
    pub fn again(&mut self, looked: &Looked) {
        let mut still = BTreeMap::new();
        for finding in &looked.findings {
            let key = (finding.class, finding.subject);
            match self.open.get(&key) {
                Some(before) if before.basis == finding.basis => drop(self.confirmed.insert(key, finding.clone())),
                Some(_) => drop(still.insert(key, finding.clone())),
                None => {}
            }
        }
        self.open = still;
    }

    /// What was confirmed, and what changed at every look.
    pub fn end(self) -> (Vec<Finding>, Vec<Finding>) {
        (self.confirmed.into_values().collect(), self.open.into_values().collect())
    }
}
