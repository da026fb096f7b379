// SPDX-License-Identifier: Apache-2.0

//! Why a storage service does not start, or ends.

use crate::chunk_store::ChunkError;
use nyala_drives::SetError;
use nyala_netdrives::{NetError, ServeError};
use nyala_store::StoreError;
use nyala_store::own_dir::IdentityError;
use nyala_transport::member::{BootstrapError, MgmtError};
use nyala_transport::{SecretError, TransportError};
use nyala_wire::{TargetId, WireError};
use std::io;
use std::path::PathBuf;

/// Why a storage service does not start, or ends.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// Metrics cannot be served.
    #[error(transparent)]
    Scrape(#[from] nyala_scrape::ScrapeError),
    /// The configuration names no target.
    #[error("no storage target and no drive to lend out is configured; name at least one directory")]
    NoTarget,
    /// A directory is refused.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The secret file cannot be used.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// Cannot listen, or stopped to.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// Management refuses the service.
    #[error("management refuses this service: {0}")]
    Mgmt(#[from] MgmtError),
    /// Management has expelled this process.
    #[error("management refuses this service: {0}")]
    Expelled(WireError),
    /// Management gave a target another id than its directory has.
    #[error("{path}: the directory is target {have}, management calls it {given}; is it a copy of another target?", path = .path.display())]
    OtherId {
        /// The directory.
        path: PathBuf,
        /// The id in the directory.
        have: TargetId,
        /// The id that management gave.
        given: TargetId,
    },
    /// Where a target should be there is none.
    #[error(
        "{path} {found}: is its disk mounted? Mount it and start the service again. A new target is made only on request: \
         nyala target add {path}", path = .path.display()
    )]
    NoTargetThere {
        /// The directory.
        path: PathBuf,
        /// What was found: nothing, or an empty directory.
        found: &'static str,
    },
    /// Management refuses a target.
    #[error("{path}: {why}", path = .path.display())]
    TargetRefused {
        /// The directory.
        path: PathBuf,
        /// Its words.
        why: String,
    },
    /// A target's key-value store cannot be opened.
    #[error("{path}: {error}", path = .path.display())]
    Store {
        /// The target's directory.
        path: PathBuf,
        /// Why.
        error: StoreError,
    },
    /// A target's chunk files cannot be taken up.
    #[error("{path}: {error}", path = .path.display())]
    Chunks {
        /// The target's directory.
        path: PathBuf,
        /// Why.
        error: ChunkError,
    },
    /// A target's drive set cannot be used.
    #[error("{path}: {error}", path = .path.display())]
    Set {
        /// The first drive.
        path: PathBuf,
        /// Why.
        error: Box<SetError>,
    },
    /// A set that is to be deleted is in use.
    #[error("{path}: a storage service uses this drive; take the target out of its settings, and start that service again, first", path = .0.display())]
    SetInUse(PathBuf),
    /// A target's drive set is not what the settings say.
    #[error("{path}: the settings say {said}, the drive set has {has}; correct the settings", path = .path.display())]
    OtherSet {
        /// The first drive.
        path: PathBuf,
        /// What the settings say.
        said: String,
        /// What the set has.
        has: String,
    },
    /// Drives of other hosts cannot be reached.
    #[error("{path}: {error}", path = .path.display())]
    Net {
        /// The first drive.
        path: PathBuf,
        /// Why.
        error: NetError,
    },
    /// Drives cannot be lent out.
    #[error(transparent)]
    Drives(#[from] ServeError),
    /// A target is to be made and nobody says how.
    #[error("{path}: a new drive set needs a level; add it to the settings, or make the set: nyala raid create", path = .path.display())]
    NoLevel {
        /// The first drive.
        path: PathBuf,
    },
    /// The system refuses something else.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The system's words.
        error: io::Error,
    },
}

impl StorageError {
    /// The system gives no random numbers.
    pub(crate) fn random(error: getrandom::Error) -> StorageError {
        StorageError::System { what: "no random numbers", error: io::Error::other(error) }
    }
}

impl From<BootstrapError> for StorageError {
    fn from(error: BootstrapError) -> StorageError {
        match error {
            BootstrapError::Transport(error) => StorageError::Transport(error),
            BootstrapError::Mgmt(error) => StorageError::Mgmt(error),
            BootstrapError::Random(error) => StorageError::random(error),
        }
    }
}
