// SPDX-License-Identifier: Apache-2.0

//! How far the store is, whether it still works, and who waits for either.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

use crate::StoreError;

#[derive(Default)]
struct Requests {
    sync_to: u64,
    checkpoint: bool,
    stop: bool,
}

/// Why a background thread was woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    Wanted,
    Timeout,
    Stop,
}

/// Shared counters and wake-ups.
pub(crate) struct Progress {
    applied: AtomicU64,
    written: AtomicU64,
    durable: AtomicU64,
    /// Memory of both tables, bytes.
    pub memory: AtomicUsize,
    dead: OnceLock<StoreError>,
    requests: Mutex<Requests>,
    sync_wanted: Condvar,
    checkpoint_wanted: Condvar,
    /// Nobody wants a scrub: it ends with the store.
    scrub_ends: Condvar,
    changed: watch::Sender<()>,
    changed_blocking: Condvar,
    changes: Mutex<u64>,
}

impl Progress {
    pub(crate) fn new(lsn: u64) -> Progress {
        Progress {
            applied: AtomicU64::new(lsn),
            written: AtomicU64::new(lsn),
            durable: AtomicU64::new(lsn),
            memory: AtomicUsize::new(0),
            dead: OnceLock::new(),
            requests: Mutex::default(),
            sync_wanted: Condvar::new(),
            checkpoint_wanted: Condvar::new(),
            scrub_ends: Condvar::new(),
            changed: watch::Sender::new(()),
            changed_blocking: Condvar::new(),
            changes: Mutex::new(0),
        }
    }

    pub(crate) fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    pub(crate) fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    pub(crate) fn set_applied(&self, lsn: u64) {
        self.applied.store(lsn, Ordering::Release);
    }

    pub(crate) fn set_written(&self, lsn: u64) {
        self.written.store(lsn, Ordering::Release);
    }

    pub(crate) fn set_durable(&self, lsn: u64) {
        self.durable.store(lsn, Ordering::Release);
        self.notify_waiters();
    }

    /// The error that ended the store's working life, if one did.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.dead.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Ends the store's working life; the first reason stays. Returns the reason.
    pub(crate) fn kill(&self, error: StoreError) -> StoreError {
        if !matches!(error, StoreError::Closed) && self.dead.get().is_none() {
            tracing::error!(%error, "store stops");
        }
        let reason = self.dead.get_or_init(|| error).clone();
        self.notify_waiters();
        reason
    }

    /// Wakes everyone who waits for durability or room.
    pub(crate) fn notify_waiters(&self) {
        self.changed.send_replace(());
        *self.changes.lock() += 1;
        self.changed_blocking.notify_all();
    }

    /// To be taken before the condition is looked at, so that no change is missed.
    pub(crate) fn subscribe(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Returns when `ready` holds, which is looked at again after every announcement.
    pub(crate) fn wait_blocking(&self, mut ready: impl FnMut() -> bool) {
        let mut changes = self.changes.lock();
        while !ready() {
            self.changed_blocking.wait(&mut changes);
        }
    }

    pub(crate) fn want_sync(&self, lsn: u64) {
        let mut requests = self.requests.lock();
        if requests.sync_to < lsn {
            requests.sync_to = lsn;
            self.sync_wanted.notify_one();
        }
    }

    pub(crate) fn want_checkpoint(&self) {
        let mut requests = self.requests.lock();
        if !requests.checkpoint {
            requests.checkpoint = true;
            self.checkpoint_wanted.notify_one();
        }
    }

    pub(crate) fn stop(&self) {
        self.requests.lock().stop = true;
        self.sync_wanted.notify_all();
        self.checkpoint_wanted.notify_all();
        self.scrub_ends.notify_all();
    }

    /// Waits; whether the store goes on.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        self.next(&self.scrub_ends, time, |_| false) != Wake::Stop
    }

    pub(crate) fn next_sync(&self, interval: Duration) -> Wake {
        self.next(&self.sync_wanted, interval, |requests| requests.sync_to > self.durable())
    }

    pub(crate) fn next_checkpoint(&self, interval: Duration) -> Wake {
        self.next(&self.checkpoint_wanted, interval, |requests| std::mem::take(&mut requests.checkpoint))
    }

    fn next(&self, wanted: &Condvar, interval: Duration, mut is_wanted: impl FnMut(&mut Requests) -> bool) -> Wake {
        let deadline = Instant::now() + interval;
        let mut requests = self.requests.lock();
        loop {
            if requests.stop {
                return Wake::Stop;
            }
            if is_wanted(&mut requests) {
                return Wake::Wanted;
            }
            if wanted.wait_until(&mut requests, deadline).timed_out() {
                return if requests.stop { Wake::Stop } else { Wake::Timeout };
            }
        }
    }
}
