// SPDX-License-Identifier: Apache-2.0

//! The cluster's secret file: who holds a key of it belongs to the cluster, as what the key is for.
//!
//! A file is a plain secret, which is one key of all roles, or lists several ([`key_file`]). Whoever connects offers the newest key that
//! covers its role, and older ones where the other side does not know it yet; whoever accepts takes any. So keys come and go, one
//! host after the other, and nobody has to stop for it: a file that changes is read again by itself.
//!
//! **Failure model.** The file can be missing, readable by others, owned by a stranger, empty, cut short, or replaced while we read it: it is
//! refused, by owner and mode of what was opened. While a changed file cannot be used, the keys that were read before stay.
//! Files are written beside their place and renamed: nobody reads half of one ([`mod@file`]).

pub mod clients_key;
mod content;
mod error;
pub mod file;
pub mod grants;
pub mod key;
pub mod key_file;
pub mod proofs;

pub use error::{MAX_SECRET, MIN_SECRET, SecretError};

use crate::hello::Role;
use file::Stamp;
use key::{Grant, Key};
use key_file::KeyFile;
use parking_lot::Mutex;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;

/// The keys that the two sides of a connection prove to hold. Clones share them. Printing it shows nothing.
#[derive(Clone)]
pub struct Secret {
    shared: Arc<Shared>,
    /// So many of the newest keys that cover a role are not offered.
    skipped: usize,
}

struct Shared {
    path: Option<PathBuf>,
    keys: watch::Sender<Arc<[Key]>>,
    /// Of the file that was looked at last.
    seen: Mutex<Option<Stamp>>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        Ok(Secret::new(Some(path.to_owned()), content::keys(path, &bytes)?, Some(stamp)))
    }

    /// The plain secret made of these bytes (trailing white space does not count), or the length that is not allowed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Secret, usize> {
        content::plain(bytes).map(|key| Secret::new(None, Arc::from([key]), None))
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
        let (mut seen, now) = (self.shared.seen.lock(), Stamp::of(path));
        if now == std::mem::replace(&mut *seen, now) {
            return;
        }
        match file::read(path).and_then(|(bytes, stamp)| Ok((content::keys(path, &bytes)?, stamp))) {
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
        self.require(role).is_ok()
    }

    /// A key must be for this.
    pub fn require(&self, role: Role) -> Result<(), SecretError> {
        self.offered(role).map(drop)
    }

    /// What all keys give, the newest last.
    pub fn grants(&self) -> Vec<Grant> {
        self.keys().iter().map(|key| key.grant.clone()).collect()
    }

    /// All keys, the newest last.
    pub(crate) fn keys(&self) -> Arc<[Key]> {
        self.shared.keys.borrow().clone()
    }

    /// The key that is shown to others by who connects as this: the newest, those with rules only behind all others.
    pub(crate) fn offer(&self, role: Role) -> Result<Key, SecretError> {
        let none = || SecretError::NoKey { path: self.shared.path.clone(), role };
        key::offered(&self.keys(), role).nth(self.skipped).cloned().ok_or_else(none)
    }

    /// What the key gives that is shown to others by who connects as this.
    pub fn offered(&self, role: Role) -> Result<Grant, SecretError> {
        self.offer(role).map(|key| key.grant)
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

#[cfg(test)]
mod tests;
