// SPDX-License-Identifier: Apache-2.0

//! The log's and the table's files on a real file system.
//!
//! # Failure model
//! Any call can fail with EIO (the log then stops) or, when allocating, ENOSPC (the caller is told and may try again).
//! Creations and renames are lost in a power cut unless the directory was synced; content and size unless the file was.
//! A short write is continued; its first failure is reported and the log stops.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FallocateFlags;

use super::disk::{FreeSpace, LogDisk, LogFile};

/// A directory of log files.
pub(crate) struct LogDirectory {
    path: PathBuf,
}

impl LogDirectory {
    /// Opens the directory, making it if needed.
    pub(crate) fn open(path: &Path) -> io::Result<LogDirectory> {
        crate::private::make_dir(path)?;
        Ok(LogDirectory { path: path.to_owned() })
    }
}

impl LogDisk for LogDirectory {
    fn list(&self) -> io::Result<Vec<String>> {
        std::fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<Arc<dyn LogFile>> {
        let path = self.path.join(name);
        let file = crate::private::new_file().read(true).truncate(true).open(path)?;
        allocate(&file, 0, bytes)?;
        Ok(Arc::new(OpenLogFile { file }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn LogFile>> {
        let file = OpenOptions::new().read(true).write(true).open(self.path.join(name))?;
        Ok(Arc::new(OpenLogFile { file }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    fn sync_dir(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn free_space(&self) -> io::Result<FreeSpace> {
        let stat = rustix::fs::statvfs(&self.path)?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        let inodes = (stat.f_files > 0).then_some(stat.f_favail);
        Ok(FreeSpace { bytes: bytes(stat.f_bavail), total_bytes: bytes(stat.f_blocks), inodes })
    }

    fn entropy(&self) -> io::Result<u64> {
        let mut bytes = [0u8; 8];
        io::Read::read_exact(&mut File::open("/dev/urandom")?, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn location(&self) -> String {
        self.path.display().to_string()
    }
}

fn allocate(file: &File, from: u64, to: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, FallocateFlags::empty(), from, to - from) {
        Ok(()) => Ok(()),
        // A file system without fallocate: writing zeros allocates as well, only slower.
        Err(rustix::io::Errno::OPNOTSUPP) => write_zeros(file, from, to),
        Err(errno) => Err(errno.into()),
    }
}

fn write_zeros(file: &File, from: u64, bytes: u64) -> io::Result<()> {
    let zeros = vec![0u8; 1 << 20];
    let mut offset = from;
    while offset < bytes {
        let step = (bytes - offset).min(zeros.len() as u64);
        file.write_all_at(&zeros[..step as usize], offset)?;
        offset += step;
    }
    Ok(())
}

struct OpenLogFile {
    file: File,
}

impl LogFile for OpenLogFile {
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_all_at(data, offset)
    }

    fn read_all(&self) -> io::Result<Vec<u8>> {
        let mut data = vec![0; self.file.metadata()?.len() as usize];
        self.file.read_exact_at(&mut data, 0)?;
        Ok(data)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        let has = self.bytes()?;
        if bytes <= has {
            return Ok(());
        }
        allocate(&self.file, has, bytes).inspect_err(|_| {
            // What was allocated on the way to the error would hold the very space that is missing. If this fails too, the
            // first error is the one to tell.
            let _ = self.file.set_len(has);
        })
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
