// SPDX-License-Identifier: Apache-2.0

//! Removal of chunk files: first a durable record, then, in the background, the content.
//!
//! **Failure model.** The record says "dead, content there" until file and checksums are gone, then "dead, gone". A crash
//! at any point leaves a record from which removal goes on. A record is kept for an hour, so that writes that were
//! delayed somewhere cannot bring the file back: an hour in which this process runs, since the time of day may be set and what a
//! clock did before a start is not known. After a crash of the machine, which can undo a removal, every recorded
//! file is removed once more. Under very many removals records go earlier, but never before a minute.

use super::counters::Count;
use super::error::ChunkError;
use super::recover::ROWS_PER_BATCH;
use super::rows::{Dead, file_key, group_key, tag};
use super::shared::{ChunkStore, Shared, file_name};
use super::table::scan_prefix;
use super::worker::ChunkWorker;
use nyala_store::{Batch, Lsn};
use nyala_wire::storage::ChunkFileId;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Records are kept so long, seconds.
const KEEP_S: u64 = 3600;
/// Beyond so many records of one worker they are kept only [`KEEP_AT_LEAST_S`].
const MANY: usize = 65_536;
const KEEP_AT_LEAST_S: u64 = 60;

/// Removes the content of dead chunk files; on any thread.
#[derive(Clone)]
pub struct Remover {
    shared: Arc<Shared>,
}

impl ChunkWorker {
    /// Declares a chunk file dead. Answer when the log is durable up to the position; only then remove it.
    pub fn unlink(&mut self, file: ChunkFileId, now_s: u64) -> Result<Lsn, ChunkError> {
        if !self.is_dead(file) {
            let dead = Dead { gone: false, unlinked_at_s: now_s };
            self.shared.kv.apply(Batch::new().put(file_key(tag::DEAD, file), dead.encode()))?;
            self.dead.insert(file, now_s);
            self.dead_order.push_back((file, self.up_s));
        }
        self.forget(file);
        self.shared.counters.add(Count::Others, 1);
        Ok(self.shared.kv.flush()?)
    }

    /// Forgets records that are old enough. `up_s`: how long this process has run, seconds, by a clock that nobody sets.
    pub fn expire_dead(&mut self, up_s: u64) -> Result<(), ChunkError> {
        self.up_s = up_s;
        let mut batch = Batch::new();
        while let Some((file, at)) = self.dead_order.front().copied() {
            let age_s = up_s.saturating_sub(at);
            let old = age_s >= KEEP_S || (self.dead_order.len() > MANY && age_s >= KEEP_AT_LEAST_S);
            if !old || batch.len() >= ROWS_PER_BATCH {
                break;
            }
            let key = file_key(tag::DEAD, file);
            let record = self.shared.kv.get(&key)?;
            if record.as_deref().and_then(Dead::decode).is_some_and(|dead| !dead.gone) {
                break;
            }
            batch.delete(key);
            self.dead.remove(&file);
            self.dead_order.pop_front();
        }
        if !batch.is_empty() {
            self.shared.kv.apply(&batch)?;
        }
        Ok(())
    }
}

impl ChunkStore {
    /// What removes content in the background.
    pub fn remover(&self) -> Remover {
        Remover { shared: self.shared.clone() }
    }

    /// Removals to be done (again) after opening.
    pub fn removals(&self) -> Vec<ChunkFileId> {
        let again = |dead: &Dead| !dead.gone || self.report.machine_crash;
        self.dead.iter().filter(|(_, dead)| again(dead)).map(|(file, _)| *file).collect()
    }
}

impl Remover {
    pub(super) fn new(shared: Arc<Shared>) -> Remover {
        Remover { shared }
    }

    /// Removes the content of a dead chunk file. If it fails, the record stays and it can be tried again.
    pub fn remove(&self, file: ChunkFileId) -> Result<(), ChunkError> {
        let shared = &self.shared;
        let key = file_key(tag::DEAD, file);
        let Some(record) = shared.kv.get(&key)? else { return Ok(()) };
        let dead = Dead::decode(&record).ok_or_else(|| shared.bad_record(file))?;
        shared.disk.remove(file).map_err(|e| shared.io_error("remove", file, e))?;
        let mut batch = Batch::new();
        for tag in [tag::INTENT, tag::BAD_BLOCKS, tag::DAMAGED] {
            scan_prefix(&*shared.kv, &file_key(tag, file), &mut |key, _| {
                batch.delete(key);
                ControlFlow::Continue(())
            })?;
        }
        batch.delete(file_key(tag::UNSYNCED, file));
        loop {
            let rows = shared.rows_from(file, 0, u32::MAX)?;
            for (group, row) in &rows {
                batch.delete(group_key(tag::CHECKSUMS, file, *group));
                shared.account(row.count(), 0);
            }
            if rows.len() < ROWS_PER_BATCH {
                break;
            }
            shared.kv.wait_room();
            shared.kv.apply(&batch)?;
            batch.clear();
        }
        batch.put(key, Dead { gone: true, ..dead }.encode());
        shared.kv.apply(&batch)?;
        shared.counters.add(Count::Removed, 1);
        tracing::debug!(target_id = %shared.label, file = %file_name(file), "chunk file removed");
        Ok(())
    }
}
