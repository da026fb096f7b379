// SPDX-License-Identifier: Apache-2.0

//! The files that are open here, whose close is under way, or whose content is kept under a delegation.

mod files;

use crate::file::state::File;
use files::{Entry, Files};
use nyala_wire::InodeId;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Most files that are kept without being open.
const MAX_IDLE: usize = 10_000;

pub(crate) struct Table {
    /// Most bytes of content that is kept of files that nobody uses.
    limit: usize,
    files: Mutex<Files>,
    /// Files with something to look after: data to push, cached segments to drop.
    active: Mutex<HashMap<InodeId, Arc<File>>>,
}

impl Table {
    /// No files; `limit` bounds the content kept of files that nobody uses, bytes.
    pub(crate) fn new(limit: usize) -> Table {
        Table { limit, files: Mutex::default(), active: Mutex::default() }
    }

    /// The file, made if it is not there; to be given back with [`Table::release`].
    pub(crate) fn acquire(&self, inode: InodeId) -> Arc<File> {
        if let Some(known) = self.acquire_known(inode) {
            return known;
        }
        // Made while nobody waits: its memory may have to come from the kernel, which zeroes it first.
        let new = Entry { file: Arc::new(File::new(inode)), users: 0, idle: None };
        let mut files = self.files.lock();
        files.busy(inode);
        let entry = files.entries.entry(inode).or_insert(new);
        entry.users += 1;
        entry.file.clone()
    }

    /// The same if it is there.
    pub(crate) fn acquire_known(&self, inode: InodeId) -> Option<Arc<File>> {
        let mut files = self.files.lock();
        files.busy(inode);
        let entry = files.entries.get_mut(&inode)?;
        entry.users += 1;
        Some(entry.file.clone())
    }

    /// One user of a file less; what is known of it is kept while its delegation is held.
    pub(crate) fn release(&self, file: &Arc<File>) {
        let keep = file.state.lock().worth_keeping();
        self.release_user(file, keep);
    }

    /// One user less. `keep`: after the last one the file is still of use, and takes so many bytes; it goes when others
    /// are of more use, or take more than the limit together.
    fn release_user(&self, file: &Arc<File>, keep: Option<usize>) {
        let mut gone = Vec::new();
        let mut files = self.files.lock();
        let files = &mut *files;
        files.tick += 1;
        let Some(entry) = files.entries.get_mut(&file.inode) else { return };
        entry.users -= 1;
        if entry.users > 0 {
            return;
        }
        let Some(bytes) = keep else { return files.remove(file.inode) };
        entry.idle = Some((files.tick, bytes));
        files.idle.insert(files.tick, file.inode);
        files.idle_bytes += bytes;
        while files.idle.len() > MAX_IDLE || files.idle_bytes > self.limit {
            let Some(oldest) = files.idle.first_key_value().map(|(_, inode)| *inode) else { break };
            gone.extend(files.remove_idle(oldest));
        }
    }

    /// Forgets the file that was idle longest; what it kept is free when this returns.
    pub(crate) fn shed(&self) -> bool {
        let mut files = self.files.lock();
        let oldest = files.idle.first_key_value().map(|(_, inode)| *inode);
        let gone = oldest.and_then(|inode| files.remove_idle(inode));
        drop(files);
        gone.is_some()
    }

    /// Forgets a file if nobody uses it.
    pub(crate) fn drop_idle(&self, inode: InodeId) {
        let gone = self.files.lock().remove_idle(inode);
        drop(gone);
    }

    /// Whether somebody uses the file.
    pub(crate) fn is_used(&self, inode: InodeId) -> bool {
        self.files.lock().entries.get(&inode).is_some_and(|entry| entry.users > 0)
    }

    /// Whether any file is in use.
    pub(crate) fn any_used(&self) -> bool {
        let files = self.files.lock();
        files.entries.len() > files.idle.len()
    }

    /// The file if it is known here.
    pub(crate) fn get(&self, inode: InodeId) -> Option<Arc<File>> {
        self.files.lock().entries.get(&inode).map(|entry| entry.file.clone())
    }

    /// Before asking about a file: it, if it is known here, and what [`Table::evicted_since`] wants to know.
    pub(crate) fn note(&self, inode: Option<InodeId>) -> (Option<Arc<File>>, u64) {
        let files = self.files.lock();
        let known = inode.and_then(|inode| files.entries.get(&inode));
        (known.map(|entry| entry.file.clone()), files.evictions.note())
    }

    /// Whether the file was known here after the note, and is forgotten since.
    pub(crate) fn evicted_since(&self, inode: InodeId, note: u64) -> bool {
        self.files.lock().evictions.evicted_since(inode, note)
    }

    pub(crate) fn all(&self) -> Vec<Arc<File>> {
        self.files.lock().entries.values().map(|entry| entry.file.clone()).collect()
    }

    pub(crate) fn name_of(&self, inode: InodeId) -> Option<String> {
        self.get(inode)?.state.lock().name().cloned()
    }

    /// The file needs looking after; `FileState::activate` said that this is new.
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
