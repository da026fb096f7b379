// SPDX-License-Identifier: Apache-2.0

//! Buffers of large reads, used again: fresh memory from the system costs a page fault per 4 KiB, as much as the read.
//!
//! **Failure model.** What is kept is bounded. A buffer comes back empty, and only bytes that a read has just appended
//! are ever shown.

use parking_lot::Mutex;

/// Smaller buffers are not kept, bytes.
const SMALLEST: usize = 64 << 10;
/// Most bytes kept.
const MOST: usize = 64 << 20;

#[derive(Default)]
pub(super) struct Buffers {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
}

impl Buffers {
    /// An empty buffer with room for `len` bytes.
    pub fn take(&self, len: usize) -> Vec<u8> {
        if len < SMALLEST {
            return Vec::with_capacity(len);
        }
        let mut kept = self.kept.lock();
        match kept.buffers.iter().rposition(|buffer| buffer.capacity() >= len) {
            Some(at) => {
                let buffer = kept.buffers.swap_remove(at);
                kept.bytes -= buffer.capacity();
                buffer
            }
            None => Vec::with_capacity(len.next_power_of_two()),
        }
    }

    /// Takes a buffer back.
    pub fn give_back(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut kept = self.kept.lock();
        if buffer.capacity() >= SMALLEST && kept.bytes + buffer.capacity() <= MOST {
            kept.bytes += buffer.capacity();
            kept.buffers.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_again_empty_and_bounded() {
        let buffers = Buffers::default();
        let mut buffer = buffers.take(100_000);
        buffer.extend_from_slice(&[7; 100]);
        let at = buffer.as_ptr();
        buffers.give_back(buffer);
        let again = buffers.take(90_000);
        assert!(again.is_empty() && again.as_ptr() == at);
        buffers.give_back(vec![0; 100]);
        assert_eq!(buffers.kept.lock().buffers.len(), 0, "small ones are not kept");
        for _ in 0..100 {
            buffers.give_back(Vec::with_capacity(1 << 20));
        }
        assert!(buffers.kept.lock().bytes <= MOST);
    }
}
