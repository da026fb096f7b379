// SPDX-License-Identifier: Apache-2.0

//! Where sorted runs are kept.

use std::io::{self, Read, Seek, Write};

/// Where runs are kept.
pub trait Scratch {
    /// A new empty file.
    fn file(&mut self) -> io::Result<Box<dyn ScratchFile>>;
}

/// A file for one run.
pub trait ScratchFile: Read + Write + Seek {}
impl<T: Read + Write + Seek> ScratchFile for T {}

/// Runs in memory, for tests.
#[derive(Debug, Default)]
pub struct MemScratch {
    /// Files that were made.
    pub files: usize,
}

impl Scratch for MemScratch {
    fn file(&mut self) -> io::Result<Box<dyn ScratchFile>> {
        self.files += 1;
        Ok(Box::new(io::Cursor::new(Vec::new())))
    }
}
