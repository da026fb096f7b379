// SPDX-License-Identifier: Apache-2.0

//! What executes operations: the native client, or ordinary system calls below a directory.

pub mod native;
pub mod posix;

use super::plan::fill::Fill;
use super::plan::{Entry, Op};
use std::sync::Arc;

/// Why an operation failed, for people.
pub type Result<T> = std::result::Result<T, String>;

/// What an operation did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Entries listed; 1 of other operations.
    pub items: u64,
    /// Content moved.
    pub bytes: u64,
}

impl Done {
    /// One operation that moved so many bytes.
    pub fn one(bytes: usize) -> Done {
        Done { items: 1, bytes: bytes as u64 }
    }
}

/// How the file of a phase is opened.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// Make it if it is not there.
    pub create: bool,
    /// To be written.
    pub write: bool,
    /// Bypass the page cache where possible.
    pub direct: bool,
}

/// Content, and whether what is read is compared with it.
#[derive(Clone)]
pub struct Content {
    /// The content of all files.
    pub fill: Arc<Fill>,
    /// Compare.
    pub verify: bool,
}

/// A place where workloads run.
pub trait Site: Send + Sync + 'static {
    /// Executes operations of one task.
    type Task: Task;

    /// Makes the benchmark's own directory and these directories in it.
    async fn prepare(&self, dirs: &[String]) -> Result<()>;

    /// Removes the benchmark's own directory with all that is in it.
    async fn clean_up(&self) -> Result<()>;

    /// A new task.
    fn task(&self, content: Content) -> Self::Task;
}

/// Executes operations one after the other.
pub trait Task: 'static {
    /// Opens the file of a phase of transfers; whether it bypasses caches.
    async fn open(&mut self, file: &Entry, mode: Mode) -> Result<bool>;

    /// Executes an operation.
    async fn run(&mut self, op: &Op) -> Result<Done>;

    /// Ends the phase of transfers: written content is on disk, the file is closed.
    async fn close(&mut self, sync: bool) -> Result<()>;
}

/// A difference between what was read and what was written, as a message.
fn compare(content: &Content, key: u64, offset: u64, data: &[u8], what: &str) -> Result<()> {
    if !content.verify {
        return Ok(());
    }
    match content.fill.first_difference(key, offset, data) {
        Some(at) => Err(format!("{what}: wrong data at byte {at}")),
        None => Ok(()),
    }
}
