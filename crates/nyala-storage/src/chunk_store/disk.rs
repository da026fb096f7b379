// SPDX-License-Identifier: Apache-2.0

//! What the chunk store asks of a file system, as traits, so that tests can crash, tear and fail it.

use nyala_wire::storage::ChunkFileId;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// The chunk files of one target.
pub trait ChunkDisk: Send + Sync + 'static {
    /// Opens a chunk file; a missing one is made if `create` says so, and is `None` otherwise.
    fn open(&self, file: ChunkFileId, create: bool) -> io::Result<Option<Opened>>;
    /// Removes a chunk file; a missing one is fine.
    fn remove(&self, file: ChunkFileId) -> io::Result<()>;
    /// Makes the directory entries that lead to a chunk file durable.
    fn sync_dirs(&self, file: ChunkFileId) -> io::Result<()>;
    /// Makes everything on the file system durable.
    fn sync_all(&self) -> io::Result<()>;
    /// Is it all in memory, so that nothing waits for a disk?
    fn is_memory(&self) -> bool {
        false
    }
    /// Can even a short write have to wait for a disk?
    fn writes_wait(&self) -> bool {
        false
    }
}

/// An open chunk file.
pub struct Opened {
    /// The file.
    pub file: Arc<dyn ChunkFile>,
    /// It was made by this call.
    pub created: bool,
}

/// One chunk file.
pub trait ChunkFile: Send + Sync {
    /// Length in bytes and use in units of 512 bytes.
    fn stat(&self) -> io::Result<(u64, u64)>;
    /// Fills `buf` from `offset` on and says how far; less only at the end of the file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
    /// The same, but from the disk itself even where the page cache has it, if that is possible.
    fn read_from_disk(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read_at(buf, offset)
    }
    /// Fills `buf` only if that needs no disk, and says how far; `None` otherwise.
    fn read_cached(&self, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>>;
    /// Can a range be read without the disk? May err on the side of no.
    fn is_cached(&self, offset: u64, len: usize) -> bool;
    /// Is reading a range through the page cache the shorter way?
    fn is_mostly_cached(&self, offset: u64, len: usize) -> bool;
    /// What an io_uring may read from: past the page cache, if that is wanted and possible, or through it.
    fn descriptor(&self, direct: bool) -> Option<BorrowedFd<'_>>;
    /// Writes some bytes and says how many.
    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<usize>;
    /// Sets the length.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Makes what is behind the end zeros, where a loss of power may have left something else there.
    fn clear_behind(&self) -> io::Result<()> {
        Ok(())
    }
    /// Makes a hole without changing the length; doing nothing is allowed where the file system has no holes.
    fn punch(&self, offset: u64, len: u64) -> io::Result<()>;
    /// Reserves space without changing the length.
    fn allocate(&self, offset: u64, len: u64) -> io::Result<()>;
    /// Makes content and length durable.
    fn sync_data(&self) -> io::Result<()>;
}

/// Writes all of `data`, going on after short writes.
pub(crate) fn write_all(file: &dyn ChunkFile, mut data: &[u8], mut offset: u64) -> io::Result<()> {
    while !data.is_empty() {
        match file.write_at(data, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => {
                data = &data[n..];
                offset += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
