// SPDX-License-Identifier: Apache-2.0

//! Passwords and tokens in files.
//!
//! **Failure model.** Such a file may be missing, readable by others, empty, or hold something else: each is said, with what to do.

use crate::config::MonError;
use crate::files::{failed, read};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Fewest characters of a token.
const SHORTEST_TOKEN: usize = 16;

/// A secret that stands in a file that only its owner may read.
pub fn read_secret(path: &Path) -> Result<String, MonError> {
    let mode = fs::metadata(path).map_err(failed(path))?.permissions().mode();
    let wrong = |reason: String| MonError::Token { path: path.to_owned(), reason };
    if mode & 0o077 != 0 {
        return Err(wrong(format!("others may read it (mode {:04o}); chmod 600 it", mode & 0o7777)));
    }
    let bytes = read(path, 4096).map_err(failed(path))?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    let secret = text.trim();
    if secret.is_empty() || secret.contains(|c: char| !c.is_ascii_graphic()) {
        return Err(wrong("it has to hold one word of visible characters".to_owned()));
    }
    Ok(secret.to_owned())
}

/// Whether a word is long enough for a token of ours.
pub fn token_is_good(token: &str) -> bool {
    token.len() >= SHORTEST_TOKEN
}
