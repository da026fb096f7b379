// SPDX-License-Identifier: Apache-2.0

//! Names of a directory that are kept under its delegation. Pure.

use super::all_names::{AllOf, Gathering, MAX_UNCERTAIN};
use nyala_wire::InodeId;
use std::collections::{HashMap, HashSet};

/// What is known of a directory's names.
#[derive(Debug, Default)]
pub struct KnownNames {
    /// `None` for one that does not exist.
    entries: HashMap<Vec<u8>, Option<InodeId>>,
    /// Names that this client is changing, or did without hearing what came of it: if they are not in `entries`, nothing is known of them.
    uncertain: HashSet<Vec<u8>>,
    /// Of these names there are no others than `entries`.
    complete: Option<AllOf>,
    /// They are being gathered, so that all are known.
    gathering: Gathering,
}

impl KnownNames {
    /// How many are kept.
    pub fn weight(&self) -> usize {
        self.entries.len()
    }

    fn all_of(&self, has_none: bool) -> Option<AllOf> {
        self.complete.or_else(|| has_none.then_some(AllOf::Directory))
    }

    /// All of the directory are known from now on.
    pub fn are_all(&mut self) {
        self.complete = Some(AllOf::Directory);
    }

    /// What is under a name, if that is known. `has_none`: the directory's attributes say that it has no names.
    pub fn entry(&self, name: &[u8], has_none: bool) -> Option<Option<InodeId>> {
        if let Some(known) = self.entries.get(name) {
            return Some(*known);
        }
        let all = self.all_of(has_none)?;
        (!self.uncertain.contains(name) && all.has(name)).then_some(None)
    }

    /// What is under a name; whether it is one more that is kept.
    pub fn put(&mut self, name: Vec<u8>, is: Option<InodeId>) -> bool {
        self.uncertain.remove(&name);
        self.entries.insert(name, is).is_none()
    }

    /// This client changes what is under a name.
    pub fn forget(&mut self, name: &[u8], has_none: bool) {
        self.entries.remove(name);
        self.gathering.changes(name);
        if let Some(all) = self.all_of(has_none) {
            self.uncertain.insert(name.to_vec());
            self.complete = Some(all).filter(|_| self.uncertain.len() <= MAX_UNCERTAIN);
        }
    }

    /// A server was asked for a name that is not there.
    pub fn missed(&mut self) {
        self.gathering.missed();
    }

    /// Whether to think about asking for all names: after how many that were not there, `first` at least.
    pub fn consider_gathering(&mut self, first: u32, has_none: bool) -> Option<u32> {
        self.gathering.due(first).filter(|_| self.all_of(has_none).is_none())
    }

    /// From now on all names are asked for. No local change of the directory is under way. What to give to [`KnownNames::gathered`].
    pub fn gather(&mut self) -> u64 {
        self.gathering.begin()
    }

    /// These are all names, as servers said since gathering began; the delegation was held all the time. How many names more are kept.
    pub fn gathered(&mut self, ticket: u64, all: AllOf, names: Vec<(Vec<u8>, InodeId)>) -> usize {
        let Some(changed) = self.gathering.end(ticket) else { return 0 };
        let before = self.entries.len();
        for (name, inode) in names {
            if !changed.contains(&name) {
                self.put(name, Some(inode));
            }
        }
        // What became of those is in `entries`, or nobody knows.
        self.uncertain.extend(changed.into_iter().filter(|name| !self.entries.contains_key(name)));
        self.complete = Some(all).filter(|_| self.uncertain.len() <= MAX_UNCERTAIN);
        self.entries.len().saturating_sub(before)
    }
}
