// SPDX-License-Identifier: Apache-2.0

//! The way to the drives of a set: directories of this host, and drives that other hosts lend out. Failure model: see the parent module.

use crate::config::SetSpec;
use crate::error::StorageError;
use nyala_drives::{Drive, SetError, is_empty};
use nyala_netdrives::{DriveLocation, NetError, Network};
use nyala_transport::Secret;
use std::io;

/// What drive services of other hosts want to see.
#[derive(Clone)]
pub struct DriveKeys {
    /// It has a key for storage.
    pub secret: Secret,
    /// All traffic is encrypted.
    pub encrypt: bool,
}

/// The way to the drives of one set. Clones are the same.
#[derive(Clone)]
pub(super) struct Reach(pub Option<Network>);

/// Why a drive cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReachError {
    #[error(transparent)]
    Set(#[from] SetError),
    #[error(transparent)]
    Net(#[from] NetError),
    #[error("{0} is of another host, and this set has none of other hosts: start the service with it in the settings")]
    Far(DriveLocation),
    #[error("{0} is no empty directory there; mount the new drive, or empty it, first")]
    NotEmpty(DriveLocation),
}

impl Reach {
    /// That of the settings.
    pub fn of(spec: &SetSpec, keys: Option<&DriveKeys>) -> Result<Reach, StorageError> {
        if spec.far().is_empty() {
            return Ok(Reach(None));
        }
        let none = || NetError::from(io::Error::other("no secret file with a key for storage was named"));
        let network = keys.ok_or_else(none).and_then(|keys| Network::new(keys.secret.clone(), keys.encrypt));
        Ok(Reach(Some(network.map_err(|error| StorageError::Net { path: spec.first(), error })?)))
    }

    fn network(&self, location: &DriveLocation) -> Result<&Network, ReachError> {
        self.0.as_ref().ok_or_else(|| ReachError::Far(location.clone()))
    }

    /// A drive of a set that is in use here.
    pub fn open(&self, location: &DriveLocation) -> Result<Drive, ReachError> {
        match location {
            DriveLocation::Dir(dir) => Ok(Drive::open(dir, false)?),
            DriveLocation::Net { .. } => Ok(self.network(location)?.attach(location)?),
        }
    }

    /// A new drive, of an empty directory.
    pub fn make(&self, location: &DriveLocation) -> Result<Drive, ReachError> {
        let network = match location {
            DriveLocation::Dir(dir) => return Ok(Drive::open(dir, true)?),
            DriveLocation::Net { .. } => self.network(location)?,
        };
        self.expect_empty(location)?;
        network.make(std::slice::from_ref(location))?;
        Ok(network.attach(location)?)
    }

    /// Makes sure that a drive can be made there.
    pub fn expect_empty(&self, location: &DriveLocation) -> Result<(), ReachError> {
        let empty = match location {
            DriveLocation::Dir(dir) => is_empty(dir),
            DriveLocation::Net { .. } => {
                let looks = self.network(location)?.look(std::slice::from_ref(location), std::time::Duration::ZERO)?;
                looks.into_iter().flatten().any(|look| look.empty)
            }
        };
        if empty { Ok(()) } else { Err(ReachError::NotEmpty(location.clone())) }
    }
}
