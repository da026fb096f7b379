// SPDX-License-Identifier: Apache-2.0

//! The cluster's secret file: who holds a key of it belongs to the cluster, as what the key is for.
//!
//! A file is a plain secret, which is one key of all roles, or lists several ([`key_file`]). Whoever connects offers the newest key that
//! covers its role, and older ones where the other side does not know it yet; whoever accepts takes any. So keys come and go, one
//! host after the other, and nobody has to stop for it: a file that changes is read again by itself.
//!
//! **Failure model.** The file can be missing, readable by others, owned by a stranger, empty, cut short, or replaced
//! while we read it. Owner and mode are taken from the opened file, not from its name; a secret that somebody else may
//! have read is refused rather than used. While a changed file cannot be used, the keys that were read before stay. Files are written
//! beside their place and renamed, so that nobody ever reads half of one ([`file`]); [`Secret::generate`] never replaces an existing one.

pub mod file;
pub mod key;
pub mod key_file;

use crate::hello::Role;
use file::Stamp;
use key::{Grant, Key};
use key_file::{KeyFile, MAX_KEYS};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;

/// Shortest secret, bytes.
pub const MIN_SECRET: usize = 32;
/// Longest secret, bytes.
pub const MAX_SECRET: usize = 4096;
/// Longest secret file, bytes: room for as many keys as there may be.
pub const MAX_SECRET_FILE: usize = MAX_KEYS * 1024 + MAX_SECRET;

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

/// The keys that the two sides of a connection prove to hold. Clones share them. Printing it shows nothing.
#[derive(Clone)]
pub struct Secret {
    shared: Arc<Shared>,
    /// So many of the newest keys that cover a role are not offered.
    skipped: usize,
}

struct Shared {
    path: Option<PathBuf>,
    /// The newest last.
    keys: watch::Sender<Arc<[Key]>>,
    /// Of the file that was looked at last.
    seen: Mutex<Option<Stamp>>,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    fn new(path: Option<PathBuf>, keys: Arc<[Key]>, stamp: Option<Stamp>) -> Secret {
        Secret {
            shared: Arc::new(Shared { path, keys: watch::Sender::new(keys), seen: Mutex::new(stamp) }),
            skipped: 0,
        }
    }

    /// Reads a secret file and checks owner, mode and content.
    pub fn load(path: &Path) -> Result<Secret, SecretError> {
        let (bytes, stamp) = file::read(path)?;
        Ok(Secret::new(Some(path.to_owned()), keys_of(path, &bytes)?, Some(stamp)))
    }

    /// The plain secret made of these bytes (trailing white space does not count), or the length that is not allowed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Secret, usize> {
        plain(bytes).map(|key| Secret::new(None, Arc::from([key]), None))
    }

    /// These keys, of no file.
    pub fn from_keys(keys: &KeyFile) -> Secret {
        Secret::new(None, keys.keys.iter().map(key_file::KeyEntry::key).collect(), None)
    }

    /// Makes a new plain secret file (32 random bytes in hexadecimal, mode 0600) and loads it. An existing file is an error.
    /// It appears whole or not at all.
    pub fn generate(path: &Path) -> Result<Secret, SecretError> {
        let hex = file::random::<32>()?.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        file::write(path, &format!("{hex}\n"), file::Existing::Kept)?;
        Secret::load(path)
    }

    /// Reads the file again if it is another one than before. While it cannot be used, the keys stay.
    pub fn refresh(&self) {
        let Some(path) = &self.shared.path else { return };
        let mut seen = self.shared.seen.lock();
        let now = Stamp::of(path);
        if now == *seen {
            return;
        }
        *seen = now;
        match file::read(path).and_then(|(bytes, stamp)| Ok((keys_of(path, &bytes)?, stamp))) {
            Ok((keys, stamp)) => {
                *seen = Some(stamp);
                let ids: Vec<&str> = keys.iter().map(|key| &*key.grant.key).collect();
                tracing::info!(path = %path.display(), ?ids, "the secret file has changed and was read again");
                self.shared.keys.send_replace(keys);
            }
            Err(error) => {
                tracing::error!(%error, "the secret file has changed and cannot be used; its former keys stay in use")
            }
        }
    }

    /// Whether a key is for this.
    pub fn covers(&self, role: Role) -> bool {
        self.shared.keys.borrow().iter().any(|key| key.grant.roles.covers(role))
    }

    /// A key must be for this.
    pub fn require(&self, role: Role) -> Result<(), SecretError> {
        let none = || SecretError::NoKey { path: self.shared.path.clone(), role };
        self.covers(role).then_some(()).ok_or_else(none)
    }

    /// What all keys give, the newest last.
    pub fn grants(&self) -> Vec<Grant> {
        self.shared.keys.borrow().iter().map(|key| key.grant.clone()).collect()
    }

    /// All keys, the newest last.
    pub(crate) fn keys(&self) -> Arc<[Key]> {
        self.shared.keys.borrow().clone()
    }

    /// The key that is shown to others by who connects as this.
    pub(crate) fn offer(&self, role: Role) -> Result<Key, SecretError> {
        let keys = self.keys();
        let mut fitting = keys.iter().rev().filter(|key| key.grant.roles.covers(role));
        let none = || SecretError::NoKey { path: self.shared.path.clone(), role };
        fitting.nth(self.skipped).cloned().ok_or_else(none)
    }

    /// The same, that offers the next older key; `None`: there is none.
    pub(crate) fn older(&self, role: Role) -> Option<Secret> {
        let older = Secret { shared: self.shared.clone(), skipped: self.skipped + 1 };
        older.offer(role).is_ok().then_some(older)
    }

    /// Returns when this key is no longer one of the file, or gives something else.
    pub(crate) async fn retired(&self, key: &Key) {
        let mut keys = self.shared.keys.subscribe();
        // An error means that the sender is gone, which cannot be while `self` lives.
        let _ = keys.wait_for(|keys| !keys.contains(key)).await;
    }
}

fn plain(bytes: &[u8]) -> Result<Key, usize> {
    let bytes = bytes.trim_ascii_end();
    match (MIN_SECRET..=MAX_SECRET).contains(&bytes.len()) {
        true => Ok(Key::new(Grant::default(), bytes)),
        false => Err(bytes.len()),
    }
}

fn keys_of(path: &Path, bytes: &[u8]) -> Result<Arc<[Key]>, SecretError> {
    if !key_file::is_key_file(bytes) {
        let key = plain(bytes).map_err(|bytes| SecretError::Length { path: path.to_owned(), bytes })?;
        return Ok(Arc::from([key]));
    }
    let file = KeyFile::parse(bytes).map_err(|reason| SecretError::Keys { path: path.to_owned(), reason })?;
    Ok(file.keys.iter().map(key_file::KeyEntry::key).collect())
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
        assert_ne!(first.keys(), second.keys());
        assert_eq!(first.keys(), Secret::load(&a).expect("load").keys());
        assert_eq!(std::fs::metadata(&a).expect("stat").permissions().mode() & 0o7777, 0o600);
        assert_eq!(std::fs::read(&a).expect("read").len(), 65);
        let again = Secret::generate(&a).expect_err("exists");
        assert!(again.to_string().contains("exists already"), "{again}");
        assert_eq!(first.keys(), Secret::load(&a).expect("load").keys());
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
            Secret::load(&path).expect("newline does not count").keys(),
            Secret::from_bytes(&[b'y'; 32]).expect("32 bytes").keys()
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
