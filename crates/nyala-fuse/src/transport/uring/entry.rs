// SPDX-License-Identifier: Apache-2.0

//! One ring entry's memory, which the kernel, this thread and a handler use in turn.
//!
//! Laid out as: what describes the memory to the kernel, the headers, room into which the first argument is copied so
//! that it and the payload behind it are one piece as on the classic device, and, from the second page on, the payload.
//! The data of a WRITE therefore starts on a page.
//!
//! **Failure model.** A handler can keep the data of a WRITE beyond its reply, on any thread, and drop it there: the reply
//! then waits until the data is let go, and the ring's thread is told. The kernel can state lengths that
//! do not fit: such a request is an error, and nothing is read beyond the memory.

use super::abi::{EntInOut, HEADER_ROOM_BYTES, Headers};
use crate::abi::header::{InHeader, OutHeader};
use crate::buf::{Mapping, PAGE_BYTES};
use nyala_ring::Bell;
use std::io::{self, IoSlice};
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use zerocopy::{FromBytes, IntoBytes};

/// Where the headers are; the kernel wants no particular alignment.
const HEADERS_AT: usize = 512;
/// Where the payload is.
const PAYLOAD_AT: usize = PAGE_BYTES;

/// Nobody but the ring's thread uses it.
const FREE: u8 = 0;
/// A request's buffer lives.
const HELD: u8 = 1;
/// As before, and the reply waits for its end.
const WANTED: u8 = 2;

/// The memory of one entry.
pub(super) struct EntryMem {
    mapping: Mapping,
    payload_bytes: usize,
    held: AtomicU8,
    bell: Arc<Bell>,
}

impl EntryMem {
    pub(super) fn new(payload_bytes: usize, bell: Arc<Bell>) -> io::Result<Arc<EntryMem>> {
        let mapping = Mapping::new(PAYLOAD_AT + payload_bytes)?;
        let iovecs = [(HEADERS_AT, size_of::<Headers>()), (PAYLOAD_AT, payload_bytes)]
            .map(|(at, len)| libc::iovec { iov_base: mapping.at(at).cast(), iov_len: len });
        // SAFETY: the first bytes of the mapping are ours, large enough and aligned, and nobody else knows of them yet.
        unsafe { mapping.at(0).cast::<[libc::iovec; 2]>().write(iovecs) };
        Ok(Arc::new(EntryMem { mapping, payload_bytes, held: AtomicU8::new(FREE), bell }))
    }

    /// Address of the two descriptions of memory that registering an entry takes, and their number.
    pub(super) fn iovecs(&self) -> (u64, u32) {
        (self.mapping.at(0) as u64, 2)
    }

    /// Copies bytes out of the memory. Only for the ring's thread, while the entry is not the kernel's.
    fn get<T: FromBytes>(&self, at: usize) -> T {
        assert!(at + size_of::<T>() <= PAYLOAD_AT);
        // SAFETY: inside the first page of the mapping, checked above; any bytes are a T; nobody writes there now.
        unsafe { self.mapping.at(at).cast::<T>().read_unaligned() }
    }

    /// Copies bytes into the memory. Only for the ring's thread, while the entry is not the kernel's and not held.
    fn put(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= PAYLOAD_AT + self.payload_bytes);
        // SAFETY: inside the mapping, checked above; the source is not in the mapping, since no buffer of it lives.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.mapping.at(at), bytes.len()) };
    }

    /// The request that the kernel has put here: its header and a buffer with its arguments.
    pub(super) fn take(self: &Arc<EntryMem>) -> Result<(InHeader, EntryBuf), InHeader> {
        let header: InHeader = self.get(HEADERS_AT);
        let ent: EntInOut = self.get(HEADERS_AT + offset_of!(Headers, ent));
        let (total, payload) = (header.len as usize, ent.payload_bytes as usize);
        let first = total.checked_sub(size_of::<InHeader>() + payload);
        let first = first.filter(|first| *first <= HEADER_ROOM_BYTES && payload <= self.payload_bytes);
        let first = first.ok_or(header)?;
        let op_in: [u8; HEADER_ROOM_BYTES] = self.get(HEADERS_AT + offset_of!(Headers, op_in));
        let start = PAYLOAD_AT - first;
        self.put(start, &op_in[..first]);
        self.held.store(HELD, Ordering::Release);
        Ok((header, EntryBuf { mem: Arc::clone(self), start, end: PAYLOAD_AT + payload }))
    }

    /// Whether a reply may be written now; if not, the bell will ring when it may.
    pub(super) fn is_free(&self) -> bool {
        self.held.compare_exchange(HELD, WANTED, Ordering::AcqRel, Ordering::Acquire).is_err_and(|now| now == FREE)
    }

    /// How long a reply may be.
    pub(super) fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// Writes a reply, which fits and for which the memory is free.
    pub(super) fn reply(&self, unique: u64, error: i32, body: &[IoSlice<'_>]) {
        let mut at = PAYLOAD_AT;
        for part in body {
            self.put(at, part);
            at += part.len();
        }
        let bytes = (at - PAYLOAD_AT) as u32;
        let out = OutHeader { len: size_of::<OutHeader>() as u32 + bytes, error, unique };
        self.put(HEADERS_AT, out.as_bytes());
        let ent = EntInOut { commit_id: unique, payload_bytes: bytes, ..EntInOut::default() };
        self.put(HEADERS_AT + offset_of!(Headers, ent), ent.as_bytes());
    }
}

/// A request's arguments, in the entry they came in. The entry cannot be used again before this is dropped.
pub(crate) struct EntryBuf {
    mem: Arc<EntryMem>,
    start: usize,
    end: usize,
}

impl EntryBuf {
    /// The arguments.
    pub(crate) fn filled(&self) -> &[u8] {
        let len = self.end - self.start;
        // SAFETY: inside the mapping (`take` has checked), which `mem` keeps; nobody writes there while this lives.
        unsafe { std::slice::from_raw_parts(self.mem.mapping.at(self.start), len) }
    }
}

impl Drop for EntryBuf {
    fn drop(&mut self) {
        if self.mem.held.swap(FREE, Ordering::AcqRel) == WANTED {
            self.mem.bell.ring();
        }
    }
}
