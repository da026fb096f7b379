// SPDX-License-Identifier: Apache-2.0

//! Opening: lock, checkpoint, replay.
//!
//! # Failure model
//! A new store gets its first log segment before its first checkpoint entry, so the entry proves that the segment was
//! there, and a log without an entry proves that the checkpoint store was lost, unless the log has no record. A crash
//! anywhere in between starts over. Anything that does not fit together is refused with the file's name.

use nyala_kv::iter_encoded;
use parking_lot::{Mutex, RwLock};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::log::disk::LogDisk;
use crate::log::files::LogDirectory;
use crate::log::format::SEGMENT_HEADER_BYTES;
use crate::log::recover::{Recovered, holds_records, list_segments, recover};
use crate::log::{Log, Position, segment};
use crate::metrics::Times;
use crate::ordered::{CheckpointMeta, OrderedStore};
use crate::progress::Progress;
use crate::shared::Shared;
use crate::space_state::SpaceState;
use crate::tables::Tables;
use crate::{Lsn, Options, Recovery, StoreError, tree};

/// Opens the store in a directory: `LOCK`, `log/`, `table/`.
pub(crate) fn open_directory(dir: &Path, options: Options) -> Result<(Shared, Recovery), StoreError> {
    let location = || dir.display().to_string();
    crate::private::make_dir(dir).map_err(|e| StoreError::io("create", location(), e))?;
    let lock = lock(dir)?;
    let ordered = tree::open_directory(&dir.join("table"), options.table_bytes, options.cache_bytes)?;
    let ordered = ordered.with_reserve(options.reserve_bytes);
    let disk = LogDirectory::open(&dir.join("log")).map_err(|e| StoreError::io("open", location(), e))?;
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(|e| StoreError::io("sync", location(), e))?;
    let in_directory = |error| match error {
        StoreError::LogDamaged { file, offset, reason } => {
            let file = dir.join("log").join(file).display().to_string();
            StoreError::LogDamaged { file, offset, reason }
        }
        other => other,
    };
    let (mut shared, recovery) = open(Arc::new(disk), Arc::new(ordered), options).map_err(in_directory)?;
    shared.continuity = Some(crate::continuity::Continuity::of(lock, recovery.cut_bytes == 0)?);
    Ok((shared, recovery))
}

/// Keeps every process from opening the store in a directory, which this one does not open either, until the result is dropped.
/// Errors: [`StoreError::Locked`] if one has it open; those of the file system.
pub fn hold(dir: &Path) -> Result<File, StoreError> {
    lock(dir)
}

fn lock(dir: &Path) -> Result<File, StoreError> {
    let path = dir.join("LOCK");
    let failed = |e| StoreError::io("lock", path.display().to_string(), e);
    crate::lock::exclusive(&path).map_err(failed)?.ok_or(StoreError::Locked { path })
}

/// Opens a store on any disk and ordered store.
pub(crate) fn open(
    disk: Arc<dyn LogDisk>,
    ordered: Arc<dyn OrderedStore>,
    options: Options,
) -> Result<(Shared, Recovery), StoreError> {
    let meta = match ordered.meta()? {
        Some(meta) => meta,
        None => create(&*disk, &*ordered, &options)?,
    };
    let start = Position { lsn: meta.lsn, sequence: meta.sequence, offset: meta.offset };
    let mut tables = Tables::default();
    let recovered = recover(&*disk, meta.store_id, start, &mut |payload| {
        for (key, value) in iter_encoded(payload) {
            tables.active.insert(key, value);
        }
    })?;
    let recovery = Recovery {
        checkpoint_lsn: Lsn(meta.lsn),
        last_lsn: Lsn(recovered.last_lsn),
        replayed_records: recovered.replayed_records,
        cut_records: recovered.cut_records,
        cut_bytes: recovered.cut_bytes,
    };
    if recovery.cut_bytes > 0 {
        tracing::warn!(log = disk.location(), ?recovery, "unsynced tail of the log was cut");
    }
    let shared = assemble(disk, ordered, options, meta, recovered, tables);
    shared.log.keep_reserve()?;
    shared.make_room_at_start()?;
    shared.look_at_space();
    Ok((shared, recovery))
}

/// A new store's first segment and first checkpoint entry.
fn create(disk: &dyn LogDisk, ordered: &dyn OrderedStore, options: &Options) -> Result<CheckpointMeta, StoreError> {
    let sequences = list_segments(disk)?;
    if holds_records(disk, &sequences)? {
        let reason = "the log has records but the checkpoint is gone; put the store's `table` directory back".into();
        return Err(StoreError::Ordered { store: disk.location(), reason });
    }
    for sequence in sequences {
        let name = segment::name(sequence);
        disk.remove(&name).map_err(|e| StoreError::io("remove", name, e))?;
    }
    let entropy = || disk.entropy().map_err(|e| StoreError::io("read random bytes for", disk.location(), e));
    let store_id = u128::from(entropy()?) | u128::from(entropy()?) << 64;
    let least = SEGMENT_HEADER_BYTES;
    segment::make_fitting(disk, store_id, 1, options.segment_bytes.max(least), least)?;
    let meta = CheckpointMeta { store_id, lsn: 0, sequence: 1, offset: SEGMENT_HEADER_BYTES };
    ordered.commit(&mut std::iter::empty(), meta)?;
    Ok(meta)
}

fn assemble(
    disk: Arc<dyn LogDisk>,
    ordered: Arc<dyn OrderedStore>,
    options: Options,
    meta: CheckpointMeta,
    recovered: Recovered,
    tables: Tables,
) -> Shared {
    let progress = Arc::new(Progress::new(recovered.last_lsn));
    progress.memory.store(tables.bytes(), Ordering::Relaxed);
    if tables.active.bytes() >= options.memory_soft_bytes {
        progress.want_checkpoint();
    }
    let (closed, last_lsn) = (recovered.closed, recovered.last_lsn);
    let log = Log::resume(disk, meta.store_id, options.segment_bytes, progress.clone(), closed, last_lsn);
    Shared {
        log,
        progress,
        tables: RwLock::new(tables),
        store_id: meta.store_id,
        checkpoint_turn: Mutex::new(()),
        checkpoint_lsn: AtomicU64::new(meta.lsn),
        times: Times::default(),
        checkpoint_failures: AtomicU64::new(0),
        checkpoint_fails: AtomicBool::new(false),
        next_nudge_bytes: AtomicUsize::new(options.memory_soft_bytes),
        space: SpaceState::new(options.reserve_bytes),
        scrub: Mutex::default(),
        damage: Default::default(),
        options,
        ordered,
        continuity: None,
    }
}
