// SPDX-License-Identifier: Apache-2.0

//! What a file is to be, and whether it is.

use crate::sys::getxattr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The extended attribute that tasks set.
pub const XATTR: &str = "user.own";

#[derive(Clone, Debug)]
pub struct Expected {
    pub data: Vec<u8>,
    /// Permissions.
    pub mode: u32,
    /// Relative to the directory of all tasks.
    pub names: Vec<String>,
    /// Where it was set and nothing was written since, s.
    pub mtime: Option<i64>,
    pub xattr: Option<Vec<u8>>,
}

impl Expected {
    /// Bytes put at an offset; a gap reads as zeros.
    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        self.data.resize(self.data.len().max(at + bytes.len()), 0);
        self.data[at..at + bytes.len()].copy_from_slice(bytes);
        self.mtime = None;
    }

    /// Compares what `stat` says, and the content if it is to be read.
    pub fn check(&self, path: &Path, read: bool) -> Result<(), String> {
        let at = |error| format!("{}: {error}", path.display());
        let stat = fs::metadata(path).map_err(at)?;
        same("size", stat.len(), self.data.len() as u64)?;
        same("mode", stat.mode() & 0o7777, self.mode)?;
        same("links", stat.nlink(), self.names.len() as u64)?;
        same("mtime", stat.mtime(), self.mtime.unwrap_or(stat.mtime()))?;
        same("attribute", getxattr(path, XATTR).ok(), self.xattr.clone())?;
        if !read {
            return Ok(());
        }
        let mut data = Vec::new();
        File::open(path).and_then(|mut file| file.read_to_end(&mut data)).map_err(at)?;
        let first = data.iter().zip(&self.data).position(|(is, wanted)| is != wanted);
        same("bytes read, and the first wrong one", (data.len(), first), (self.data.len(), None))
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, is: T, wanted: T) -> Result<(), String> {
    if is == wanted { Ok(()) } else { Err(format!("{what}: {is:?} instead of {wanted:?}")) }
}
