// SPDX-License-Identifier: Apache-2.0

//! Small steps on files.
//!
//! **Failure model.** Everything may fail, at any place: the error names the file, or the caller does. What is longer than it may be is read up
//! to there.

use crate::config::MonError;
use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Names the file that an error is about.
pub fn failed(path: &Path) -> impl FnOnce(Error) -> MonError {
    move |cause| MonError::File { path: path.to_owned(), cause }
}

/// What is not there needs not be removed.
pub fn unless_missing(error: Error) -> Result<(), Error> {
    if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// The first bytes of a file.
pub fn read(path: &Path, longest: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    File::open(path)?.take(longest).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Appends to a file, which is made if it is not there.
pub fn append(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)?.write_all(bytes)
}

/// Writes a file, which others see whole or as it was before.
pub fn write_whole(path: &Path, text: &str) -> Result<(), Error> {
    let new = path.with_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)
}
