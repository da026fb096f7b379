// SPDX-License-Identifier: Apache-2.0

//! A drive's files, as a trait, so that tests can crash, tear and fail them, and raw devices can come later.

use nyala_raid::ObjectId;
use std::io;

/// The strips of a set's objects on one drive.
pub trait DriveFiles: Send + Sync {
    /// Fills `buffer` from `offset` of an object's file; behind its end, and where there is no file, are zeros.
    fn read(&self, object: ObjectId, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// Writes all of `bytes` at `offset`; a missing file is made.
    fn write(&self, object: ObjectId, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Frees space: `len` bytes from `offset`, or all from there; from 0 without a length, the file.
    fn discard(&self, object: ObjectId, offset: u64, len: Option<u64>) -> io::Result<()>;
    /// Makes everything durable, names too.
    fn sync(&self) -> io::Result<()>;
    /// Whether the files are still where they were: a directory can be removed, and a file system be unmounted, under files that are open.
    fn is_there(&self) -> bool {
        true
    }
    /// Bytes in all, and those that are free; none where that is not known.
    fn space(&self) -> io::Result<Option<(u64, u64)>> {
        Ok(None)
    }
}
