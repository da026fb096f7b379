// SPDX-License-Identifier: Apache-2.0

//! A file that is written and read with the calls that a storage service uses: from 64 KiB on past the page cache where the file system has
//! such a way, from 256 KiB on else through pages that are given up once written (`RWF_DONTCACHE`), the rest through the page cache.
//!
//! **Failure model.** A file system may refuse direct I/O or `RWF_DONTCACHE`: the page cache is used from then on. A call may do a part: the
//! rest is done in the next one. The kernel keeps both ways coherent.

use super::message::CHECKED_BYTES;
use rustix::fs::{Mode, OFlags, fdatasync, open};
use rustix::io::{Errno, ReadWriteFlags, pread, pwrite, pwritev2};
use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::path::Path;

/// From this length on a storage service transfers past the page cache, bytes (`chunk_store/direct.rs`).
const DIRECT_BYTES: usize = 64 << 10;
/// From this length on it has the page cache give up what is written (`chunk_store/os_disk.rs`).
const STREAMING_BYTES: usize = 256 << 10;
/// `RWF_DONTCACHE` of Linux 6.14 and later.
const RWF_DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

/// A file that is written and read with the calls of a storage service.
pub struct StoredFile {
    cached: OwnedFd,
    /// Opened again past the page cache; none where the file system has no such way.
    direct: Option<OwnedFd>,
    streaming: bool,
}

impl StoredFile {
    /// Makes an empty one, where none is.
    pub fn make(path: &Path) -> io::Result<StoredFile> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let cached = open(path, flags, Mode::from_raw_mode(0o600))?;
        let direct = open(path, OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty()).ok();
        Ok(StoredFile { cached, direct, streaming: true })
    }

    /// Waits until its content is on the disk.
    pub fn sync(&self) -> io::Result<()> {
        Ok(fdatasync(&self.cached)?)
    }

    /// Whether large transfers go past the page cache, as far as the file system has said.
    pub fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// Writes all of it.
    pub fn write_all(&mut self, mut data: &[u8], mut offset: u64) -> io::Result<()> {
        while !data.is_empty() {
            match self.write_some(data, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(done) => {
                    data = &data[done..];
                    offset += done as u64;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn write_some(&mut self, data: &[u8], offset: u64) -> Result<usize, Errno> {
        if let Some(direct) = self.direct.as_ref().filter(|_| fits_direct(data, offset)) {
            match pwrite(direct, data, offset) {
                Err(Errno::INVAL | Errno::OPNOTSUPP) => self.direct = None,
                other => return other,
            }
        }
        if self.streaming && data.len() >= STREAMING_BYTES {
            match pwritev2(&self.cached, &[IoSlice::new(data)], offset, RWF_DONTCACHE) {
                Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => self.streaming = false,
                other => return other,
            }
        }
        pwrite(&self.cached, data, offset)
    }

    /// Reads all of it; an end before that is an error.
    pub fn read_all(&mut self, data: &mut [u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < data.len() {
            match self.read_some(&mut data[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(got) => done += got,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn read_some(&mut self, data: &mut [u8], offset: u64) -> Result<usize, Errno> {
        if let Some(direct) = self.direct.as_ref().filter(|_| fits_direct(data, offset)) {
            match pread(direct, &mut *data, offset) {
                Err(Errno::INVAL | Errno::OPNOTSUPP) => self.direct = None,
                other => return other,
            }
        }
        pread(&self.cached, data, offset)
    }
}

fn fits_direct(memory: &[u8], offset: u64) -> bool {
    memory.len() >= DIRECT_BYTES
        && offset.is_multiple_of(CHECKED_BYTES as u64)
        && memory.as_ptr().align_offset(CHECKED_BYTES) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_short_transfers_see_the_same_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let mut file = StoredFile::make(&path).unwrap();
        assert!(StoredFile::make(&path).is_err(), "never one that is there");
        let mut long = nyala_transport::buffers::Buffers::new(0).take(DIRECT_BYTES);
        long.fill(7);
        assert!(fits_direct(&long, 0) && !fits_direct(&long, 1) && !fits_direct(&long[..4096], 0));
        file.write_all(&long, 0).unwrap();
        file.write_all(&[9; 4096], 8192).unwrap();
        file.sync().unwrap();
        long.fill(0);
        file.read_all(&mut long, 0).unwrap();
        assert!(long[..8192].iter().all(|byte| *byte == 7) && long[8192..12_288].iter().all(|byte| *byte == 9));
        // Without the way past the page cache.
        (file.direct, file.streaming) = (None, false);
        file.write_all(&vec![5; STREAMING_BYTES], DIRECT_BYTES as u64).unwrap();
        let mut short = [0; 4096];
        file.read_all(&mut short, (DIRECT_BYTES + STREAMING_BYTES - 4096) as u64).unwrap();
        assert_eq!(short, [5; 4096]);
        let end = file.read_all(&mut short, (DIRECT_BYTES + STREAMING_BYTES - 1) as u64).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    }
}
