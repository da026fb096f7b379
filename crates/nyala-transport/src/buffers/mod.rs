// SPDX-License-Identifier: Apache-2.0

//! Buffers that start on a 4 KiB boundary and are used again: of payloads that come from a socket, and of a storage
//! service's reads from its disk.
//!
//! **Failure model.** Peers choose lengths; the frame codec has bounded them. What is kept for later is bounded too. A
//! buffer used again holds old bytes of other requests: whoever takes one shows only what was just received or read into
//! it ([`Buffer::truncate`]). A buffer may outlive its pool.
//!
//! Why not a fresh `Vec`: a megabyte from the system costs 256 page faults, as much as receiving or reading it does. Why
//! aligned: direct I/O wants it, and so a payload goes from the socket to the disk without another copy.
//!
//! The requests of a FUSE session lie in memory of another kind (`nyala_fuse::buf`): whole pages from the kernel that a
//! request is laid out in so that its data, behind 80 bytes of headers, starts on a page.

mod buffer;
mod spare;

pub use buffer::Buffer;
pub use spare::LARGE;
pub(crate) use spare::occupied;

use crate::aligned::Aligned;
use parking_lot::Mutex;
use spare::{PoolSlot, SpareMemory, class_of};
use std::fmt;
use std::sync::Arc;

/// The kept buffers of one pool of connections, one server or one target, by powers of two from [`LARGE`] to 8 MiB.
/// Clones share them.
#[derive(Clone)]
pub struct Buffers {
    spare: Arc<Mutex<SpareMemory>>,
}

impl Buffers {
    /// Keeps at most `limit` bytes for later.
    pub fn new(limit: usize) -> Buffers {
        Buffers { spare: Arc::new(Mutex::new(SpareMemory { classes: Default::default(), bytes: 0, limit })) }
    }

    /// A buffer of `len` bytes with anything in it.
    pub fn take(&self, len: usize) -> Buffer {
        let Some(class) = class_of(len) else {
            return Buffer { memory: Aligned::plain(len), len, slot: None };
        };
        let spare = {
            let mut spare = self.spare.lock();
            let found = spare.classes[class].pop();
            if let Some(memory) = &found {
                spare.bytes -= memory.len();
            }
            found
        };
        let memory = spare.map_or_else(|| Aligned::new(LARGE << class), Aligned::of);
        Buffer { memory, len, slot: Some(PoolSlot { spare: Arc::downgrade(&self.spare), class }) }
    }
}

impl fmt::Debug for Buffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffers({} bytes kept)", self.spare.lock().bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::spare::CLASSES;
    use super::*;
    use crate::aligned::ALIGNMENT;
    use nyala_wire::frame::MAX_PAYLOAD;

    #[test]
    fn large_buffers_are_aligned_and_come_back() {
        let buffers = Buffers::new(64 << 20);
        for len in [LARGE, LARGE + 1, 1 << 20, MAX_PAYLOAD] {
            let mut buffer = buffers.take(len);
            buffer.fill(7);
            let bytes = buffer.into_bytes(None);
            let at = bytes.as_ptr();
            assert_eq!(at.align_offset(ALIGNMENT), 0);
            assert!(bytes.len() == len && bytes.iter().all(|b| *b == 7));
            let slice = bytes.slice(1..2);
            drop(bytes);
            assert_ne!(buffers.take(len).as_ptr(), at, "still shown");
            drop(slice);
        }
        let first = buffers.take(100_000);
        let at = first.as_ptr();
        drop(first.into_bytes(None));
        assert_eq!(buffers.take(90_000).as_ptr(), at, "used again");
        let orphan = buffers.take(1 << 20);
        drop(buffers);
        assert_eq!(orphan.len(), 1 << 20, "may outlive its pool");
    }

    #[test]
    fn small_ones_are_plain_and_not_kept() {
        let buffers = Buffers::new(64 << 20);
        let mut buffer = buffers.take(100);
        assert!(!buffer.is_large() && buffer.len() == 100);
        buffer.fill(7);
        buffer.truncate(3);
        assert_eq!(buffer.into_bytes(None), &[7; 3][..]);
        drop(buffers.take(100));
        assert_eq!(buffers.spare.lock().bytes, 0);
    }

    #[test]
    fn what_is_added_is_zero() {
        let buffers = Buffers::new(64 << 20);
        for len in [10, LARGE] {
            let mut buffer = buffers.take(len);
            buffer.fill(7);
            buffer.truncate(5);
            buffer.resize(len * 3);
            assert!(buffer[..5].iter().all(|byte| *byte == 7) && buffer[5..].iter().all(|byte| *byte == 0));
            assert_eq!(buffer.len(), len * 3);
        }
        assert_eq!(buffers.spare.lock().bytes, 0, "what has outgrown its class is not kept");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let buffers = Buffers::new(3 << 20);
        let taken: Vec<_> = (0..8).map(|_| buffers.take(1 << 20)).collect();
        drop(taken);
        assert!(buffers.spare.lock().bytes <= 3 << 20);
        assert_eq!(buffers.spare.lock().classes[4].len(), 2);
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
