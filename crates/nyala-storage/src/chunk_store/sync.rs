// SPDX-License-Identifier: Apache-2.0

//! Syncs: of one file on demand, and of files that nobody wrote to for a while, to take their flags away.
//!
//! **Failure model.** See the parent module. A sync runs on another thread while the worker goes on: it counts only for
//! the changes that were made before it began. The flag stays until the file was idle, since setting it again costs a
//! trip to the disk. A failed sync may have lost data for good, although the next one would succeed, also one by the next process, since
//! the kernel takes the pages for clean: it is remembered, with the flag. The next start writes such a file's blocks anew from
//! what matches its checksums, syncs them, and only then forgets it ([`super::recover`]). A sync needs no descriptor that
//! it may not get: without one the whole file system is synced.

use super::counters::Count;
use super::disk::ChunkFile;
use super::error::ChunkError;
use super::rows::{SYNC_FAILED, file_key, tag};
use super::shared::{Shared, file_name};
use super::worker::ChunkWorker;
use nyala_store::{Batch, Lsn};
use nyala_wire::storage::ChunkFileId;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// From so many files on, a background sync is one of the whole file system.
const WHOLE_FROM: usize = 16;

/// A sync to be done on any thread, and then to be handed back to [`ChunkWorker::end_sync`].
pub struct SyncJob {
    pub(super) files: Vec<Item>,
    pub(super) whole: bool,
    pub(super) unflag: bool,
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Item {
    file: ChunkFileId,
    /// `None`: the system had no descriptor for it; the whole file system is synced instead.
    handle: Option<Arc<dyn ChunkFile>>,
    names: bool,
    generation: u64,
    result: io::Result<()>,
}

impl SyncJob {
    /// Does the blocking part.
    pub fn run(&mut self) {
        self.shared.counters.add(Count::Syncs, self.files.len() as u64);
        let (shared, began) = (self.shared.clone(), Instant::now());
        let running = shared.recent.syncs.begin(began);
        self.sync();
        running.end(Instant::now(), if self.whole { 1 } else { self.files.len() as u64 });
        shared.sync_times.add(u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX));
    }

    fn sync(&mut self) {
        if self.whole || self.files.iter().any(|item| item.handle.is_none()) {
            if let Err(error) = self.shared.disk.sync_all() {
                let again = || io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EIO));
                self.files.iter_mut().for_each(|item| item.result = Err(again()));
            }
            return;
        }
        for item in &mut self.files {
            item.result = item.handle.as_ref().map_or(Ok(()), |handle| handle.sync_data());
            if item.result.is_ok() && item.names {
                item.result = self.shared.disk.sync_dirs(item.file);
            }
        }
    }
}

impl ChunkWorker {
    /// What has to be done so that all changes of the file so far are on disk; `None` if they are.
    pub fn begin_sync(&mut self, file: ChunkFileId) -> Result<Option<SyncJob>, ChunkError> {
        if self.is_dead(file) {
            return Ok(None);
        }
        self.settle(file)?;
        let Some(dirty) = self.dirty.get(&file) else { return Ok(None) };
        if dirty.failed {
            return Err(failed(file, None));
        }
        if dirty.synced == dirty.generation {
            return Ok(None);
        }
        let files = self.item(file)?.into_iter().collect();
        Ok(Some(SyncJob { files, whole: false, unflag: false, shared: self.shared.clone() }))
    }

    pub(super) fn item(&mut self, file: ChunkFileId) -> Result<Option<Item>, ChunkError> {
        let handle = match self.open(file, false) {
            Ok(None) => return Ok(None),
            Ok(Some((handle, _))) => Some(handle),
            Err(error) if error.is_out_of_descriptors() => None,
            Err(error) => return Err(error),
        };
        let found = self.dirty.get(&file);
        Ok(found.map(|d| Item { file, handle, names: d.names, generation: d.generation, result: Ok(()) }))
    }

    /// What has to be done so that files without changes since `idle` ago lose their flags; at most `limit` files.
    pub fn begin_idle_sync(&mut self, now: Instant, idle: Duration, limit: usize) -> Option<SyncJob> {
        let is_idle = |d: &super::worker::Dirty| !d.failed && now.saturating_duration_since(d.last_change) >= idle;
        let ready = self.dirty.iter().filter(|(_, dirty)| is_idle(dirty));
        let ready: Vec<ChunkFileId> = ready.map(|(file, _)| *file).take(limit).collect();
        let ready: Vec<ChunkFileId> = ready.into_iter().filter(|file| !self.unresolved.contains(file)).collect();
        let mut files = Vec::with_capacity(ready.len());
        for file in ready {
            match self.item(file) {
                Ok(Some(item)) => files.push(item),
                // The file is gone from outside: there is nothing left to sync, and reads will tell.
                Ok(None) => {
                    self.dirty.remove(&file);
                }
                Err(_) => {}
            }
        }
        let whole = files.len() >= WHOLE_FROM;
        (!files.is_empty()).then(|| SyncJob { files, whole, unflag: true, shared: self.shared.clone() })
    }

    /// Takes the result of a sync in. The sync is worth something to others once the log is durable up to the position.
    pub fn end_sync(&mut self, job: SyncJob) -> Result<Lsn, ChunkError> {
        let mut batch = Batch::new();
        let mut first_error = None;
        for item in job.files {
            let Some(dirty) = self.dirty.get_mut(&item.file) else { continue };
            if let Err(error) = item.result {
                dirty.failed = true;
                batch.put(file_key(tag::UNSYNCED, item.file), SYNC_FAILED);
                self.shared.counters.add(Count::SyncErrors, 1);
                self.shared.errors.failed(&*self.shared.kv, item.file, &error);
                tracing::error!(target_id = %self.shared.label, file = %file_name(item.file), %error,
                    "sync failed: unsynced data of this chunk file may be lost; check the disk");
                first_error.get_or_insert_with(|| failed(item.file, Some(error)));
                continue;
            }
            dirty.synced = dirty.synced.max(item.generation);
            dirty.names &= !item.names;
            if job.unflag && dirty.generation == item.generation {
                batch.delete(file_key(tag::UNSYNCED, item.file));
                self.dirty.remove(&item.file);
            }
        }
        if !batch.is_empty() {
            self.shared.kv.apply(&batch)?;
        }
        match first_error {
            // In the kernel's hands: that is all that the next process needs, and a machine that starts anew compares all.
            Some(error) => self.shared.kv.flush().map_err(ChunkError::from).and(Err(error)),
            None => Ok(self.shared.kv.flush()?),
        }
    }

    /// Everything that the file has is on disk when this returns: for callers that may block.
    pub fn sync(&mut self, file: ChunkFileId) -> Result<(), ChunkError> {
        if let Some(mut job) = self.begin_sync(file)? {
            job.run();
            self.end_sync(job)?;
        }
        Ok(self.shared.kv.sync()?)
    }

    /// Number of files with unsynced changes.
    pub fn unsynced(&self) -> usize {
        self.dirty.len()
    }
}

fn failed(file: ChunkFileId, cause: Option<io::Error>) -> ChunkError {
    let cause = cause.unwrap_or_else(|| io::Error::other("an earlier sync of this chunk file failed"));
    ChunkError::Io { operation: "sync", file, cause }
}
