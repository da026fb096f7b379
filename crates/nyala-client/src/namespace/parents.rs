// SPDX-License-Identifier: Apache-2.0

//! Under which name each directory was seen last, so that whoever lists it need not ask for the directory above (`..`).
//!
//! **Failure model.** What is noted here is a hint and may be old: others move directories. It is believed only while the name is known to
//! stand for the directory under the delegation of the one above, and a directory has one name.

use nyala_wire::meta::Listing;
use nyala_wire::{Attr, FileKind, InodeId};
use parking_lot::Mutex;
use std::collections::HashMap;

/// Most directories that are remembered; with more all are forgotten, and asked for again.
const MOST: usize = 16 << 10;

/// The directory above, and the name there.
type ParentEntry = (InodeId, Box<[u8]>);

/// By inode of the directory.
#[derive(Default)]
pub(crate) struct Parents(Mutex<HashMap<InodeId, ParentEntry>>);

impl Parents {
    /// This is what was found under a name, or made.
    pub(crate) fn found(&self, attr: &Attr, above: InodeId, name: &[u8]) {
        if attr.kind == FileKind::Directory {
            self.seen(attr.inode, above, name);
        }
    }

    /// A part of a listing.
    pub(crate) fn listed(&self, part: &Listing, above: InodeId) {
        for entry in part.entries.iter().filter(|entry| entry.kind == FileKind::Directory) {
            self.seen(entry.inode, above, entry.name.as_bytes());
        }
    }

    fn seen(&self, dir: InodeId, above: InodeId, name: &[u8]) {
        let mut parents = self.0.lock();
        if parents.get(&dir).is_some_and(|(known, under)| *known == above && **under == *name) {
            return;
        }
        if parents.len() >= MOST {
            parents.clear();
        }
        parents.insert(dir, (above, name.into()));
    }

    /// The directory above one, if `stands_for` says of it and a name that this is the one that stands there.
    pub(crate) fn of(
        &self,
        dir: InodeId,
        stands_for: impl FnOnce(InodeId, &[u8]) -> Option<InodeId>,
    ) -> Option<InodeId> {
        let (above, name) = self.0.lock().get(&dir).cloned()?;
        (stands_for(above, &name) == Some(dir)).then_some(above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_believed_while_the_name_is_known() {
        let (parents, dir, above) = (Parents::default(), InodeId(7), InodeId(5));
        assert_eq!(parents.of(dir, |_, _| panic!("nothing is noted")), None);
        parents.seen(dir, InodeId(4), b"old");
        parents.seen(dir, above, b"name");
        let known = |dir| move |at: InodeId, name: &[u8]| (at == above && name == b"name").then_some(dir);
        assert_eq!(parents.of(dir, known(dir)), Some(above));
        assert_eq!(parents.of(dir, known(InodeId(8))), None, "another one has the name now");
        assert_eq!(parents.of(dir, |_, _| None), None, "it is not known what the name stands for");
        (0..MOST as u64).for_each(|other| parents.seen(InodeId(100 + other), above, b"x"));
        assert!(parents.0.lock().len() <= MOST && parents.of(dir, known(dir)).is_none());
    }
}
