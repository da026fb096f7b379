// SPDX-License-Identifier: Apache-2.0

//! The cluster's secret file: who holds it belongs to the cluster.
//!
//! **Failure model.** The file can be missing, readable by others, owned by a stranger, empty, cut short, or replaced
//! while we read it. Owner and mode are taken from the opened file, not from its name; a secret that somebody else may
//! have read is refused rather than used. [`Secret::generate`] never leaves a partial or readable file, and never
//! replaces an existing one.

use crate::crypto;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// The system gave no random bytes.
    #[error("the system gives no random bytes: {0}")]
    NoRandomness(String),
}

/// The key that both sides of a connection prove to hold. Printing it shows nothing.
#[derive(Clone)]
pub struct Secret {
    key: Arc<[u8; 32]>,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

fn io_error(path: &Path) -> impl Fn(std::io::Error) -> SecretError + '_ {
    move |error| SecretError::Io { path: path.to_owned(), reason: error.to_string() }
}

impl Secret {
    /// Reads a secret file and checks owner, mode and length.
    pub fn load(path: &Path) -> Result<Secret, SecretError> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_CLOEXEC | libc::O_NONBLOCK)
            .open(path)
            .map_err(io_error(path))?;
        let meta = file.metadata().map_err(io_error(path))?;
        if !meta.is_file() {
            return Err(SecretError::Io { path: path.to_owned(), reason: "not a regular file".to_owned() });
        }
        let mode = meta.mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(SecretError::Mode { path: path.to_owned(), mode });
        }
        if meta.uid() != 0 && meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(SecretError::Owner { path: path.to_owned(), uid: meta.uid() });
        }
        let mut bytes = Vec::with_capacity(MAX_SECRET + 2);
        file.take(MAX_SECRET as u64 + 2).read_to_end(&mut bytes).map_err(io_error(path))?;
        Secret::from_bytes(&bytes).map_err(|bytes| SecretError::Length { path: path.to_owned(), bytes })
    }

    /// The secret made of these bytes (trailing white space does not count), or the length that is not allowed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Secret, usize> {
        let bytes = bytes.trim_ascii_end();
        if (MIN_SECRET..=MAX_SECRET).contains(&bytes.len()) {
            Ok(Secret { key: Arc::new(crypto::derive_key(bytes)) })
        } else {
            Err(bytes.len())
        }
    }

    /// Makes a new secret file (32 random bytes in hexadecimal, mode 0600) and loads it. An existing file is an error.
    /// It appears whole or not at all.
    pub fn generate(path: &Path) -> Result<Secret, SecretError> {
        let mut random = [0; 32 + 8];
        getrandom::fill(&mut random).map_err(|e| SecretError::NoRandomness(e.to_string()))?;
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let temporary = parent.join(format!(".nyala-secret-{}", hex(&random[32..])));
        let written = write_whole(&temporary, &hex(&random[..32]), path);
        let removed = std::fs::remove_file(&temporary);
        written.map_err(io_error(path))?;
        removed.map_err(io_error(path))?;
        File::open(parent).and_then(|dir| dir.sync_all()).map_err(io_error(path))?;
        Secret::load(path)
    }

    pub(crate) fn key(&self) -> &[u8; 32] {
        &self.key
    }
}

fn write_whole(temporary: &Path, text: &str, path: &Path) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(temporary)?;
    writeln!(file, "{text}")?;
    file.sync_all()?;
    // A hard link, unlike a rename, fails where a file of that name exists.
    std::fs::hard_link(temporary, path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => std::io::Error::new(error.kind(), "exists already; it is not replaced"),
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn chmod(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("own file");
    }

    #[test]
    fn generated_secrets_load_differ_and_are_never_replaced() {
        let dir = tempfile::tempdir().expect("temp dir");
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        let first = Secret::generate(&a).expect("generate");
        let second = Secret::generate(&b).expect("generate");
        assert_ne!(first.key(), second.key());
        assert_eq!(first.key(), Secret::load(&a).expect("load").key());
        assert_eq!(std::fs::metadata(&a).expect("stat").permissions().mode() & 0o7777, 0o600);
        assert_eq!(std::fs::read(&a).expect("read").len(), 65);
        let again = Secret::generate(&a).expect_err("exists");
        assert!(again.to_string().contains("exists already"), "{again}");
        assert_eq!(first.key(), Secret::load(&a).expect("load").key());
        assert_eq!(std::fs::read_dir(dir.path()).expect("list").count(), 2, "no temporary file is left");
    }

    #[test]
    fn readable_secrets_are_refused_with_the_cure() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("secret");
        Secret::generate(&path).expect("generate");
        for mode in [0o640, 0o604, 0o620, 0o601] {
            chmod(&path, mode);
            let error = Secret::load(&path).expect_err("readable");
            assert_eq!(error, SecretError::Mode { path: path.clone(), mode });
            assert!(error.to_string().contains(&format!("chmod 600 {}", path.display())));
        }
        chmod(&path, 0o400);
        Secret::load(&path).expect("stricter is fine");
    }

    #[test]
    fn lengths_are_bounded() {
        let dir = tempfile::tempdir().expect("temp dir");
        let path = dir.path().join("secret");
        for (bytes, good) in [(0, false), (31, false), (32, true), (4096, true), (4097, false), (100_000, false)] {
            std::fs::write(&path, vec![b'x'; bytes]).expect("write");
            chmod(&path, 0o600);
            assert_eq!(Secret::load(&path).is_ok(), good, "{bytes} bytes");
        }
        std::fs::write(&path, format!("{}\n", "y".repeat(32))).expect("write");
        assert_eq!(
            Secret::load(&path).expect("newline does not count").key(),
            Secret::from_bytes(&[b'y'; 32]).expect("32 bytes").key()
        );
        assert!(matches!(Secret::load(dir.path()), Err(SecretError::Io { .. })), "a directory");
        assert!(matches!(Secret::load(&dir.path().join("none")), Err(SecretError::Io { .. })));
    }

    #[test]
    fn printing_shows_nothing() {
        let secret = Secret::from_bytes(&[b'q'; 40]).expect("long enough");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
    }
}
