// SPDX-License-Identifier: Apache-2.0

//! Whether an open store may grow: asks the disk and the table, and keeps the answer of the rule in [`crate::space`].
//!
//! # Failure model
//! Others fill the disk between two looks: the reserves of the log and of the table are allocated, so what may go on goes on.
//! The disk does not say what is free: the answer before stays.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::shared::Shared;
use crate::space::Space;
use crate::{FreeSpace, StoreError};
use nyala_kv::ChangeKind;

/// After so many bytes of changes the disk is asked again.
const LOOK_BYTES: usize = 64 << 10;
/// Who is short of room waits for a checkpoint of so many bytes of changes, for smaller ones only after [`PAUSE`].
const WORTH_BYTES: usize = 256 << 10;
/// Pause between checkpoints that are made only to see whether there is room.
const PAUSE: Duration = Duration::from_millis(500);

impl Shared {
    pub(crate) fn admits(&self, kind: ChangeKind) -> bool {
        match kind {
            ChangeKind::Grows => self.space.may_grow.load(Ordering::Relaxed),
            ChangeKind::Completes => self.space.may_complete.load(Ordering::Relaxed),
            ChangeKind::Maintains => true,
        }
    }

    /// What the disk had left at the last look.
    pub(crate) fn disk(&self) -> Option<FreeSpace> {
        *self.space.disk.lock()
    }

    /// Bytes that may be added, as of the last look.
    pub(crate) fn available_bytes(&self) -> Arc<AtomicU64> {
        self.space.available_bytes.clone()
    }

    /// Notes that so many bytes were applied.
    pub(crate) fn took(&self, bytes: usize) {
        if self.space.unseen_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes >= LOOK_BYTES {
            self.look_at_space();
        }
    }

    /// Asks the disk and the table.
    pub(crate) fn look_at_space(&self) {
        self.space.unseen_bytes.store(0, Ordering::Relaxed);
        let Ok(disk) = self.log.free_space() else { return };
        *self.space.disk.lock() = Some(disk);
        let pending_bytes = self.progress.memory.load(Ordering::Relaxed) as u64;
        let space = Space { disk, table_bytes: self.ordered.free_bytes(), pending_bytes };
        let mut rule = self.space.rule.lock();
        if rule.look(&space) {
            match rule.shortage(ChangeKind::Grows) {
                Some(shortage) => tracing::warn!(store = self.log.location(), %shortage, "the store must not grow"),
                None => tracing::info!(store = self.log.location(), ?space, "the store may grow again"),
            }
        }
        self.space.may_grow.store(rule.admits(ChangeKind::Grows), Ordering::Relaxed);
        self.space.may_complete.store(rule.admits(ChangeKind::Completes), Ordering::Relaxed);
        self.space.available_bytes.store(rule.available(&space), Ordering::Relaxed);
    }

    /// On a disk that was full when the last process ended: a checkpoint releases the segments that were replayed, and so makes
    /// room for the reserve of the log. Where it finds none itself, work may still go on with what is left.
    pub(crate) fn make_room_at_start(&self) -> Result<(), StoreError> {
        if self.log.has_reserve() {
            return Ok(());
        }
        match self.checkpoint() {
            Err(StoreError::OrderedFull { .. }) => Ok(()),
            done => done,
        }
    }

    /// A checkpoint has ended, well or not.
    pub(crate) fn checkpoint_ended(&self) {
        *self.space.last_attempt.lock() = Some(Instant::now());
        self.look_at_space();
        self.space.attempts.fetch_add(1, Ordering::Relaxed);
        self.progress.notify_waiters();
    }

    /// Whether a checkpoint may turn changes into room.
    pub(crate) fn is_checkpoint_worth_it(&self) -> bool {
        let pending = self.progress.memory.load(Ordering::Relaxed);
        let rested = self.space.last_attempt.lock().is_none_or(|last| last.elapsed() > PAUSE);
        pending >= WORTH_BYTES || (pending > 0 && rested)
    }

    fn refusal(&self, kind: ChangeKind) -> Result<(), StoreError> {
        let shortage = self.space.rule.lock().shortage(kind);
        shortage.map_or(Ok(()), |shortage| Err(StoreError::Reserved { location: self.log.location(), shortage }))
    }

    /// See [`crate::Store::wait_to`].
    pub(crate) async fn wait_to(&self, kind: ChangeKind) -> Result<(), StoreError> {
        if self.admits(kind) {
            return Ok(());
        }
        self.look_at_space();
        if self.admits(kind) || !self.is_checkpoint_worth_it() {
            return self.refusal(kind);
        }
        if self.options.manual {
            // What it ends with is seen in what is free then.
            let _ = self.checkpoint();
            return self.refusal(kind);
        }
        // One may be under way that began before the changes that make room.
        let enough = self.space.attempts.load(Ordering::Relaxed) + 2;
        let mut changed = self.progress.subscribe();
        while self.space.attempts.load(Ordering::Relaxed) < enough && !self.admits(kind) {
            self.progress.check()?;
            self.progress.want_checkpoint();
            // The sender lives in `self`, so this cannot fail.
            let _ = changed.changed().await;
        }
        self.refusal(kind)
    }
}
