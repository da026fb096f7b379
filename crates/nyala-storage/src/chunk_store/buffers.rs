// SPDX-License-Identifier: Apache-2.0

//! Buffers of reads. Large ones start on a block boundary, as direct I/O wants it, and are used again: fresh memory from
//! the system costs a page fault per 4 KiB, as much as the read.
//!
//! **Failure model.** What is kept is bounded. A buffer that is used again holds old bytes of other reads: whoever takes
//! one shows only what was read into it ([`Buffer::truncate`]).

use parking_lot::Mutex;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Weak};

/// Smaller buffers are not kept and not aligned, bytes.
pub(super) const LARGE: usize = 64 << 10;
/// Start of a large buffer in memory, bytes.
const ALIGNMENT: usize = 4096;
/// Most bytes kept.
const MOST: usize = 64 << 20;

#[derive(Clone, Default)]
pub(super) struct Buffers {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    memories: Vec<Vec<u8>>,
    bytes: usize,
}

/// Bytes of a read; the memory goes back to its target when they are dropped.
#[derive(Default)]
pub struct Buffer {
    memory: Vec<u8>,
    start: usize,
    len: usize,
    home: Weak<Mutex<Kept>>,
}

impl Buffers {
    /// A buffer of `len` bytes with anything in it.
    pub fn take(&self, len: usize) -> Buffer {
        if len < LARGE {
            return Buffer { memory: vec![0; len], start: 0, len, home: Weak::new() };
        }
        let mut kept = self.kept.lock();
        let found = kept.memories.iter().rposition(|memory| memory.len() >= len + ALIGNMENT);
        let memory = found.map(|at| {
            let memory = kept.memories.swap_remove(at);
            kept.bytes -= memory.len();
            memory
        });
        drop(kept);
        let memory = memory.unwrap_or_else(|| vec![0; len.next_power_of_two() + ALIGNMENT]);
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        assert!(start < ALIGNMENT, "a byte pointer can always be aligned within one step");
        Buffer { memory, start, len, home: Arc::downgrade(&self.kept) }
    }
}

impl Buffer {
    /// The start of the memory, and the bytes from there that may be written: at least its length in whole blocks for
    /// large buffers.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..]
    }

    /// Is it large, and so on a block boundary?
    pub fn is_large(&self) -> bool {
        self.home.strong_count() > 0
    }

    /// Shows only the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Makes it longer or shorter; new bytes are zeros.
    pub fn resize(&mut self, len: usize) {
        if len > self.len {
            let end = self.start + len;
            if self.memory.len() < end {
                self.memory.resize(end, 0);
            }
            self.memory[self.start + self.len..end].fill(0);
        }
        self.len = len;
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Some(home) = self.home.upgrade() else { return };
        let memory = std::mem::take(&mut self.memory);
        let mut kept = home.lock();
        if kept.bytes + memory.len() <= MOST {
            kept.bytes += memory.len();
            kept.memories.push(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_again_aligned_and_bounded() {
        let buffers = Buffers::default();
        let mut buffer = buffers.take(100_000);
        assert_eq!(buffer.as_ptr().align_offset(ALIGNMENT), 0);
        buffer.fill(7);
        let at = buffer.as_ptr();
        drop(buffer);
        let again = buffers.take(90_000);
        assert!(again.len() == 90_000 && again.as_ptr() == at);
        drop(buffers.take(100));
        assert_eq!(buffers.kept.lock().memories.len(), 0, "small ones are not kept");
        drop(again);
        let many: Vec<Buffer> = (0..100).map(|_| buffers.take(1 << 20)).collect();
        drop(many);
        assert!(buffers.kept.lock().bytes <= MOST);
        let orphan = buffers.take(1 << 20);
        drop(buffers);
        assert_eq!(orphan.len(), 1 << 20, "may outlive its target");
    }

    #[test]
    fn what_is_added_is_zero() {
        let buffers = Buffers::default();
        for len in [10, LARGE] {
            let mut buffer = buffers.take(len);
            buffer.fill(7);
            buffer.truncate(5);
            buffer.resize(len * 3);
            assert!(buffer[..5].iter().all(|byte| *byte == 7) && buffer[5..].iter().all(|byte| *byte == 0));
            assert_eq!(buffer.len(), len * 3);
        }
    }
}
