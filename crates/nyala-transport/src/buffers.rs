// SPDX-License-Identifier: Apache-2.0

//! Payload buffers that start on a 4 KiB boundary and are used again.
//!
//! **Failure model.** Peers choose lengths; the frame codec has bounded them. What is kept for later is bounded too. A
//! buffer used again holds old bytes of other requests: only bytes that were just received are ever shown.
//!
//! Why not a fresh `Vec`: a megabyte from the system costs 256 page faults, as much as receiving it does. Why aligned:
//! `O_DIRECT` writes want it, and so a payload goes from the socket to the disk without another copy.

use crate::budget::Permit;
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::Arc;

/// Start of every large payload in memory, bytes.
pub const ALIGNMENT: usize = 4096;
/// Payloads from this length on are aligned and their buffers kept, bytes.
pub const LARGE: usize = 64 << 10;
const CLASSES: usize = 8;

/// The kept buffers of one pool of connections or one server, by powers of two from [`LARGE`] to 8 MiB.
#[derive(Debug, Clone)]
pub(crate) struct Buffers {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug)]
struct Kept {
    classes: [Vec<Vec<u8>>; CLASSES],
    bytes: usize,
    limit: usize,
}

/// Memory for one payload, to be filled and then shown as [`Bytes`].
#[derive(Debug)]
pub(crate) struct Buffer {
    memory: Vec<u8>,
    start: usize,
    len: usize,
    home: Option<Arc<Mutex<Kept>>>,
}

struct Shown {
    buffer: Buffer,
    _permit: Option<Permit>,
}

fn class_of(len: usize) -> Option<usize> {
    let class = len.next_power_of_two().trailing_zeros().checked_sub(LARGE.trailing_zeros())? as usize;
    (class < CLASSES).then_some(class)
}

/// What a payload of this length occupies in memory, bytes.
pub(crate) fn occupied(len: usize) -> usize {
    class_of(len).map_or(len, |class| LARGE << class)
}

impl Buffers {
    /// Keeps at most `limit` bytes for later.
    pub(crate) fn new(limit: usize) -> Buffers {
        Buffers { kept: Arc::new(Mutex::new(Kept { classes: Default::default(), bytes: 0, limit })) }
    }

    pub(crate) fn take(&self, len: usize) -> Buffer {
        let Some(class) = class_of(len) else {
            return Buffer { memory: vec![0; len], start: 0, len, home: None };
        };
        let kept = {
            let mut kept = self.kept.lock();
            let found = kept.classes[class].pop();
            if let Some(memory) = &found {
                kept.bytes -= memory.len();
            }
            found
        };
        let memory = kept.unwrap_or_else(|| vec![0; (LARGE << class) + ALIGNMENT]);
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        assert!(start < ALIGNMENT, "a byte pointer can always be aligned within one step");
        Buffer { memory, start, len, home: Some(self.kept.clone()) }
    }
}

impl Buffer {
    pub(crate) fn as_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }

    /// The filled buffer; memory and permit go back when the last clone or slice of it is dropped.
    pub(crate) fn into_bytes(mut self, permit: Option<Permit>) -> Bytes {
        if self.home.is_none() && permit.is_none() {
            return Bytes::from(std::mem::take(&mut self.memory));
        }
        Bytes::from_owner(Shown { buffer: self, _permit: permit })
    }
}

impl AsRef<[u8]> for Shown {
    fn as_ref(&self) -> &[u8] {
        &self.buffer.memory[self.buffer.start..self.buffer.start + self.buffer.len]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let (Some(home), Some(class)) = (self.home.take(), class_of(self.len)) else { return };
        let memory = std::mem::take(&mut self.memory);
        let mut kept = home.lock();
        if kept.bytes + memory.len() <= kept.limit {
            kept.bytes += memory.len();
            kept.classes[class].push(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::frame::MAX_PAYLOAD;

    #[test]
    fn large_buffers_are_aligned_and_come_back() {
        let buffers = Buffers::new(64 << 20);
        for len in [LARGE, LARGE + 1, 1 << 20, MAX_PAYLOAD] {
            let mut buffer = buffers.take(len);
            buffer.as_mut().fill(7);
            let bytes = buffer.into_bytes(None);
            let at = bytes.as_ptr();
            assert_eq!(at.align_offset(ALIGNMENT), 0);
            assert!(bytes.len() == len && bytes.iter().all(|b| *b == 7));
            let slice = bytes.slice(1..2);
            drop(bytes);
            assert_ne!(buffers.take(len).memory.as_ptr().wrapping_add(ALIGNMENT), at, "still shown");
            drop(slice);
        }
        let first = buffers.take(1 << 20);
        let at = first.memory.as_ptr();
        drop(first.into_bytes(None));
        assert_eq!(buffers.take(1 << 20).memory.as_ptr(), at, "used again");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let buffers = Buffers::new(3 << 20);
        let taken: Vec<_> = (0..8).map(|_| buffers.take(1 << 20)).collect();
        drop(taken);
        assert!(buffers.kept.lock().bytes <= 3 << 20);
        assert_eq!(buffers.kept.lock().classes[4].len(), 2);
    }

    #[test]
    fn classes_cover_every_legal_length() {
        assert_eq!(class_of(0), None);
        assert_eq!(class_of(LARGE / 2), None);
        assert_eq!(class_of(LARGE), Some(0));
        assert_eq!(class_of(MAX_PAYLOAD), Some(CLASSES - 1));
        assert_eq!(occupied(LARGE + 1), 2 * LARGE);
    }
}
