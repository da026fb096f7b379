// SPDX-License-Identifier: Apache-2.0

//! One ring entry's memory, which the kernel, this thread and a handler use in turn.
//!
//! Laid out as: what describes the memory to the kernel, the headers, room into which the first argument is copied so
//! that it and the payload behind it are one piece as on the classic device, and, from the second page on, the payload.
//! The data of a WRITE therefore starts on a page.
//!
//! The memory stands at two addresses: the kernel and this thread use the one that was told to the kernel, which cannot be
//! changed any more; handlers read their data at the other.
//!
//! **Failure model.** A handler can keep the data of a WRITE beyond the reply, on any thread: its caller is killed or has waited
//! for too long, while the data still waits for a server. The reply, and the next request with it, then goes into new
//! pages, and the handler keeps the old ones. If there is no memory for them, the reply fails. The kernel can state lengths that
//! do not fit: such a request is an error, and nothing is read beyond the memory.

use super::abi::{EntInOut, HEADER_ROOM_BYTES, Headers};
use crate::abi::header::{InHeader, OutHeader};
use crate::memory::{Mapping, PAGE_BYTES};
use std::io::{self, IoSlice};
use std::mem::offset_of;
use std::sync::Arc;
use zerocopy::{FromBytes, IntoBytes};

/// Where the headers are; the kernel wants no particular alignment.
const HEADERS_AT: usize = 512;
/// Where the payload is.
const PAYLOAD_AT: usize = PAGE_BYTES;

/// The memory of one entry.
pub(super) struct EntryMem {
    /// At the kernel's address. No reference to these bytes is ever made.
    memory: Mapping,
    /// The same pages at the handlers' address.
    twin: Arc<Mapping>,
    payload_bytes: usize,
}

impl EntryMem {
    pub(super) fn new(payload_bytes: usize) -> io::Result<EntryMem> {
        let memory = Mapping::shared(PAYLOAD_AT + payload_bytes)?;
        let twin = Arc::new(memory.twin()?);
        let mem = EntryMem { memory, twin, payload_bytes };
        mem.describe();
        Ok(mem)
    }

    /// Writes down for the kernel where the headers and the payload are.
    fn describe(&self) {
        let iovecs = [(HEADERS_AT, size_of::<Headers>()), (PAYLOAD_AT, self.payload_bytes)]
            .map(|(at, len)| libc::iovec { iov_base: self.memory.at(at).cast(), iov_len: len });
        // SAFETY: the first bytes of the mapping are ours, large enough and aligned, and not given to handlers.
        unsafe { self.memory.at(0).cast::<[libc::iovec; 2]>().write(iovecs) };
    }

    /// Address of the two descriptions of memory that registering an entry takes, and their number.
    pub(super) fn iovecs(&self) -> (u64, u32) {
        (self.memory.at(0) as u64, 2)
    }

    /// Copies bytes out of the memory. Only while the entry is not the kernel's.
    fn get<T: FromBytes>(&self, at: usize) -> T {
        assert!(at + size_of::<T>() <= PAYLOAD_AT);
        // SAFETY: inside the first page of the mapping, checked above; any bytes are a T; nobody writes there now.
        unsafe { self.memory.at(at).cast::<T>().read_unaligned() }
    }

    /// Copies bytes into the memory. Only while the entry is not the kernel's and no handler's.
    fn put(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= PAYLOAD_AT + self.payload_bytes);
        // SAFETY: inside the mapping, checked above; the source is not in the mapping, since no buffer of it lives.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.memory.at(at), bytes.len()) };
    }

    /// The request that the kernel has put here: its header and a buffer with its arguments.
    pub(super) fn take(&self) -> Result<(InHeader, EntryBuf), InHeader> {
        let header: InHeader = self.get(HEADERS_AT);
        let ent: EntInOut = self.get(HEADERS_AT + offset_of!(Headers, ent));
        let (total, payload) = (header.len as usize, ent.payload_bytes as usize);
        let first = total.checked_sub(size_of::<InHeader>() + payload);
        let first = first.filter(|first| *first <= HEADER_ROOM_BYTES && payload <= self.payload_bytes);
        let first = first.ok_or(header)?;
        let op_in: [u8; HEADER_ROOM_BYTES] = self.get(HEADERS_AT + offset_of!(Headers, op_in));
        let start = PAYLOAD_AT - first;
        self.put(start, &op_in[..first]);
        Ok((header, EntryBuf { pages: Arc::clone(&self.twin), start, end: PAYLOAD_AT + payload }))
    }

    /// How long a reply may be.
    pub(super) fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// Writes a reply, which fits. Errors: a handler keeps the pages, and there are no others.
    pub(super) fn reply(&mut self, unique: u64, error: i32, body: &[IoSlice<'_>]) -> io::Result<()> {
        if Arc::get_mut(&mut self.twin).is_none() {
            self.memory.renew()?;
            self.twin = Arc::new(self.memory.twin()?);
            self.describe();
        }
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
        Ok(())
    }
}

/// A request's arguments, in the pages they came in, which get no other request before this is dropped.
pub(crate) struct EntryBuf {
    pages: Arc<Mapping>,
    start: usize,
    end: usize,
}

impl EntryBuf {
    /// The arguments.
    pub(crate) fn filled(&self) -> &[u8] {
        &self.pages.bytes()[self.start..self.end]
    }
}
