// SPDX-License-Identifier: Apache-2.0

//! The engine that all clones and threads of a store share: apply, read, freeze, checkpoint.
//!
//! # Failure model
//! See the crate's. Locks are taken in this order: checkpoint turn, log tail, tables. A batch enters the log buffer and
//! the active table under the tail's lock, so the tables always hold a prefix of the log.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use crate::continuity::Continuity;
use crate::damage::Damage;
use crate::log::Log;
use crate::log::format::Kind;
use crate::log::verify;
use crate::metrics::Times;
use crate::ordered::{CheckpointMeta, OrderedStore, is_empty_range};
use crate::progress::Progress;
use crate::scrub::{SLICE_PAGES, Scrub};
use crate::space_state::SpaceState;
use crate::tables::{Frozen, Tables};
use crate::{Batch, Condition, Lsn, Options, Stats, StoreError, Value, slices};
use nyala_kv::{ChangeKind, MAX_KEY_BYTES, Visit};

/// Everything of an open store but its threads.
pub(crate) struct Shared {
    pub options: Options,
    pub log: Log,
    pub progress: Arc<Progress>,
    pub(crate) tables: RwLock<Tables>,
    pub(crate) store_id: u128,
    pub(crate) checkpoint_turn: Mutex<()>,
    pub(crate) checkpoint_lsn: AtomicU64,
    pub(crate) times: Times,
    pub(crate) checkpoint_failures: AtomicU64,
    /// The last checkpoint found no room.
    pub(crate) checkpoint_fails: AtomicBool,
    /// Active memory at which the checkpoint thread is next woken.
    pub(crate) next_nudge_bytes: AtomicUsize,
    pub(crate) space: SpaceState,
    pub(crate) scrub: Mutex<Scrub>,
    pub(crate) damage: Damage,
    pub(crate) ordered: Arc<dyn OrderedStore>,
    /// Of a directory. Last, so that it stays locked until the tree is closed.
    pub(crate) continuity: Option<Continuity>,
}

impl Shared {
    pub(crate) fn apply(&self, batch: &Batch) -> Result<Lsn, StoreError> {
        if let Some(reason) = batch.refused() {
            return Err(StoreError::InvalidBatch { reason });
        }
        self.progress.check()?;
        let memory = self.progress.memory.load(Ordering::Relaxed);
        if memory / 2 > self.options.memory_hard_bytes {
            self.progress.want_checkpoint();
            return Err(StoreError::Busy { bytes: memory });
        }
        if batch.is_empty() {
            return Ok(Lsn(self.progress.applied()));
        }
        let mut tail = self.log.lock_tail();
        let lsn = self.log.append(&mut tail, Kind::Batch, batch.as_bytes())?;
        let mut tables = self.tables.write();
        for (key, value) in batch.iter() {
            tables.active.insert(key, value);
        }
        let (active_bytes, all_bytes) = (tables.active.bytes(), tables.bytes());
        drop(tables);
        self.progress.memory.store(all_bytes, Ordering::Relaxed);
        drop(tail);
        if active_bytes >= self.next_nudge_bytes.load(Ordering::Relaxed) {
            self.next_nudge_bytes.store(usize::MAX, Ordering::Relaxed);
            self.progress.want_checkpoint();
        }
        self.took(batch.as_bytes().len());
        Ok(Lsn(lsn))
    }

    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Value>, StoreError> {
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return Ok(None);
        }
        let found = self.tables.read().get(key);
        // A checkpoint between these two steps only moves values from the tables to the ordered store.
        found.map_or_else(|| self.ordered.get(key).inspect_err(|error| self.damage.note(error)), Ok)
    }

    pub(crate) fn peek(&self, key: &[u8]) -> Option<Option<Value>> {
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return Some(None);
        }
        // Who changes tables may wait for somebody who reads the disk.
        let found = self.tables.try_read()?.get(key);
        found.or_else(|| self.ordered.peek(key))
    }

    pub(crate) fn scan(&self, from: Bound<&[u8]>, to: Bound<&[u8]>, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        // No key is empty, so an empty bound says nothing from below.
        let from = if matches!(from, Bound::Included(b"") | Bound::Excluded(b"")) { Bound::Unbounded } else { from };
        if matches!(to, Bound::Included(b"") | Bound::Excluded(b"")) || is_empty_range(from, to) {
            return Ok(());
        }
        let scanned = self.tables.read().scan(&*self.ordered, from, to, visit);
        scanned.inspect_err(|error| self.damage.note(error))
    }

    pub(crate) fn flush(&self) -> Result<Lsn, StoreError> {
        self.log.write_buffer(&mut self.log.lock_tail()).map(Lsn)
    }

    pub(crate) fn sync(&self) -> Result<Lsn, StoreError> {
        let began = Instant::now();
        // A write of the log that hangs holds this up too, since it has the tail.
        let running = self.times.log.begin(began);
        let (lsn, synced) = self.log.sync()?;
        if synced {
            self.times.synced(began.elapsed());
            running.end(Instant::now(), 1);
        }
        Ok(Lsn(lsn))
    }

    /// Brings everything applied before the call into the ordered store.
    pub(crate) fn checkpoint(&self) -> Result<(), StoreError> {
        let _turn = self.checkpoint_turn.lock();
        let target = self.log.position(&self.log.lock_tail());
        let done = self.checkpoint_up_to(target.lsn);
        self.log.no_longer_short(target.sequence);
        self.checkpoint_ended();
        done
    }

    fn checkpoint_up_to(&self, target: u64) -> Result<(), StoreError> {
        // A table that stayed frozen after a failure goes first; then there may be newer changes.
        while let Some(frozen) = self.freeze()? {
            let lsn = frozen.meta.lsn;
            self.checkpoint_frozen(frozen)?;
            if lsn >= target {
                break;
            }
        }
        Ok(())
    }

    /// Whether everything up to a position is in the ordered store.
    pub(crate) fn is_checkpointed(&self, lsn: u64) -> bool {
        let tables = self.tables.read();
        self.checkpoint_lsn.load(Ordering::Relaxed) >= lsn || (tables.frozen.is_none() && tables.active.is_empty())
    }

    fn freeze(&self) -> Result<Option<Frozen>, StoreError> {
        self.progress.check()?;
        let tail = self.log.lock_tail();
        let mut tables = self.tables.write();
        if tables.frozen.is_none() && !tables.active.is_empty() {
            let position = self.log.position(&tail);
            let (store_id, lsn) = (self.store_id, position.lsn);
            let meta = CheckpointMeta { store_id, lsn, sequence: position.sequence, offset: position.offset };
            tables.frozen = Some(Frozen { table: Arc::new(std::mem::take(&mut tables.active)), meta });
            self.next_nudge_bytes.store(self.options.memory_soft_bytes, Ordering::Relaxed);
        }
        Ok(tables.frozen.clone())
    }

    fn checkpoint_frozen(&self, frozen: Frozen) -> Result<(), StoreError> {
        let began = Instant::now();
        // Recovery would cope with a checkpoint ahead of the log on disk; "durable" stays a matter of the log alone.
        self.sync()?;
        let committed = match self.ordered.commit(&mut frozen.table.iter(), frozen.meta) {
            Err(StoreError::OrderedFull { .. }) => slices::commit(&*self.ordered, &frozen.table, frozen.meta),
            committed => committed,
        };
        if let Err(error) = committed {
            self.damage.note(&error);
            if matches!(error, StoreError::OrderedFull { .. }) {
                self.checkpoint_failures.fetch_add(1, Ordering::Relaxed);
                self.checkpoint_fails.store(true, Ordering::Relaxed);
                return Err(error);
            }
            if matches!(error, StoreError::TableDamaged { .. }) {
                return Err(self.progress.kill(error));
            }
            let cause = std::io::Error::other(error);
            return Err(self.progress.kill(StoreError::poisoned("checkpoint", cause)));
        }
        self.checkpoint_lsn.store(frozen.meta.lsn, Ordering::Relaxed);
        self.checkpoint_fails.store(false, Ordering::Relaxed);
        self.times.checkpointed(began.elapsed());
        let done = {
            let mut tables = self.tables.write();
            let done = tables.frozen.take();
            self.progress.memory.store(tables.bytes(), Ordering::Relaxed);
            done
        };
        self.progress.notify_waiters();
        let released = self.log.release(frozen.meta.sequence).and_then(|()| self.log.keep_reserve());
        // Freeing a large table takes its time; nobody waits for it here.
        drop((done, frozen));
        released
    }

    /// Compares the log with its checksums. What is damaged is in memory still, and goes to the table at once.
    pub(crate) fn scrub_log(&self) {
        let damage = || verify::damage(&self.log, || self.checkpoint_lsn.load(Ordering::Relaxed));
        let found = damage();
        found.iter().for_each(|error| tracing::error!(%error, "a part of the log that is still needed is damaged"));
        if !found.is_empty() {
            let header = verify::write_header_again(&self.log).map_err(|error| error.to_string());
            let healed = header.and_then(|()| self.checkpoint().map_err(|error| error.to_string()));
            let left = damage().len();
            tracing::warn!(?healed, left, "what the damaged part of the log has is written to the table");
            self.scrub.lock().log_compared(left as u64);
        } else {
            self.scrub.lock().log_compared(0);
        }
    }

    /// Compares a little of the table with its checksums. Gives how long to wait before the next time.
    pub(crate) fn scrub_slice(&self) -> Duration {
        let from = self.scrub.lock().from();
        let slice = self.ordered.verify(&from, SLICE_PAGES);
        let (new, pause) = self.scrub.lock().compared(slice, self.options.scrub_interval);
        for error in &new {
            self.damage.note(error);
            tracing::error!(%error, "a part of the table that nobody asked for is damaged");
        }
        pause
    }

    pub(crate) fn over_limit(&self) -> bool {
        self.progress.memory.load(Ordering::Relaxed) > self.options.memory_hard_bytes || self.log.is_short()
    }

    /// Over the limit, and there is hope that this ends.
    pub(crate) fn must_wait(&self) -> bool {
        self.over_limit() && self.progress.check().is_ok()
    }

    pub(crate) fn condition(&self) -> Condition {
        let stopped = self.progress.check().is_err_and(|error| !matches!(error, StoreError::Closed));
        // Others may have filled the disk since this store last wrote something.
        self.look_at_space();
        Condition {
            disk: self.disk(),
            must_not_grow: !self.admits(ChangeKind::Grows),
            checkpoint_fails: self.checkpoint_fails.load(Ordering::Relaxed),
            stopped,
        }
    }

    /// Memory of pages of the tables, and of records that are not written, bytes.
    pub(crate) fn kept_bytes(&self) -> (u64, u64) {
        (self.ordered.cached_bytes(), self.log.buffered_bytes())
    }

    pub(crate) fn stats(&self) -> Stats {
        let (active_bytes, all_bytes) = {
            let tables = self.tables.read();
            (tables.active.bytes() as u64, tables.bytes() as u64)
        };
        let (scrubbed_pages, damaged_places) = self.scrub.lock().figures();
        Stats {
            applied: Lsn(self.progress.applied()),
            written: Lsn(self.progress.written()),
            durable: Lsn(self.progress.durable()),
            checkpoint: Lsn(self.checkpoint_lsn.load(Ordering::Relaxed)),
            active_bytes,
            frozen_bytes: all_bytes - active_bytes,
            used_bytes: self.ordered.used_bytes(),
            segments: self.log.segments(),
            syncs: self.times.syncs(),
            checkpoints: self.times.checkpoints(),
            checkpoint_failures: self.checkpoint_failures.load(Ordering::Relaxed),
            scrubbed_pages,
            damaged_places,
        }
    }
}
