// SPDX-License-Identifier: Apache-2.0

//! A chunk file as an object of a set. Failure model: see the parent module.

use super::inner::{Inner, object, set_error, table_error};
use crate::chunk_store::ChunkFile;
use nyala_wire::storage::ChunkFileId;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// One of them.
pub(super) struct SetChunk {
    pub inner: Arc<Inner>,
    pub file: ChunkFileId,
}

impl SetChunk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.inner.len(self.file)?.unwrap_or(0))
    }
}

impl ChunkFile for SetChunk {
    fn stat(&self) -> io::Result<(u64, u64)> {
        let len = self.len()?;
        Ok((len, len.div_ceil(512)))
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = self.len()?.saturating_sub(offset);
        let len = buf.len().min(usize::try_from(rest).unwrap_or(usize::MAX));
        if len > 0 {
            let read = || self.inner.set.read(object(self.file), offset..offset + len as u64);
            buf[..len].copy_from_slice(&self.inner.load.timed(false, len, read).map_err(set_error)?);
        }
        Ok(len)
    }

    fn read_cached(&self, _buf: &mut [u8], _offset: u64) -> io::Result<Option<usize>> {
        Ok(None)
    }

    fn is_cached(&self, _offset: u64, _len: usize) -> bool {
        false
    }

    fn is_mostly_cached(&self, _offset: u64, _len: usize) -> bool {
        false
    }

    fn descriptor(&self, _direct: bool) -> Option<BorrowedFd<'_>> {
        None
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<usize> {
        let end = offset.checked_add(data.len() as u64).ok_or_else(|| io::Error::from_raw_os_error(libc::EFBIG))?;
        if !self.inner.load.has_room(data.len() as u64) {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        if end > self.len()? {
            self.inner.put_len(self.file, end)?;
            // A file must not be shorter than what was acknowledged, whoever dies.
            self.inner.kv.flush().map_err(table_error)?;
        }
        let write = || self.inner.set.write(object(self.file), offset, data);
        self.inner.load.timed(true, data.len(), write).map_err(set_error)?;
        Ok(data.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let before = self.len()?;
        if len < before {
            // Before the length: whoever does it again looks at that.
            self.inner.set.clear(object(self.file), len, before).map_err(set_error)?;
        }
        if len == before {
            return Ok(());
        }
        self.inner.put_len(self.file, len)?;
        self.inner.kv.flush().map(drop).map_err(table_error)
    }

    fn clear_behind(&self) -> io::Result<()> {
        self.inner.set.clear(object(self.file), self.len()?, u64::MAX).map_err(set_error)
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        // Blocks without checksums are zeros to whoever reads; only whole stripes give space back.
        let stripe = self.inner.set.geometry().stripe_bytes() as u64;
        let (first, end) = (offset.div_ceil(stripe), offset.saturating_add(len).min(self.len()?) / stripe);
        if first < end { self.inner.set.discard(object(self.file), first..end).map_err(set_error) } else { Ok(()) }
    }

    fn allocate(&self, _offset: u64, _len: u64) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.inner.sync()
    }
}
