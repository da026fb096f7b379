// SPDX-License-Identifier: Apache-2.0

//! Replies to reads: header and checksums, then the data, from memory or straight from the page cache.
//!
//! **Failure model.** What is sent from the page cache may change on the way, or be cut: it is said in the reply, and whoever gets
//! it compares and asks again.

use crate::chunk_store::{ChunkFile, ReadOut, ZeroCopyRead};
use bytes::Bytes;
use nyala_transport::buffers::Buffer;
use nyala_transport::{FilePart, FileSource, Reply};
use nyala_wire::storage::{READ_IN_PLACE, ReadReplyHeader, encode_bulk};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

struct ReadData {
    data: Buffer,
    _memory: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for ReadData {
    fn as_ref(&self) -> &[u8] {
        &self.data
    }
}

/// Counts against the memory for reads as well: the socket keeps the pages.
struct FileData {
    file: Arc<dyn ChunkFile>,
    _memory: OwnedSemaphorePermit,
}

impl FileSource for FileData {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.file.descriptor(false)
    }
}

/// What a read gives.
pub(super) enum Found {
    /// A copy.
    Copied(ReadOut),
    /// In the page cache.
    ZeroCopyRead(ZeroCopyRead),
}

/// The reply to a bulk read.
pub(super) fn read_reply(found: Found, memory: OwnedSemaphorePermit) -> Reply {
    let (start, len, crcs) = match &found {
        Found::Copied(out) => (out.start, out.data.len(), &out.crcs),
        Found::ZeroCopyRead(here) => (here.start, here.len, &here.crcs),
    };
    let header =
        ReadReplyHeader { start: start.into(), len: (len as u32).into(), checksums: (crcs.len() as u32).into() };
    let reply = Reply::ok(encode_bulk(&header, crcs));
    match found {
        Found::Copied(out) if out.data.is_empty() => reply,
        Found::Copied(out) => reply.with_payload(vec![Bytes::from_owner(ReadData { data: out.data, _memory: memory })]),
        Found::ZeroCopyRead(here) => {
            let file = Arc::new(FileData { file: here.file, _memory: memory });
            Reply { flags: READ_IN_PLACE, ..reply.with_file(FilePart::new(file, start, len)) }
        }
    }
}
