// SPDX-License-Identifier: Apache-2.0

//! The keys in the bytes of a secret file. Pure.

use super::error::{MAX_SECRET, MIN_SECRET, SecretError};
use super::key::{Grant, Key};
use super::key_file::{self, KeyEntry, KeyFile};
use std::path::Path;
use std::sync::Arc;

/// The one of a plain secret, or the length that is not allowed.
pub(super) fn plain(bytes: &[u8]) -> Result<Key, usize> {
    let bytes = bytes.trim_ascii_end();
    match (MIN_SECRET..=MAX_SECRET).contains(&bytes.len()) {
        true => Ok(Key::new(Grant::default(), bytes)),
        false => Err(bytes.len()),
    }
}

/// Those of a file of either kind.
pub(super) fn keys(path: &Path, bytes: &[u8]) -> Result<Arc<[Key]>, SecretError> {
    if !key_file::is_key_file(bytes) {
        let key = plain(bytes).map_err(|bytes| SecretError::Length { path: path.to_owned(), bytes })?;
        return Ok(Arc::from([key]));
    }
    let file = KeyFile::parse(bytes).map_err(|reason| SecretError::Keys { path: path.to_owned(), reason })?;
    Ok(file.keys.iter().map(KeyEntry::key).collect())
}
