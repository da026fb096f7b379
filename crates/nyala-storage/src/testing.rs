// SPDX-License-Identifier: Apache-2.0

//! Chunk files on a simulated disk, which loses what was not synced.
//!
//! Failure model: that of [`nyala_store::testing`]; holes and reserved space are not simulated, a hole reads as the zeros it is.

use crate::chunk_store::{ChunkDisk, ChunkFile, Opened};
use nyala_store::{LogDisk, LogFile};
use nyala_wire::storage::ChunkFileId;
use parking_lot::Mutex;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// The chunk files of one target.
pub struct Chunks {
    disk: Arc<dyn LogDisk>,
    /// Two that open a file at once must not both make it.
    turn: Mutex<()>,
}

struct Chunk(Arc<dyn LogFile>);

/// The name of a chunk file on the disk: inode and index.
fn name(file: ChunkFileId) -> String {
    format!("{}.{}", file.inode, file.index)
}

impl Chunks {
    /// Those on `disk`.
    pub fn new(disk: Arc<dyn LogDisk>) -> Chunks {
        Chunks { disk, turn: Mutex::default() }
    }
}

fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

impl ChunkDisk for Chunks {
    fn open(&self, file: ChunkFileId, create: bool) -> io::Result<Option<Opened>> {
        let _turn = self.turn.lock();
        if let Some(there) = found(self.disk.open(&name(file)))? {
            return Ok(Some(Opened { file: Arc::new(Chunk(there)), created: false }));
        }
        if !create {
            return Ok(None);
        }
        let made = self.disk.create(&name(file), 0)?;
        Ok(Some(Opened { file: Arc::new(Chunk(made)), created: true }))
    }

    fn remove(&self, file: ChunkFileId) -> io::Result<()> {
        found(self.disk.remove(&name(file))).map(drop)
    }

    fn sync_dirs(&self, _file: ChunkFileId) -> io::Result<()> {
        self.disk.sync_dir()
    }

    fn sync_all(&self) -> io::Result<()> {
        for name in self.disk.list()? {
            if let Some(file) = found(self.disk.open(&name))? {
                file.sync()?;
            }
        }
        self.disk.sync_dir()
    }
}

impl ChunkFile for Chunk {
    fn stat(&self) -> io::Result<(u64, u64)> {
        let bytes = self.0.bytes()?;
        Ok((bytes, bytes.div_ceil(512)))
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = self.0.bytes()?.saturating_sub(offset);
        let n = usize::try_from(rest).unwrap_or(usize::MAX).min(buf.len());
        if n > 0 {
            self.0.read_at(offset, &mut buf[..n])?;
        }
        Ok(n)
    }

    fn read_cached(&self, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        self.read_at(buf, offset).map(Some)
    }

    fn is_cached(&self, _offset: u64, _len: usize) -> bool {
        true
    }

    fn is_mostly_cached(&self, _offset: u64, _len: usize) -> bool {
        true
    }

    fn descriptor(&self, _direct: bool) -> Option<BorrowedFd<'_>> {
        None
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(offset, data).map(|()| data.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.truncate(len)
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        let end = (offset + len).min(self.0.bytes()?);
        match end.checked_sub(offset) {
            Some(len @ 1..) => self.0.write_at(offset, &vec![0; len as usize]),
            _ => Ok(()),
        }
    }

    fn allocate(&self, _offset: u64, _len: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync()
    }
}
