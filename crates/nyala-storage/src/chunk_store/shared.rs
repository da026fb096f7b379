// SPDX-License-Identifier: Apache-2.0

//! What all workers of a target share: the key-value store, the file system, counters and the count of used bytes.

use super::MAX_CHUNK_FILE_BYTES;
use super::counters::{ChunkCounters, Count};
use super::damage::{List, is_on, note};
use super::data_count::DataCount;
use super::disk::{ChunkDisk, ChunkFile};
use super::disk_errors::DiskErrors;
use super::error::ChunkError;
use super::fence::Fences;
pub(super) use super::rows::group_of;
use super::rows::{Dead, Row, group_key, tag};
use super::table::Table;
use super::worker::ChunkWorker;
use nyala_metrics::{Histogram, Recent};
use nyala_store::{Batch, Lsn};
use nyala_transport::buffers::Buffers;
use nyala_wire::checksum::crc32c;
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId};
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// Most bytes of read buffers that a target keeps for later.
const KEPT_BYTES: usize = 64 << 20;

/// How a chunk store is opened.
#[derive(Debug, Clone, Default)]
pub struct ChunkStoreOptions {
    /// Names the target in log lines.
    pub label: String,
    /// Identity of the running kernel and of the mount: changes when what was not synced may be gone.
    pub boot_id: String,
    /// Most bytes of data that the target takes.
    pub limit_bytes: Option<u64>,
}

/// What opening found and did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Unfinished changes that were resolved.
    pub intents: u64,
    /// Blocks torn in unacknowledged writes.
    pub torn_blocks: u64,
    /// The machine started anew since the last time.
    pub machine_crash: bool,
    /// Files with unsynced changes; checked block by block after a crash of the machine.
    pub unsynced_files: u64,
    /// Blocks of those that got a new checksum.
    pub rechecked_blocks: u64,
    /// Removed files whose content is still to be removed.
    pub queued_removals: u64,
}

/// The chunk files of one target.
pub struct ChunkStore {
    pub(super) shared: Arc<Shared>,
    pub(super) dead: Vec<(ChunkFileId, Dead)>,
    /// And whether a sync of it has failed.
    pub(super) unsynced: Mutex<Vec<(ChunkFileId, bool)>>,
    pub(super) report: RecoveryReport,
}

/// How long the disk took lately, by what it was asked for.
#[derive(Debug, Default)]
pub struct DiskTimes {
    /// Jobs of worker threads: writes, reads, removals.
    pub jobs: Recent,
    /// Reads by the io_uring of a network thread.
    pub reads: Recent,
    /// Syncs, each of one or several files.
    pub syncs: Recent,
}

pub(super) struct Shared {
    pub kv: Arc<dyn Table>,
    pub disk: Arc<dyn ChunkDisk>,
    pub label: String,
    pub counters: ChunkCounters,
    pub sync_times: Histogram,
    pub recent: DiskTimes,
    pub buffers: Buffers,
    pub fences: Fences,
    pub limit_bytes: Option<u64>,
    pub data: DataCount,
    pub errors: DiskErrors,
    pub losses: AtomicU32,
}

impl Shared {
    pub fn new(kv: Arc<dyn Table>, disk: Arc<dyn ChunkDisk>, options: &ChunkStoreOptions) -> Shared {
        Shared {
            kv,
            disk,
            label: options.label.clone(),
            counters: ChunkCounters::default(),
            sync_times: Histogram::default(),
            recent: DiskTimes::default(),
            buffers: Buffers::new(KEPT_BYTES),
            fences: Fences::default(),
            limit_bytes: options.limit_bytes,
            data: DataCount::default(),
            errors: DiskErrors::default(),
            losses: AtomicU32::new(0),
        }
    }

    pub fn row(&self, file: ChunkFileId, group: u32) -> Result<Row, ChunkError> {
        match self.kv.get(&group_key(tag::CHECKSUMS, file, group))? {
            None => Ok(Row::EMPTY),
            Some(value) => Row::decode(&value).ok_or_else(|| self.bad_record(file)),
        }
    }

    pub fn bad_record(&self, file: ChunkFileId) -> ChunkError {
        self.counters.add(Count::ChecksumErrors, 1);
        tracing::error!(target_id = %self.label, file = %file_name(file), "a record about the chunk file cannot be decoded");
        ChunkError::BadRecord(file)
    }

    /// A block does not match: counts, logs and makes the error.
    pub fn checksum_error(&self, file: ChunkFileId, block: u64) -> ChunkError {
        self.counters.add(Count::ChecksumErrors, 1);
        let offset = block * BLOCK_BYTES;
        tracing::error!(target_id = %self.label, file = %file_name(file), offset,
            "chunk file does not match its checksum: the disk or somebody has changed it");
        let (group, slot) = group_of(block);
        // It stays damaged when the machine dies.
        let crc = self.row(file, group).ok().and_then(|row| row.get(slot));
        let noted = crc.map_or(Ok(false), |crc| note(&*self.kv, List::Found, file, block, crc));
        match noted {
            Ok(true) => self.errors.damaged(&*self.kv),
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(target_id = %self.label, file = %file_name(file), offset, %error, "damage cannot be noted");
            }
        }
        ChunkError::Checksum { file, offset }
    }

    /// A change needs what a block had, and that is not there: refused by all members alike where all have it as a bad one.
    pub fn cannot_change(&self, file: ChunkFileId, block: u64, crc: u32) -> ChunkError {
        match is_on(&*self.kv, List::Bad, file, block, crc) {
            true => ChunkError::BadBlock { file, offset: block * BLOCK_BYTES },
            false => self.checksum_error(file, block),
        }
    }

    pub fn io_error(&self, operation: &'static str, file: ChunkFileId, cause: io::Error) -> ChunkError {
        let error = ChunkError::io(operation, file, cause);
        if let ChunkError::Io { cause, .. } = &error {
            self.counters.add(Count::IoErrors, 1);
            self.errors.failed(&*self.kv, file, cause);
            tracing::error!(target_id = %self.label, file = %file_name(file), operation, error = %cause, "disk error");
        }
        error
    }

    /// Whether the tables have room for rows besides what removals need.
    pub fn check_tables(&self) -> Result<(), ChunkError> {
        if self.kv.may_grow() { Ok(()) } else { Err(ChunkError::NoSpace) }
    }

    /// Takes so many blocks from what the target may hold. The rows of new blocks must leave the tables room for removals.
    pub fn reserve(&self, blocks: u64) -> Result<(), ChunkError> {
        if blocks > 0 {
            self.check_tables()?;
        }
        self.account(0, blocks);
        match self.limit_bytes {
            Some(limit) if blocks > 0 && self.used_bytes() > limit => {
                self.release(blocks);
                Err(ChunkError::NoSpace)
            }
            _ => Ok(()),
        }
    }

    pub fn release(&self, blocks: u64) {
        self.account(blocks, 0);
    }

    /// So many blocks were in use, now it is so many.
    pub fn account(&self, before: u64, after: u64) {
        self.data.account(before, after);
    }

    pub fn used_bytes(&self) -> u64 {
        self.data.bytes()
    }

    /// Length of a chunk file, bytes.
    pub fn len_of(&self, file: ChunkFileId, handle: &dyn ChunkFile) -> Result<u64, ChunkError> {
        let (len, _) = handle.stat().map_err(|e| self.io_error("stat", file, e))?;
        Ok(len.min(MAX_CHUNK_FILE_BYTES))
    }
}

impl ChunkStore {
    /// A worker: `index` of `count`. Each worker is made once and has the chunk files that [`worker_of`] gives it.
    pub fn worker(&self, index: usize, count: usize) -> ChunkWorker {
        let mine = |file: &ChunkFileId| worker_of(*file, count) == index;
        let dead = self.dead.iter().filter(|(file, _)| mine(file)).map(|(file, dead)| (*file, dead.unlinked_at_s));
        let mut unsynced = self.unsynced.lock();
        let (dirty, others) = unsynced.drain(..).partition(|(file, _)| mine(file));
        *unsynced = others;
        ChunkWorker::new(self.shared.clone(), dead.collect(), dirty)
    }

    /// What opening found and did.
    pub fn report(&self) -> RecoveryReport {
        self.report
    }

    /// Figures.
    pub fn counters(&self) -> &ChunkCounters {
        &self.shared.counters
    }

    /// Times of syncs, each of one or several files.
    pub fn sync_times(&self) -> &Histogram {
        &self.shared.sync_times
    }

    /// How long its disk took lately.
    pub fn recent(&self) -> &DiskTimes {
        &self.shared.recent
    }

    /// Bytes of blocks that hold data; exact only where a limit is set.
    pub fn used_bytes(&self) -> u64 {
        self.shared.used_bytes()
    }

    /// About how many bytes of blocks hold data; exactly, where a limit is set. `None` where that is not known: until the first whole scrub of a target
    /// that was made by a build that did not count.
    pub fn data_bytes(&self) -> Option<u64> {
        self.shared.data.known_bytes()
    }

    /// Errors that its disk has made in all, and recently.
    pub fn disk_errors(&self) -> (u64, u64) {
        self.shared.errors.counts()
    }

    /// A whole scrub has compared so many bytes with their checksums.
    pub fn scrubbed(&self, bytes: u64) {
        self.shared.data.scrubbed(bytes);
    }

    /// Notes how many bytes hold data, if that has changed by 64 MiB. To be called now and then: a start after a death of the process begins with what
    /// was noted last.
    pub fn note_data_bytes(&self) -> Result<(), ChunkError> {
        Ok(self.shared.data.note_much(&*self.shared.kv)?)
    }

    /// The position up to which everything survives the death of the machine once it is durable.
    pub fn position(&self) -> Result<Lsn, ChunkError> {
        Ok(self.shared.kv.flush()?)
    }
}

/// The worker, of `count`, that a chunk file belongs to.
pub fn worker_of(file: ChunkFileId, count: usize) -> usize {
    let mut key = [0; 10];
    key[..8].copy_from_slice(&file.inode.0.to_le_bytes());
    key[8..].copy_from_slice(&file.index.to_le_bytes());
    crc32c(&key) as usize % count.max(1)
}

/// A chunk file's name, as in its directory.
pub(super) fn file_name(file: ChunkFileId) -> String {
    format!("{}.{}", file.inode, file.index)
}

pub(super) fn put_row(batch: &mut Batch, file: ChunkFileId, group: u32, row: &Row, scratch: &mut Vec<u8>) {
    let key = group_key(tag::CHECKSUMS, file, group);
    if row.count() == 0 {
        batch.delete(key);
    } else {
        row.encode(scratch);
        batch.put(key, scratch);
    }
}
