// SPDX-License-Identifier: Apache-2.0

//! Why a metadata service cannot run.
//!
//! Failure model: each of these ends the service; whoever started it says why.

use nyala_store::StoreError;
use nyala_store::own_dir::IdentityError;
use nyala_transport::member::{BootstrapError, MgmtError};
use nyala_transport::{SecretError, TransportError};
use nyala_wire::WireError;

/// Why a metadata service cannot run (any more).
#[derive(Debug, thiserror::Error)]
pub enum MetaError {
    /// The directory is not what it should be.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The secret file is not what it should be.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// Listening failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// Management refuses.
    #[error(transparent)]
    Mgmt(#[from] MgmtError),
    /// The tables cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The tables cannot be taken up.
    #[error("metadata tables: {0}")]
    Tables(#[from] WireError),
    /// Management has expelled this process.
    #[error("management refuses this service: {0}")]
    Expelled(WireError),
    /// Metrics cannot be served.
    #[error(transparent)]
    Scrape(#[from] nyala_scrape::ScrapeError),
    /// The system gives no random numbers.
    #[error("no random numbers from the system: {0}")]
    Random(getrandom::Error),
}

impl From<BootstrapError> for MetaError {
    fn from(error: BootstrapError) -> MetaError {
        match error {
            BootstrapError::Transport(error) => MetaError::Transport(error),
            BootstrapError::Mgmt(error) => MetaError::Mgmt(error),
            BootstrapError::Random(error) => MetaError::Random(error),
        }
    }
}
