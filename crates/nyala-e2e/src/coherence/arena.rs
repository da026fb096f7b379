// SPDX-License-Identifier: Apache-2.0

//! Memory that the coordinator and its workers share: words that are read and written atomically.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};

/// Words that every test uses: how many workers are ready, the stop flag, and a turn or counter.
const READY: usize = 0;
const STOP: usize = 1;
const TURN: usize = 2;
const OWN: usize = 8;

/// The shared words.
pub struct Arena {
    words: *const AtomicU64,
    len: usize,
    file: File,
}

// SAFETY: the words are only used atomically, by other processes too; only the drop unmaps them.
unsafe impl Sync for Arena {}

impl Arena {
    /// New, all zero.
    pub fn new(words: usize) -> Arena {
        let file = File::from(memfd_create("nyala-e2e", MemfdFlags::CLOEXEC).expect("memory can be had as a file"));
        let len = words + OWN;
        file.set_len(len as u64 * 8).expect("a memory file can be made longer");
        Arena::map(file, len)
    }

    /// The one of another process, by [`Arena::path`].
    pub fn open(path: &str) -> Result<Arena, String> {
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(|error| format!("{path}: {error}"))?;
        let len = file.metadata().map_err(|error| format!("{path}: {error}"))?.len() as usize / 8;
        Ok(Arena::map(file, len))
    }

    fn map(file: File, len: usize) -> Arena {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the address; nothing else of ours is there.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), len * 8, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        assert_ne!(start, libc::MAP_FAILED, "a memory file can be mapped");
        Arena { words: start.cast(), len, file }
    }

    /// Where other processes open it while this one lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    fn all(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is as long as said, aligned to pages, lives as long as the value, and is only used atomically.
        unsafe { std::slice::from_raw_parts(self.words, self.len) }
    }

    /// A word of the test's own.
    pub fn word(&self, at: usize) -> &AtomicU64 {
        &self.all()[OWN + at]
    }

    /// Whose turn it is.
    pub fn turn(&self) -> &AtomicU64 {
        &self.all()[TURN]
    }

    /// Makes every worker end.
    pub fn stop(&self) {
        self.all()[STOP].store(1, Ordering::SeqCst);
    }

    /// Whether to end.
    pub fn stopped(&self) -> bool {
        self.all()[STOP].load(Ordering::SeqCst) != 0
    }

    /// Waits until so many have come here in all, or everything is stopped.
    pub fn meet(&self, total: u64) {
        self.all()[READY].fetch_add(1, Ordering::SeqCst);
        while self.all()[READY].load(Ordering::SeqCst) < total && !self.stopped() {
            std::thread::yield_now();
        }
    }

    /// Waits for a turn; false when everything is stopped.
    pub fn wait_turn(&self, mine: u64) -> bool {
        while self.turn().load(Ordering::SeqCst) != mine {
            if self.stopped() {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the range is our mapping and not used again.
        unsafe { libc::munmap(self.words.cast_mut().cast(), self.len * 8) };
    }
}

/// The machine's monotonic clock, the same for all processes, in nanoseconds.
pub fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
