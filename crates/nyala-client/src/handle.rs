// SPDX-License-Identifier: Apache-2.0

//! An open file.

use crate::*;
use bytes::Bytes;
use nyala_wire::InodeId;

/// An open file. Clones are the same handle (one error report, one release).
#[derive(Clone)]
pub struct FileHandle;

impl FileHandle {
    /// The file.
    pub fn inode(&self) -> InodeId {
        InodeId::ROOT
    }

    /// Reads up to `len` bytes at `offset`: pieces in order, together shorter than `len` only at the file's end.
    pub async fn read(&self, offset: u64, len: usize) -> Result<Vec<Bytes>> {
        Err(Error::ShutDown)
    }

    /// Writes at `offset` (at the end if opened so); buffered. Returns the bytes taken: all.
    pub async fn write(&self, offset: u64, data: &[u8]) -> Result<usize> {
        Err(Error::ShutDown)
    }

    /// What close(2) does: pushes to the servers and reports errors.
    pub async fn flush(&self) -> Result<()> {
        Err(Error::ShutDown)
    }

    /// Data (and attributes) on disk when it returns.
    pub async fn fsync(&self, datasync: bool) -> Result<()> {
        Err(Error::ShutDown)
    }

    /// The handle is done; the file's last one closes it. Reports errors not reported yet.
    pub async fn release(self) -> Result<()> {
        Err(Error::ShutDown)
    }

    /// `fallocate(2)`: mode 0, KEEP_SIZE, PUNCH_HOLE|KEEP_SIZE, ZERO_RANGE[|KEEP_SIZE].
    pub async fn fallocate(&self, mode: i32, offset: u64, len: u64) -> Result<()> {
        Err(Error::ShutDown)
    }

    /// `SEEK_DATA` and `SEEK_HOLE`; ENXIO behind the end.
    pub async fn seek(&self, offset: u64, target: SeekTarget) -> Result<u64> {
        Err(Error::ShutDown)
    }
}
