// SPDX-License-Identifier: Apache-2.0

//! How busy a set is with what clients want, and how much room it has. Failure model: see the parent module.

use nyala_replica::share::{Share, ShareLimits, UnderWay};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// Kept free of what a set has: a fiftieth of it, and at most 1 GiB.
const RESERVE_PART: u64 = 50;
const RESERVE_BYTES: u64 = 1 << 30;

/// What is known of the load of a set.
pub struct Load {
    began: Instant,
    share: Mutex<Share>,
    requests: AtomicUsize,
    /// Bytes that may still be written, about.
    room: AtomicU64,
}

impl Default for Load {
    fn default() -> Load {
        let (share, requests) = (Mutex::new(Share::new(ShareLimits::default())), AtomicUsize::new(0));
        Load { began: Instant::now(), share, requests, room: AtomicU64::new(u64::MAX) }
    }
}

impl Load {
    fn now_us(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Does something for a client, of so many bytes.
    pub(super) fn timed<T>(&self, write: bool, bytes: usize, what: impl FnOnce() -> T) -> T {
        let began_us = self.now_us();
        self.requests.fetch_add(1, Ordering::Relaxed);
        let done = what();
        self.requests.fetch_sub(1, Ordering::Relaxed);
        if write {
            let room = self.room.load(Ordering::Relaxed);
            if room != u64::MAX {
                self.room.store(room.saturating_sub(bytes as u64), Ordering::Relaxed);
            }
        }
        self.share.lock().request(write, bytes as u64, began_us, self.now_us());
        done
    }

    /// What a set has in all and free was looked at; none: it does not say.
    pub fn room_is(&self, space: Option<(u64, u64)>) {
        let left = |(total, free): (u64, u64)| free.saturating_sub(RESERVE_BYTES.min(total / RESERVE_PART));
        self.room.store(space.map_or(u64::MAX, left), Ordering::Relaxed);
    }

    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.room.load(Ordering::Relaxed) >= bytes
    }

    /// Time goes by; is there something to do in the background?
    pub(super) fn tick(&self, left: bool) {
        let requests = self.requests.load(Ordering::Relaxed);
        self.share.lock().tick(self.now_us(), UnderWay { pending: left, copies: 0, requests });
    }

    /// Takes the right to read or write so many bytes in the background.
    pub(super) fn take(&self, bytes: u64) -> bool {
        self.share.lock().take(bytes, self.now_us())
    }

    /// It was so much instead of that.
    pub(super) fn took(&self, taken: u64, bytes: u64) {
        let now_us = self.now_us();
        let mut share = self.share.lock();
        share.sized(taken, bytes);
        share.copied(now_us);
    }

    /// Bytes a second that are done in the background, at most.
    pub(super) fn rate(&self) -> u64 {
        self.share.lock().rate()
    }
}
