// SPDX-License-Identifier: Apache-2.0

//! The buffers that requests are read into, and the guard under which a WRITE's data stays in one.
//!
//! **Failure model.** Memory can run out: getting a buffer is then an error of that one read. Handlers can be slow, so
//! that many WRITEs hold buffers at once: their number is bounded, and the reader waits for one to come back instead of
//! taking more. A guard may be dropped on any thread, after the session has ended too.
//!
//! A buffer is laid out so that the data of a WRITE, which follows 80 bytes of headers, starts on a page. That is why they are
//! not of the pool that payloads and reads from disks have (`nyala_transport::buffers`): here all are of one length, begin
//! before a page rather than on one, are whole pages of a mapping that is only backed where it was touched, and are waited for
//! when too many are out.

use crate::memory::{Mapping, PAGE_BYTES};
use crate::transport::uring::EntryBuf;
use bytes::Bytes;
use parking_lot::Mutex;
use std::io;
use std::ops::Deref;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Headers of a WRITE: `InHeader` and `WriteIn`.
const WRITE_HEADERS_BYTES: usize = 80;
/// Where in the mapping a request starts.
const START: usize = PAGE_BYTES - WRITE_HEADERS_BYTES;

/// What the pool and its buffers share.
struct Shelf {
    free: Mutex<Vec<Mapping>>,
    keep: usize,
    request_bytes: usize,
    permits: Arc<Semaphore>,
}

/// Buffers of one size, kept for the next request.
#[derive(Clone)]
pub(crate) struct BufPool {
    shelf: Arc<Shelf>,
}

impl BufPool {
    /// A pool whose buffers hold requests of up to `max_write` bytes of data. At most `max_out` are handed out at any
    /// time; `keep` are kept when they come back.
    pub(crate) fn new(max_write: usize, max_out: usize, keep: usize) -> BufPool {
        // Other requests (SETXATTR: 64 KiB of value and a name) must fit as well.
        let request_bytes = WRITE_HEADERS_BYTES + max_write.max(128 * 1024);
        let permits = Arc::new(Semaphore::new(max_out));
        BufPool { shelf: Arc::new(Shelf { free: Mutex::new(Vec::new()), keep, request_bytes, permits }) }
    }

    /// A buffer, once there is one.
    pub(crate) async fn get(&self) -> io::Result<PoolBuf> {
        let permits = Arc::clone(&self.shelf.permits);
        let permit = permits.acquire_owned().await.map_err(|_| io::Error::other("buffer pool closed"))?;
        let kept = self.shelf.free.lock().pop();
        let mapping = match kept {
            Some(mapping) => mapping,
            None => Mapping::new(START + self.shelf.request_bytes)?,
        };
        Ok(PoolBuf { mapping: Some(mapping), filled: 0, shelf: Arc::clone(&self.shelf), _permit: permit })
    }
}

/// What a request's arguments are in.
pub(crate) enum Buf {
    /// Read from the device.
    Pooled(PoolBuf),
    /// In the ring entry that brought it.
    Entry(EntryBuf),
}

impl Buf {
    /// The request, or on a ring its arguments alone.
    pub(crate) fn filled(&self) -> &[u8] {
        match self {
            Buf::Pooled(buf) => buf.filled(),
            Buf::Entry(buf) => buf.filled(),
        }
    }
}

/// A buffer that goes back to its pool when dropped.
pub(crate) struct PoolBuf {
    /// None only while being dropped.
    mapping: Option<Mapping>,
    filled: usize,
    shelf: Arc<Shelf>,
    _permit: OwnedSemaphorePermit,
}

impl PoolBuf {
    /// The space for a request.
    pub(crate) fn request_space(&mut self) -> &mut [u8] {
        self.mapping.as_mut().map_or(&mut [], |mapping| &mut mapping.bytes_mut()[START..])
    }

    /// Says how many bytes of the space hold the request.
    pub(crate) fn set_filled(&mut self, bytes: usize) {
        self.filled = bytes.min(self.shelf.request_bytes);
    }

    /// The request.
    pub(crate) fn filled(&self) -> &[u8] {
        self.mapping.as_ref().map_or(&[], |mapping| &mapping.bytes()[START..START + self.filled])
    }
}

impl Drop for PoolBuf {
    fn drop(&mut self) {
        if let Some(mapping) = self.mapping.take() {
            let mut free = self.shelf.free.lock();
            if free.len() < self.shelf.keep {
                free.push(mapping);
            }
        }
    }
}

/// The data of a WRITE, in the buffer it was read into. The buffer is free again when this is dropped.
///
/// A handler that keeps it beyond its reply takes the bytes by [`WriteData::into_bytes`]: on a ring, the entry that they
/// came in would otherwise need new memory.
pub struct WriteData {
    source: Source,
    start: usize,
    end: usize,
}

enum Source {
    Request(Buf),
    Owned(Vec<u8>),
}

impl WriteData {
    /// The bytes `start..end` of a request's buffer; the caller has checked that they are inside.
    pub(crate) fn new(buf: Buf, start: usize, end: usize) -> WriteData {
        let end = end.min(buf.filled().len());
        WriteData { source: Source::Request(buf), start: start.min(end), end }
    }

    /// Hands the buffer on, for instance to a socket; it is free again when the last clone is dropped. Without a copy,
    /// except from a ring: its few entries cannot wait for whoever keeps the bytes.
    pub fn into_bytes(self) -> Bytes {
        match self.source {
            Source::Request(Buf::Entry(_)) => Bytes::copy_from_slice(&self),
            _ => Bytes::from_owner(self),
        }
    }
}

impl From<Vec<u8>> for WriteData {
    /// For tests of handlers.
    fn from(data: Vec<u8>) -> WriteData {
        let end = data.len();
        WriteData { source: Source::Owned(data), start: 0, end }
    }
}

impl Deref for WriteData {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.source {
            Source::Request(buf) => &buf.filled()[self.start..self.end],
            Source::Owned(data) => data,
        }
    }
}

impl AsRef<[u8]> for WriteData {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl std::fmt::Debug for WriteData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WriteData({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::task::{Context, Poll, Waker};

    fn poll_once<T>(future: impl Future<Output = T>) -> Poll<T> {
        std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    fn take(pool: &BufPool) -> PoolBuf {
        match poll_once(pool.get()) {
            Poll::Ready(Ok(buf)) => buf,
            _ => panic!("no buffer"),
        }
    }

    #[test]
    fn write_data_starts_on_a_page_and_is_not_copied() {
        let pool = BufPool::new(1 << 20, 2, 2);
        let mut buf = take(&pool);
        assert!(buf.request_space().len() >= 80 + (1 << 20));
        buf.request_space()[80..84].copy_from_slice(b"data");
        buf.set_filled(84);
        let before = buf.filled()[80..].as_ptr();
        let data = WriteData::new(Buf::Pooled(buf), 80, 84);
        assert_eq!(data.as_ptr() as usize % PAGE_BYTES, 0);
        let bytes = data.into_bytes();
        assert_eq!((bytes.as_ptr(), &bytes[..]), (before, &b"data"[..]));
    }

    #[test]
    fn buffers_are_bounded_and_come_back() {
        let pool = BufPool::new(4096, 2, 1);
        let first = take(&pool);
        let _second = take(&pool);
        assert!(poll_once(pool.get()).is_pending(), "a third buffer was handed out");
        drop(first);
        let _third = take(&pool);
        assert_eq!(pool.shelf.free.lock().len(), 0);
    }

    #[test]
    fn lengths_beyond_the_buffer_are_cut() {
        let pool = BufPool::new(4096, 2, 1);
        let mut buf = take(&pool);
        buf.set_filled(100);
        assert_eq!(WriteData::new(Buf::Pooled(buf), 90, 5000).len(), 10);
        let buf = take(&pool);
        assert_eq!(WriteData::new(Buf::Pooled(buf), 90, 5000).len(), 0);
    }
}
