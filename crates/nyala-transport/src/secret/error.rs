// SPDX-License-Identifier: Apache-2.0

//! Why a secret file is not used, and how long secrets may be.

use crate::hello::Role;
use std::path::PathBuf;

/// Shortest secret, bytes.
pub const MIN_SECRET: usize = 32;
/// Longest secret, bytes.
pub const MAX_SECRET: usize = 4096;

/// Why a secret file was not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Cannot be read or written.
    #[error("secret file {path}: {reason}")]
    Io {
        /// Which.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// Group or others may read or write it.
    #[error("secret file {path} has mode {mode:04o}, others may read it; run: chmod 600 {path}")]
    Mode {
        /// Which.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Belongs to somebody who is neither root nor us.
    #[error("secret file {path} belongs to user {uid}; it must belong to root or to the user that runs nyala")]
    Owner {
        /// Which.
        path: PathBuf,
        /// Whose it is.
        uid: u32,
    },
    /// Too short or too long.
    #[error(
        "secret file {path} holds {bytes} bytes, it must hold {MIN_SECRET} to {MAX_SECRET}; `nyala secret` makes one"
    )]
    Length {
        /// Which.
        path: PathBuf,
        /// Without trailing white space.
        bytes: usize,
    },
    /// It lists keys, and something in it is not understood.
    #[error("secret file {path}: {reason}; `nyala secret add` and `retire` write such files")]
    Keys {
        /// Which.
        path: PathBuf,
        /// Where, and what.
        reason: String,
    },
    /// None of its keys is for this.
    #[error(
        "the secret file{} has no key for a {role}; `nyala secret list` shows what its keys are for, and `nyala secret export` \
         on a server writes the file for another host",
        .path.as_ref().map(|path| format!(" {}", path.display())).unwrap_or_default()
    )]
    NoKey {
        /// Which, if it came from one.
        path: Option<PathBuf>,
        /// For what.
        role: Role,
    },
    /// The system gave no random bytes.
    #[error("the system gives no random bytes: {0}")]
    NoRandomness(String),
}
