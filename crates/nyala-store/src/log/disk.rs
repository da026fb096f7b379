// SPDX-License-Identifier: Apache-2.0

//! What the log and the table ask of a disk, so that tests can put one there that crashes, tears and fails.

use std::io;
use std::sync::Arc;

/// What the file system of a directory has left for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeSpace {
    /// Bytes that can still be allocated.
    pub bytes: u64,
    /// Bytes of the whole file system.
    pub total_bytes: u64,
    /// Files that can still be made; `None` where there is no such limit.
    pub inodes: Option<u64>,
}

/// A directory of files.
pub trait LogDisk: Send + Sync {
    /// Names of all files.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Makes a file (or empties an old one of that name) and allocates `bytes` of zeros for it.
    fn create(&self, name: &str, bytes: u64) -> io::Result<Arc<dyn LogFile>>;
    /// Opens a file for reading and writing.
    fn open(&self, name: &str) -> io::Result<Arc<dyn LogFile>>;
    /// Renames a file, replacing the target.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes creations, renames and removals durable.
    fn sync_dir(&self) -> io::Result<()>;
    /// What is left on the file system that the directory is on.
    fn free_space(&self) -> io::Result<FreeSpace>;
    /// 64 random bits, for ids and salts.
    fn entropy(&self) -> io::Result<u64>;
    /// Where the files are, for messages.
    fn location(&self) -> String;
}

/// An open file.
pub trait LogFile: Send + Sync {
    /// Writes all of `data` at `offset`.
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()>;
    /// The whole content.
    fn read_all(&self) -> io::Result<Vec<u8>>;
    /// Fills `buffer` from `offset`; an error of kind `UnexpectedEof` if the file ends before.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// Its size.
    fn bytes(&self) -> io::Result<u64>;
    /// Makes the file longer, with zeros that take space now. After an error it is as long as it was.
    fn allocate(&self, bytes: u64) -> io::Result<()>;
    /// Cuts the file to `bytes`.
    fn truncate(&self, bytes: u64) -> io::Result<()>;
    /// Makes content and size durable.
    fn sync(&self) -> io::Result<()>;
}
