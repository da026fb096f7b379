// SPDX-License-Identifier: Apache-2.0

//! The store's public face.

use std::borrow::Borrow;
use std::io;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::JoinHandle;

use parking_lot::Mutex;

use crate::log::Position;
use crate::log::disk::LogDisk;
use crate::metrics::Times;
use crate::ordered::OrderedStore;
use crate::shared::Shared;
use crate::{Batch, ChangeKind, Condition, Lsn, Options, Recovery, Stats, StoreError, Value, open, threads, tree};
use nyala_kv::Visit;

/// A durable ordered store. Clones share it; the last one to go flushes it and stops its threads.
#[derive(Clone)]
pub struct Store {
    handle: Arc<Handle>,
}

/// A place in the log ([`Store::mark`]).
#[derive(Clone, Copy, Debug)]
pub struct Mark(Position);

/// Owns the threads, which own `Shared` but not this.
struct Handle {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Store {
    /// Opens or makes the store in `dir`: takes its lock, replays its log, starts its threads.
    ///
    /// Errors: [`StoreError::Locked`], [`StoreError::LogDamaged`], [`StoreError::Ordered`], [`StoreError::Full`],
    /// [`StoreError::Io`].
    pub fn open(dir: &Path, options: Options) -> Result<(Store, Recovery), StoreError> {
        let (shared, recovery) = open::open_directory(dir, options)?;
        Ok((Store::start(shared)?, recovery))
    }

    /// Opens or makes the store on two disks that are the caller's alone: one for the log, one for the table.
    pub fn open_disks(
        log: Arc<dyn LogDisk>,
        table: &dyn LogDisk,
        options: Options,
    ) -> Result<(Store, Recovery), StoreError> {
        let tree = tree::Tree::open(table, options.table_bytes, options.cache_bytes)?;
        let tree = tree.with_reserve(options.reserve_bytes);
        Store::open_with(log, Arc::new(tree), options)
    }

    /// Opens a store on any disk and ordered store, for tests.
    pub fn open_with(
        disk: Arc<dyn LogDisk>,
        ordered: Arc<dyn OrderedStore>,
        options: Options,
    ) -> Result<(Store, Recovery), StoreError> {
        let (shared, recovery) = open::open(disk, ordered, options)?;
        Ok((Store::start(shared)?, recovery))
    }

    fn start(shared: Shared) -> Result<Store, StoreError> {
        let shared = Arc::new(shared);
        let threads = if shared.options.manual {
            Vec::new()
        } else {
            threads::start(&shared).map_err(|e| StoreError::io("start threads for", "store", e))?
        };
        Ok(Store { handle: Arc::new(Handle { shared, threads: Mutex::new(threads) }) })
    }

    fn shared(&self) -> &Shared {
        &self.handle.shared
    }

    /// The newest value of `key`, flushed or not.
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>, StoreError> {
        self.shared().get(key)
    }

    /// The same if it is known without waiting for the disk or for anybody; `None`: ask [`Store::get`].
    pub fn peek(&self, key: &[u8]) -> Option<Option<Value>> {
        self.shared().peek(key)
    }

    /// Visits the keys in the range in order with their newest values, until `visit` breaks. The range is one
    /// consistent state; changes wait until the scan ends, so scan in pages. `visit` must not call the store.
    pub fn scan(&self, from: Bound<&[u8]>, to: Bound<&[u8]>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        self.shared().scan(from, to, visit)
    }

    /// Applies a batch as a whole: one log record, visible at once to `get` and `scan`, not yet handed to the operating
    /// system ([`Store::flush`]). An empty batch does nothing and returns the last position. Never waits for memory:
    /// look at [`Store::over_limit`] first.
    ///
    /// Errors, with nothing done: [`StoreError::Full`], [`StoreError::Busy`], [`StoreError::InvalidBatch`],
    /// [`StoreError::Closed`]; [`StoreError::Poisoned`] after a failed write or sync.
    pub fn apply(&self, batch: impl Borrow<Batch>) -> Result<Lsn, StoreError> {
        self.shared().apply(batch.borrow())
    }

    /// Hands everything applied to the operating system with one write: it then survives the death of this process.
    /// Callers group: apply, apply, …, flush, acknowledge. Returns the last position written.
    pub fn flush(&self) -> Result<Lsn, StoreError> {
        self.shared().flush()
    }

    /// How far the log is, for [`Store::flush_up_to`].
    pub fn mark(&self) -> Mark {
        let log = &self.shared().log;
        Mark(log.position(&log.lock_tail()))
    }

    /// As [`Store::flush`], but only what was applied before the mark was made. What came after may be written, too, when the
    /// store writes for reasons of its own.
    pub fn flush_up_to(&self, mark: Mark) -> Result<Lsn, StoreError> {
        let log = &self.shared().log;
        log.write_up_to(&mut log.lock_tail(), mark.0).map(Lsn)
    }

    /// Returns when everything up to `lsn` is on disk; flushes it if need be. Waiters share syncs.
    ///
    /// Errors: [`StoreError::Poisoned`], [`StoreError::Closed`]; [`StoreError::InvalidBatch`] for a position that no
    /// record has.
    pub async fn wait_durable(&self, lsn: Lsn) -> Result<(), StoreError> {
        let shared = self.shared();
        let mut changed = shared.progress.subscribe();
        loop {
            if shared.progress.durable() >= lsn.0 {
                return Ok(());
            }
            shared.progress.check()?;
            if lsn.0 > shared.progress.applied() {
                return Err(StoreError::InvalidBatch { reason: "nothing was applied at this position" });
            }
            if shared.options.manual {
                shared.sync()?;
                continue;
            }
            shared.progress.want_sync(lsn.0);
            // The sender lives in `shared`, so this cannot fail.
            let _ = changed.changed().await;
        }
    }

    /// Flushes, and returns when everything applied before the call is on disk. Blocks its thread.
    pub fn sync_blocking(&self) -> Result<(), StoreError> {
        self.shared().sync().map(drop)
    }

    /// Last position applied.
    pub fn applied(&self) -> Lsn {
        Lsn(self.shared().progress.applied())
    }

    /// Last position handed to the operating system.
    pub fn written(&self) -> Lsn {
        Lsn(self.shared().progress.written())
    }

    /// Last position on disk.
    pub fn durable(&self) -> Lsn {
        Lsn(self.shared().progress.durable())
    }

    /// Whether callers should wait ([`Store::wait_room`]) before they apply more.
    pub fn over_limit(&self) -> bool {
        self.shared().over_limit()
    }

    /// Returns when the tables in memory are below their limit, or the store has stopped (which `apply` then reports).
    pub async fn wait_room(&self) {
        let shared = self.shared();
        let mut changed = shared.progress.subscribe();
        while shared.must_wait() {
            if shared.options.manual {
                if shared.checkpoint().is_err() {
                    return;
                }
                continue;
            }
            shared.progress.want_checkpoint();
            // The sender lives in `shared`, so this cannot fail.
            let _ = changed.changed().await;
        }
    }

    /// As [`Store::wait_room`], blocking its thread.
    pub fn wait_room_blocking(&self) {
        let shared = self.shared();
        if !shared.must_wait() {
            return;
        }
        if shared.options.manual {
            // A failure is in the statistics, and `apply` reports what follows from it.
            let _ = shared.checkpoint();
            return;
        }
        shared.progress.want_checkpoint();
        shared.progress.wait_blocking(|| !shared.must_wait());
    }

    /// Whether a change of this kind may be applied now. What grows may not while what is left is kept for what does not:
    /// removals and what others cannot go on without. A checkpoint that may change that is then asked for.
    pub fn admits(&self, kind: ChangeKind) -> bool {
        let shared = self.shared();
        let may = shared.admits(kind);
        if !may && shared.is_checkpoint_worth_it() {
            shared.progress.want_checkpoint();
        }
        may
    }

    /// Bytes that may be added, as far as known: what is free, less what is kept for the rest. It follows the store as long as that
    /// is open, and does not keep it open.
    pub fn available_bytes(&self) -> Arc<AtomicU64> {
        self.shared().available_bytes()
    }

    /// Returns when a change of this kind may be applied. Where a checkpoint may make room, waits for it first.
    ///
    /// Errors: [`StoreError::Reserved`]; what has stopped the store.
    pub async fn wait_to(&self, kind: ChangeKind) -> Result<(), StoreError> {
        self.shared().wait_to(kind).await
    }

    /// Brings everything applied before the call into the ordered store and releases the log behind it. Also happens by
    /// itself. Errors: [`StoreError::OrderedFull`] (tried again later), [`StoreError::Poisoned`].
    pub fn checkpoint_blocking(&self) -> Result<(), StoreError> {
        self.shared().checkpoint()
    }

    /// The same without blocking, by the store's own thread. Waits for space if there is none. Errors: what has stopped the store.
    pub async fn checkpointed(&self) -> Result<(), StoreError> {
        let shared = self.shared();
        let target = shared.progress.applied();
        let mut changed = shared.progress.subscribe();
        while !shared.is_checkpointed(target) {
            shared.progress.check()?;
            if shared.options.manual {
                shared.checkpoint()?;
                continue;
            }
            shared.progress.want_checkpoint();
            // The sender lives in `shared`, so this cannot fail.
            let _ = changed.changed().await;
        }
        Ok(())
    }

    /// Figures for metrics.
    pub fn stats(&self) -> Stats {
        self.shared().stats()
    }

    /// Whether it is well.
    pub fn condition(&self) -> Condition {
        self.shared().condition()
    }

    /// Whether all is there that the last process which vouched for it handed to the operating system. `false`: that is not known.
    pub fn is_whole(&self) -> bool {
        self.shared().continuity.as_ref().is_some_and(|continuity| continuity.is_whole())
    }

    /// What is written from now on is there for the next process, unless the machine loses it, or [`Store::withdraw`] says otherwise.
    pub fn vouch(&self) -> io::Result<()> {
        self.shared().continuity.as_ref().map_or(Ok(()), |continuity| continuity.vouch())
    }

    /// What was written may be gone.
    pub fn withdraw(&self) -> io::Result<()> {
        self.shared().continuity.as_ref().map_or(Ok(()), |continuity| continuity.withdraw())
    }

    /// The first damage that this open store has found, if it has found any.
    pub fn damage(&self) -> Option<StoreError> {
        self.shared().damage.first()
    }

    /// Memory of pages of the tables, and of records that are not written, bytes.
    pub(crate) fn kept_bytes(&self) -> (u64, u64) {
        self.shared().kept_bytes()
    }

    /// Times of syncs and checkpoints.
    pub(crate) fn times(&self) -> &Times {
        &self.shared().times
    }

    /// Stops the threads and forgets what is applied and not written, as a death of the process would.
    pub fn abandon(self) {
        let shared = self.shared();
        shared.progress.kill(StoreError::Closed);
        self.handle.stop_threads();
    }

    /// Flushes, syncs, and stops the threads. Other clones get [`StoreError::Closed`] for changes from then on; the
    /// directory stays locked until they are dropped.
    pub fn close(self) -> Result<(), StoreError> {
        let shared = self.shared();
        let synced = shared.sync().and_then(|_| shared.log.write_marker());
        shared.progress.kill(StoreError::Closed);
        self.handle.stop_threads();
        synced
    }
}

impl Handle {
    fn stop_threads(&self) {
        self.shared.progress.stop();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            if thread.join().is_err() {
                tracing::error!("a thread of the store panicked");
            }
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // After a failure or a close there is nothing to flush, and nobody left to tell.
        let _ = self.shared.flush();
        self.stop_threads();
    }
}
