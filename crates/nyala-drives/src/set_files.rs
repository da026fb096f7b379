// SPDX-License-Identifier: Apache-2.0

//! Files of a store (its log and its table) that lie on a set: what the set outlives they outlive, and what heals it heals them.
//!
//! **Failure model.** That of the set for content. What is durable and when is what a directory of a file system gives: names after a sync of the directory or of any file, content and
//! length after a sync of the file. Content of a removed file is given back only when its name is gone for good; a death in between leaves its number
//! on the list, and the next opening goes on. Space is not reserved: a set can be full where a file was allocated.

use crate::directory::{self, Entry, Listing, object};
use crate::error::SetError;
use crate::set::DriveSet;
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;

pub(crate) fn failed(error: SetError) -> io::Error {
    io::Error::other(error)
}

/// All files of a set.
pub struct SetFiles {
    set: Arc<DriveSet>,
    list: Mutex<Names>,
}

struct Names {
    list: Listing,
    /// The list was written since the last sync began.
    written: bool,
}

impl SetFiles {
    /// Those of a set. `new` makes the list of a set that has none yet.
    pub fn open(set: Arc<DriveSet>, new: bool) -> Result<Arc<SetFiles>, SetError> {
        let list = directory::load(&set, new)?;
        let files = SetFiles { set, list: Mutex::new(Names { list, written: true }) };
        // The number of a file whose name a power cut took may have content.
        let skipped = files.change(|list| {
            list.removed.push(list.next_object);
            list.next_object += 1;
            Ok(())
        });
        skipped.and_then(|()| files.sync()).map_err(SetError::Files)?;
        Ok(Arc::new(files))
    }

    /// The set.
    pub(crate) fn set(&self) -> &DriveSet {
        &self.set
    }

    /// Names that begin with `prefix`, without it.
    pub(crate) fn names(&self, prefix: &str) -> Vec<String> {
        let names = self.list.lock();
        names.list.files.keys().filter_map(|name| name.strip_prefix(prefix)).map(str::to_owned).collect()
    }

    /// What the list has of a name.
    pub(crate) fn entry(&self, name: &str) -> Option<Entry> {
        self.list.lock().list.files.get(name).copied()
    }

    /// Length of an open file.
    pub(crate) fn bytes(&self, name: &str, number: u64) -> Option<u64> {
        find(&self.list.lock().list, name, number).map(|(_, bytes)| bytes)
    }

    /// Changes the list.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Listing) -> io::Result<T>) -> io::Result<T> {
        let names = &mut *self.list.lock();
        let mut next = names.list.clone();
        let done = change(&mut next)?;
        if next != names.list {
            // The place that is written over now has the list before the last one.
            if names.written {
                self.set.sync().map_err(failed)?;
            }
            next.generation += 1;
            directory::store(&self.set, &next).map_err(failed)?;
            *names = Names { list: next, written: true };
        }
        Ok(done)
    }

    /// Makes names and content durable, and gives back what removed files had.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let (generation, removed) = {
            let names = self.list.lock();
            (names.list.generation, names.list.removed.clone())
        };
        self.set.sync().map_err(failed)?;
        {
            let names = &mut *self.list.lock();
            names.written &= names.list.generation != generation;
        }
        if removed.is_empty() {
            return Ok(());
        }
        for number in &removed {
            self.set.discard(object(*number), 0..u64::MAX).map_err(failed)?;
        }
        self.change(|list| {
            list.removed.retain(|number| !removed.contains(number));
            Ok(())
        })
    }
}

/// Name and length of an open file: one that was renamed keeps its object, and one that was removed is no longer on the list.
pub(crate) fn find(list: &Listing, name: &str, number: u64) -> Option<(String, u64)> {
    let found = list.files.get_key_value(name).filter(|(_, entry)| entry.object == number);
    let found = found.or_else(|| list.files.iter().find(|(_, entry)| entry.object == number));
    found.map(|(name, entry)| (name.clone(), entry.bytes))
}
