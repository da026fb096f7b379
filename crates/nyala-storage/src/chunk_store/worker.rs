// SPDX-License-Identifier: Apache-2.0

//! One worker's state: its open files, which of them have unsynced changes, which were removed.
//!
//! A worker has its chunk files to itself; nothing here is locked. See the module's failure model for the order of
//! things that [`ChunkWorker::begin`] keeps.

use super::changes::Changes;
use super::disk::ChunkFile;
use super::error::ChunkError;
use super::repeats::Repeats;
use super::rows::{file_key, group_key, tag};
use super::shared::Shared;
use nyala_store::{Batch, Lsn, StoreError};
use nyala_wire::storage::ChunkFileId;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// Open files of one worker, at most; fewer where the system allows few.
const MAX_OPEN_FILES: usize = 1024;

/// Does what is asked to the chunk files that are its own.
pub struct ChunkWorker {
    pub(super) shared: Arc<Shared>,
    pub(super) dirty: HashMap<ChunkFileId, Dirty>,
    pub(super) dead: HashMap<ChunkFileId, u64>,
    /// In the order in which they were removed, with `up_s` at that time.
    pub(super) dead_order: VecDeque<(ChunkFileId, u64)>,
    /// How long the process has run, seconds, as it was last told.
    pub(super) up_s: u64,
    /// Files with an intent that could not be resolved yet.
    pub(super) unresolved: HashSet<ChunkFileId>,
    /// Made since it was last begun to change: its name may not be durable.
    pub(super) made: HashSet<ChunkFileId>,
    pub(super) changes: Arc<Changes>,
    /// What clients may send again.
    pub(super) repeats: Repeats,
    pub(super) scratch: Vec<u8>,
    files: HashMap<ChunkFileId, Cached>,
    most_open: usize,
    uses: u64,
}

/// An open file, and whether it was made just now.
pub(super) type OpenFile = (Arc<dyn ChunkFile>, bool);

struct Cached {
    file: Arc<dyn ChunkFile>,
    used: u64,
}

/// A file with the flag of unsynced changes.
#[derive(Debug)]
pub(super) struct Dirty {
    /// Where in the log the flag is.
    pub flag: Lsn,
    /// No block had a checksum when the flag was set.
    pub fresh: bool,
    /// The names that lead to the file may not be durable.
    pub names: bool,
    /// Grows with every change.
    pub generation: u64,
    /// The generation that is on disk.
    pub synced: u64,
    /// The generation of the last cut that shortened the file.
    pub cut: u64,
    /// A sync failed.
    pub failed: bool,
    pub last_change: Instant,
}

/// A change that is about to happen.
pub(super) struct Start {
    pub file: ChunkFileId,
    /// Makes the intent's key unique among those of the file.
    pub group: u32,
    /// Empty: none is needed.
    pub intent: Vec<u8>,
    /// The file was made just now.
    pub created: bool,
    /// Blocks that have checksums are changed.
    pub overwrites: bool,
}

impl ChunkWorker {
    pub(super) fn new(
        shared: Arc<Shared>,
        mut dead: Vec<(ChunkFileId, u64)>,
        dirty: Vec<(ChunkFileId, bool)>,
    ) -> ChunkWorker {
        dead.sort_by_key(|(_, at)| *at);
        let flagged = |(file, failed)| {
            let last_change = Instant::now();
            let (fresh, names) = (false, true);
            // An earlier process may have cut it.
            (file, Dirty { flag: Lsn::ZERO, fresh, names, generation: 1, synced: 0, cut: 1, failed, last_change })
        };
        ChunkWorker {
            shared,
            dirty: dirty.into_iter().map(flagged).collect(),
            dead: dead.iter().copied().collect(),
            dead_order: dead.into_iter().map(|(file, _)| (file, 0)).collect(),
            up_s: 0,
            unresolved: HashSet::new(),
            made: HashSet::new(),
            changes: Arc::default(),
            repeats: Repeats::default(),
            scratch: Vec::new(),
            files: HashMap::new(),
            most_open: MAX_OPEN_FILES,
            uses: 0,
        }
    }

    /// Keeps at most so many files open, and at least two; each may take two descriptors.
    pub fn keep_open(&mut self, most: usize) {
        self.most_open = most.clamp(2, MAX_OPEN_FILES);
    }

    /// The open file, if it is one that is kept open.
    pub(super) fn already_open(&mut self, file: ChunkFileId) -> Option<Arc<dyn ChunkFile>> {
        self.uses += 1;
        let cached = self.files.get_mut(&file)?;
        cached.used = self.uses;
        Some(cached.file.clone())
    }

    /// The open file; `None` if there is none and none is to be made. The flag says that it was made now.
    pub(super) fn open(&mut self, file: ChunkFileId, create: bool) -> Result<Option<OpenFile>, ChunkError> {
        self.uses += 1;
        if let Some(cached) = self.files.get_mut(&file) {
            cached.used = self.uses;
            return Ok(Some((cached.file.clone(), false)));
        }
        let mut opened = self.shared.disk.open(file, create);
        if opened.as_ref().is_err_and(|e| matches!(e.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))) {
            // The system allows fewer open files than we keep.
            self.files.clear();
            opened = self.shared.disk.open(file, create);
        }
        let opened = opened.map_err(|e| self.shared.io_error("open", file, e))?;
        let Some(opened) = opened else { return Ok(None) };
        if self.files.len() >= self.most_open {
            let keep_from = self.uses.saturating_sub(self.most_open as u64 / 2);
            self.files.retain(|_, cached| cached.used >= keep_from);
        }
        if opened.created {
            self.made.insert(file);
        }
        self.files.insert(file, Cached { file: opened.file.clone(), used: self.uses });
        Ok(Some((opened.file, opened.created)))
    }

    pub(super) fn forget(&mut self, file: ChunkFileId) {
        self.changes.count(file);
        self.files.remove(&file);
        self.dirty.remove(&file);
        self.made.remove(&file);
        self.unresolved.remove(&file);
    }

    /// Is the chunk file removed?
    pub(super) fn is_dead(&self, file: ChunkFileId) -> bool {
        self.dead.contains_key(&file)
    }

    /// Brings an earlier failed change of the file to an end; nothing else may touch the file before.
    pub(super) fn settle(&mut self, file: ChunkFileId) -> Result<(), ChunkError> {
        if self.unresolved.contains(&file) {
            self.changes.count(file);
            self.shared.resolve_file(file)?;
            self.unresolved.remove(&file);
        }
        Ok(())
    }

    /// Step (A): intents and flags into the log, as far down as the changes need. The intents are of different groups.
    pub(super) fn begin(&mut self, starts: &[Start]) -> Result<(), StoreError> {
        self.shared.kv.wait_room();
        let mut batch = Batch::with_capacity(64 + starts.iter().map(|s| s.intent.len() + 64).sum::<usize>());
        let mut flagged = Vec::new();
        let now = Instant::now();
        for start in starts {
            self.changes.count(start.file);
            if let std::collections::hash_map::Entry::Vacant(e) = self.dirty.entry(start.file) {
                batch.put(file_key(tag::UNSYNCED, start.file), []);
                let fresh = start.created && !start.overwrites;
                let (flag, names, failed) = (Lsn(u64::MAX), false, false);
                let dirty = Dirty { flag, fresh, names, generation: 0, synced: 0, cut: 0, failed, last_change: now };
                e.insert(dirty);
                flagged.push(start.file);
            }
            if !start.intent.is_empty() {
                batch.put(group_key(tag::INTENT, start.file, start.group), &start.intent);
            }
        }
        let applied = self.shared.kv.apply(&batch);
        if applied.is_err() {
            for file in &flagged {
                self.dirty.remove(file);
            }
        }
        let lsn = applied?;
        let durable = self.shared.kv.durable();
        let mut to_disk = false;
        for start in starts {
            if let Some(dirty) = self.dirty.get_mut(&start.file) {
                dirty.flag = dirty.flag.min(lsn);
                dirty.names |= self.made.remove(&start.file);
                dirty.generation += 1;
                dirty.last_change = now;
                to_disk |= start.overwrites && !dirty.fresh && dirty.flag > durable;
            }
        }
        if to_disk { self.shared.kv.sync() } else { self.shared.kv.flush().map(drop) }
    }

    /// Step (C). If it fails, the intents stay, and the files wait for [`Self::settle`].
    pub(super) fn commit(&mut self, batch: &Batch, files: &[ChunkFileId]) -> Result<Lsn, StoreError> {
        let applied = self.shared.kv.apply(batch);
        if applied.is_err() {
            self.unresolved.extend(files);
        }
        applied
    }
}
