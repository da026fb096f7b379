// SPDX-License-Identifier: Apache-2.0

//! Payload that lies in a file: it goes from the page cache to the socket without passing through our memory.
//!
//! **Failure model.** The peer was promised a number of bytes, and gets that many. What the file does not give any more (it was cut,
//! its disk fails) goes out as zeros, and what is changed while the bytes are on their way goes out old or new: only for
//! payload whose reader has checksums of it. A file system that cannot do this is read like any other.

use bytes::Bytes;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Who keeps the file open until its bytes are on their way.
pub trait FileSource: Send + Sync {
    /// The open file; `None` counts as a file that gives nothing.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;
}

/// A stretch of a file, as the end of a payload.
#[derive(Clone)]
pub struct FilePart {
    source: Arc<dyn FileSource>,
    offset: u64,
    len: usize,
}

impl fmt::Debug for FilePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FilePart({} bytes at {})", self.len, self.offset)
    }
}

impl FilePart {
    /// So many bytes from that offset on. They should be in memory: whoever sends them waits for the disk otherwise.
    pub fn new(source: Arc<dyn FileSource>, offset: u64, len: usize) -> FilePart {
        FilePart { source, offset, len }
    }

    /// Bytes that are still to be sent.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn advance(&mut self, bytes: usize) {
        self.offset += bytes as u64;
        self.len -= bytes;
    }

    /// Gives the socket what it takes. `Ok(0)`: the file has to be read instead.
    pub(crate) fn send(&self, socket: BorrowedFd<'_>) -> io::Result<usize> {
        let Some(file) = self.source.descriptor() else { return Ok(0) };
        let mut offset = self.offset;
        match rustix::fs::sendfile(socket, file, Some(&mut offset), self.len) {
            Ok(sent) => Ok(sent),
            Err(error) if is_of_the_connection(error) => Err(error.into()),
            Err(_) => Ok(0),
        }
    }

    /// The bytes in memory; zeros for what the file does not have.
    pub(crate) fn read(&self) -> Bytes {
        let (mut memory, mut done) = (vec![0; self.len], 0);
        while let Some(file) = self.source.descriptor() {
            match rustix::io::pread(file, &mut memory[done..], self.offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::warn!(%error, "a file that is being sent cannot be read");
                    break;
                }
            }
        }
        Bytes::from(memory)
    }
}

fn is_of_the_connection(error: rustix::io::Errno) -> bool {
    use rustix::io::Errno;
    matches!(error, Errno::AGAIN | Errno::INTR | Errno::PIPE | Errno::CONNRESET | Errno::TIMEDOUT | Errno::NOTCONN)
}
