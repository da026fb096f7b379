// SPDX-License-Identifier: Apache-2.0

//! Which files of a drive were written since its last sync: where they are few, only they are synced, and not what others write to the file system.

use nyala_raid::ObjectId;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

/// Up to so many files are synced one by one; of more, the whole file system is.
const FEW: usize = 16;

type Files = HashMap<ObjectId, Arc<File>>;

/// What the next sync has to see to. A change is noted when it is done: a sync that comes in between does not have to have it, and the next one does.
#[derive(Default)]
pub(crate) struct Unsynced(Mutex<Changes>);

#[derive(Default)]
struct Changes {
    /// None before the first sync: what an earlier process wrote is not known.
    files: Option<Files>,
    names: bool,
}

impl Unsynced {
    /// A file was written, or tried to be.
    pub fn changed(&self, object: ObjectId, file: &Arc<File>) {
        if let Some(files) = &mut self.0.lock().files {
            files.insert(object, file.clone());
        }
    }

    /// A file was removed.
    pub fn removed(&self, object: ObjectId) {
        let mut changes = self.0.lock();
        changes.names = true;
        changes.files.iter_mut().for_each(|files| drop(files.remove(&object)));
    }

    /// A file was made.
    pub fn names_changed(&self) {
        self.0.lock().names = true;
    }

    /// The files that are to be synced now; none: everything.
    pub fn take(&self) -> Option<Files> {
        let fresh = Changes { files: Some(HashMap::new()), names: false };
        let Changes { files, names } = std::mem::replace(&mut *self.0.lock(), fresh);
        files.filter(|files| !names && files.len() <= FEW)
    }
}
