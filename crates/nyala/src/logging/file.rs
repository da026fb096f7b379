// SPDX-License-Identifier: Apache-2.0

//! A log file that is put aside when it has grown large, and only so many of these are kept.
//!
//! **Failure model.** The disk may be full or the file gone: a line that cannot be written is lost, and nothing else. The file
//! may be put aside by somebody else (logrotate, an operator's `mv`): within a second of the next line the name is opened anew. A
//! file that cannot be put aside grows on, and the next try comes after as much again. Two processes with one file (a service
//! that is started while its predecessor ends): each appends whole lines, and whoever finds the name to be another file
//! goes on there.
//!
//! What a process that ends in a panic says goes to its standard error. Where that is this very file, it goes with it to the next.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a file that somebody else has put aside may still be written to.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// See the module.
pub struct LogFile {
    path: PathBuf,
    file: File,
    /// Device and inode of `file`.
    identity: (u64, u64),
    /// Bytes in `file`, and more than what was there when it could not be put aside.
    bytes: u64,
    /// Put aside when a line would take it over so many bytes; none: never.
    limit: Option<u64>,
    /// Files put aside that are kept: `path.1` is the newest.
    keep: u32,
    looked: Instant,
}

impl LogFile {
    /// Opens the file, or makes it.
    pub fn open(path: &Path, limit: Option<u64>, keep: u32) -> io::Result<LogFile> {
        let file = append_to(path)?;
        let metadata = file.metadata()?;
        // The name holds also where the process changes its directory.
        let path = std::path::absolute(path)?;
        let identity = (metadata.dev(), metadata.ino());
        Ok(LogFile { path, file, identity, bytes: metadata.len(), limit, keep, looked: Instant::now() })
    }

    /// Path of the `number`th file put aside.
    fn aside(&self, number: u32) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(format!(".{number}"));
        path.into()
    }

    /// Whether the name is still this file. An error is none of that: the line goes where the last one went.
    fn is_moved(&self) -> bool {
        match std::fs::metadata(&self.path) {
            Ok(metadata) => (metadata.dev(), metadata.ino()) != self.identity,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    fn put_aside(&self) -> io::Result<()> {
        if self.keep == 0 {
            return std::fs::remove_file(&self.path);
        }
        for number in (1..self.keep).rev() {
            match std::fs::rename(self.aside(number), self.aside(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        std::fs::rename(&self.path, self.aside(1))
    }

    /// Opens the name anew, and takes standard error along.
    fn reopen(&mut self) -> io::Result<()> {
        let next = append_to(&self.path)?;
        let metadata = next.metadata()?;
        if is_standard_error(self.identity) {
            // SAFETY: both descriptors are open; standard error is only ever used by its number.
            unsafe { libc::dup2(next.as_raw_fd(), libc::STDERR_FILENO) };
        }
        (self.file, self.identity, self.bytes) = (next, (metadata.dev(), metadata.ino()), metadata.len());
        Ok(())
    }

    /// Sees to it that `more` bytes go where they should.
    fn prepare(&mut self, more: u64, now: Instant) {
        if now.duration_since(self.looked) >= LOOK_EVERY {
            self.looked = now;
            if self.is_moved() {
                // It is still open: lines go on there until the name can be opened.
                let _ = self.reopen();
            }
        }
        let full = self.limit.is_some_and(|limit| self.bytes > 0 && self.bytes.saturating_add(more) > limit);
        if full && (self.is_moved() || self.put_aside().is_ok()) {
            let _ = self.reopen();
        } else if full {
            self.bytes = 0;
        }
    }
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.prepare(bytes.len() as u64, Instant::now());
        self.file.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

/// Whether standard error is the file of this device and inode.
fn is_standard_error(identity: (u64, u64)) -> bool {
    rustix::fs::fstat(std::io::stderr()).is_ok_and(|stat| (stat.st_dev, stat.st_ino) == identity)
}

#[cfg(test)]
mod tests;
