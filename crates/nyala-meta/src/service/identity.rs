// SPDX-License-Identifier: Apache-2.0

//! The identity of a metadata target's directory: `target.toml`.
//!
//! Failure model: the directory may be new, another cluster's, another kind of target's, from a newer version, or its
//! file may be cut off or foreign. A new one is written to a temporary file, synced and renamed, so it is there whole
//! or not at all. Anything that is not plainly ours is refused; nothing is overwritten.

use nyala_wire::{ClusterId, TargetId};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Format version of the directory.
pub const FORMAT: u32 = 1;
const FILE: &str = "target.toml";

/// What `target.toml` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Format version.
    pub format: u32,
    /// Always `meta`.
    pub kind: String,
    /// The cluster.
    pub cluster: ClusterId,
    /// Random, made once; copies of the directory share it, and only one of them is served.
    pub uuid: ClusterId,
    /// The target's id.
    pub target: TargetId,
}

/// Why a directory is refused.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The file system refuses.
    #[error("{path}: {error}", path = .path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
    /// The file is not what we write.
    #[error("{path} is damaged or not ours ({reason}); restore it from a backup, or use another directory", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// It is another kind of target.
    #[error("{path} is a {kind} target, not a metadata target", path = .path.display())]
    OtherKind {
        /// The directory.
        path: PathBuf,
        /// What it is.
        kind: String,
    },
    /// It was written by a newer version.
    #[error("{path} has format {format}, this build knows up to {FORMAT}; upgrade Nyala on this host", path = .path.display())]
    Newer {
        /// The directory.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// It holds something else.
    #[error("{path} is not empty and has no {FILE}; a new target needs an empty directory", path = .path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
}

impl Identity {
    /// The identity of a directory; `None` if it is new. Makes the directory if it is not there.
    pub fn load(dir: &Path) -> Result<Option<Identity>, IdentityError> {
        let path = dir.join(FILE);
        let io = |error| IdentityError::Io { path: dir.into(), error };
        std::fs::create_dir_all(dir).map_err(io)?;
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let empty = std::fs::read_dir(dir).map_err(io)?.all(|entry| {
                    // What an interrupted first start leaves.
                    entry.is_ok_and(|entry| entry.file_name().to_string_lossy().ends_with(".new"))
                });
                return if empty { Ok(None) } else { Err(IdentityError::NotEmpty { path: dir.into() }) };
            }
            Err(error) => return Err(IdentityError::Io { path, error }),
        };
        let unreadable = |reason: String| IdentityError::Unreadable { path: path.clone(), reason };
        #[derive(Deserialize)]
        struct Head {
            format: u32,
            kind: String,
        }
        let head: Head = toml::from_str(&text).map_err(|e| unreadable(e.message().to_owned()))?;
        if head.format > FORMAT {
            return Err(IdentityError::Newer { path: dir.into(), format: head.format });
        }
        if head.kind != "meta" {
            return Err(IdentityError::OtherKind { path: dir.into(), kind: head.kind });
        }
        toml::from_str(&text).map(Some).map_err(|e| unreadable(e.message().to_owned()))
    }

    /// Writes the identity of a new directory.
    pub fn save(&self, dir: &Path) -> Result<(), IdentityError> {
        let path = dir.join(FILE);
        let text = toml::to_string(self)
            .map_err(|e| IdentityError::Unreadable { path: path.clone(), reason: e.to_string() })?;
        let temporary = dir.join(format!("{FILE}.new"));
        let write = || -> io::Result<()> {
            let mut file = File::create(&temporary)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&temporary, &path)?;
            File::open(dir)?.sync_all()
        };
        write().map_err(|error| IdentityError::Io { path: path.clone(), error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_and_loaded() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Identity::load(dir.path()).unwrap(), None);
        let identity = Identity {
            format: FORMAT,
            kind: "meta".into(),
            cluster: ClusterId([7; 16]),
            uuid: ClusterId([9; 16]),
            target: TargetId(3),
        };
        identity.save(dir.path()).unwrap();
        assert_eq!(Identity::load(dir.path()).unwrap(), Some(identity));
    }

    #[test]
    fn what_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let attempt = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Identity::load(dir.path()).unwrap_err()
        };
        assert!(matches!(attempt(""), IdentityError::Unreadable { .. }));
        assert!(matches!(attempt("format = 1\nkind = \"me"), IdentityError::Unreadable { .. }));
        assert!(matches!(attempt("format = 2\nkind = \"meta\""), IdentityError::Newer { .. }));
        assert!(matches!(attempt("format = 1\nkind = \"storage\""), IdentityError::OtherKind { .. }));
        assert!(matches!(attempt("format = 1\nkind = \"meta\"\nx = 1"), IdentityError::Unreadable { .. }));
        std::fs::remove_file(&path).unwrap();
        std::fs::write(dir.path().join("letter.txt"), "dear").unwrap();
        assert!(matches!(Identity::load(dir.path()).unwrap_err(), IdentityError::NotEmpty { .. }));
    }
}
