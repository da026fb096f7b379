// SPDX-License-Identifier: Apache-2.0

//! The file that a command is about, as a list of keys.
//!
//! **Failure model.** As of the parent module.

use crate::config::DEFAULT_SECRET;
use crate::exit::Failure;
use nyala_transport::secret::file::{self, Existing, Stamp};
use nyala_transport::secret::key_file::{KeyEntry, KeyFile, is_key_file};
use nyala_transport::{Grant, Secret};
use std::path::{Path, PathBuf};

/// The file that a command is about.
#[derive(Clone, Debug, clap::Args)]
pub struct FileArgs {
    /// The secret file
    #[arg(long, default_value = DEFAULT_SECRET)]
    pub file: PathBuf,
}

/// The keys of a file, of a plain secret the one that it is, and which version of the file that was.
pub fn read(path: &Path) -> Result<(KeyFile, Stamp), Failure> {
    let (bytes, stamp) = file::read(path)?;
    // Checks everything; a plain secret is taken as it is then.
    Secret::load(path)?;
    let plain = || KeyFile {
        keys: vec![KeyEntry { grant: Grant::default(), made: 0, secret: bytes.trim_ascii_end().to_vec() }],
    };
    let keys = if is_key_file(&bytes) {
        KeyFile::parse(&bytes).map_err(|reason| Failure::config(format!("secret file {}: {reason}", path.display())))?
    } else {
        plain()
    };
    Ok((keys, stamp))
}

/// Replaces the file, unless it is another one by now.
pub fn replace(path: &Path, keys: &KeyFile, was: Stamp) -> Result<(), Failure> {
    file::write(path, &keys.print(), Existing::Replaced(was)).map_err(|error| Failure::failed(error.to_string()))
}
