// SPDX-License-Identifier: Apache-2.0

//! The files that are open here, or whose close is under way.

use crate::file::File;
use nyala_wire::InodeId;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct Table {
    files: Mutex<HashMap<InodeId, Entry>>,
    /// Files with something to look after: data to push, cached segments to drop.
    active: Mutex<HashMap<InodeId, Arc<File>>>,
}

struct Entry {
    file: Arc<File>,
    users: usize,
}

impl Table {
    /// The file, made if it is not there; to be given back with [`Table::release`].
    pub(crate) fn acquire(&self, inode: InodeId) -> Arc<File> {
        let mut files = self.files.lock();
        let entry = files.entry(inode).or_insert_with(|| Entry { file: Arc::new(File::new(inode)), users: 0 });
        entry.users += 1;
        entry.file.clone()
    }

    pub(crate) fn release(&self, file: &File) {
        let mut files = self.files.lock();
        if let Some(entry) = files.get_mut(&file.inode) {
            entry.users -= 1;
            if entry.users == 0 {
                files.remove(&file.inode);
            }
        }
    }

    /// The file if it is open here.
    pub(crate) fn get(&self, inode: InodeId) -> Option<Arc<File>> {
        self.files.lock().get(&inode).map(|entry| entry.file.clone())
    }

    pub(crate) fn all(&self) -> Vec<Arc<File>> {
        self.files.lock().values().map(|entry| entry.file.clone()).collect()
    }

    pub(crate) fn name_of(&self, inode: InodeId) -> Option<String> {
        self.get(inode)?.state.lock().name.clone()
    }

    /// The file needs looking after; its state's `active` is set by the caller.
    pub(crate) fn activate(&self, file: &Arc<File>) {
        self.active.lock().insert(file.inode, file.clone());
    }

    pub(crate) fn deactivate(&self, file: &File) {
        self.active.lock().remove(&file.inode);
    }

    pub(crate) fn active(&self) -> Vec<Arc<File>> {
        self.active.lock().values().cloned().collect()
    }
}
