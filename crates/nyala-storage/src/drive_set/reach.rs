// SPDX-License-Identifier: Apache-2.0

//! The way to the drives of a set: directories of this host, and drives that other hosts lend out. Failure model: see the parent module.

use crate::error::StorageError;
use crate::set_spec::SetSpec;
use nyala_drives::{Drive, SetError, claimed_by, is_empty, release_drive, take_drive};
use nyala_netdrives::{DriveLocation, NetError, Network};
use nyala_raid::member::SetId;
use nyala_raid::superblock::Superblock;
use nyala_transport::Secret;
use nyala_wire::ClusterId;
use nyala_wire::drive::DriveLook;
use std::io;
use std::time::Duration;

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
    #[error(
        "{0} is no empty directory there; mount the new drive first, or, if it has a drive of a set that is not needed any more: nyala raid delete {0}"
    )]
    NotEmpty(DriveLocation),
}

impl Reach {
    /// That of the settings.
    pub fn of(spec: &SetSpec, keys: Option<&DriveKeys>) -> Result<Reach, StorageError> {
        if spec.reached().is_empty() {
            return Ok(Reach(None));
        }
        let none = || NetError::from(io::Error::other("no secret file with a key for storage was named"));
        let network = keys.ok_or_else(none).and_then(|keys| Network::new(keys.secret.clone(), keys.encrypt));
        Ok(Reach(Some(network.map_err(|error| StorageError::Net { path: spec.first(), error })?)))
    }

    fn network(&self, location: &DriveLocation) -> Result<&Network, ReachError> {
        self.0.as_ref().ok_or_else(|| ReachError::Far(location.clone()))
    }

    /// How drives of other hosts are, without holding them; none of a host that does not answer.
    pub fn looks(
        &self,
        spec: &SetSpec,
        locations: Vec<DriveLocation>,
    ) -> Result<Vec<(DriveLocation, Option<DriveLook>)>, StorageError> {
        let Some(network) = self.0.as_ref().filter(|_| !locations.is_empty()) else { return Ok(Vec::new()) };
        let looks = network.look(&locations, Duration::ZERO);
        let looks = looks.map_err(|error| StorageError::Net { path: spec.first(), error })?;
        Ok(locations.into_iter().zip(looks).collect())
    }

    /// A drive of a set that is in use here.
    pub fn open(&self, location: &DriveLocation) -> Result<Drive, ReachError> {
        match location {
            DriveLocation::Dir(dir) => Ok(Drive::open(dir, false)?),
            DriveLocation::Net { .. } => Ok(self.network(location)?.attach(location)?),
        }
    }

    /// Whether a drive of another host is of a set, without holding it: it may be somebody else's. None: it does not say, or nobody answers.
    pub fn is_of(&self, location: &DriveLocation, set: SetId) -> Result<Option<bool>, ReachError> {
        let looks = self.network(location)?.look(std::slice::from_ref(location), Duration::ZERO)?;
        let superblock = looks.into_iter().flatten().find_map(|look| Superblock::decode(&look.superblock));
        Ok(superblock.map(|superblock| superblock.set == set))
    }

    /// A new drive of a new set, in a directory of this host.
    pub fn make(&self, location: &DriveLocation) -> Result<Drive, ReachError> {
        match location.dir() {
            Some(dir) => Ok(Drive::open(dir, true)?),
            None => self.open(location),
        }
    }

    /// A new drive for a set, of an empty directory that no other set has taken.
    pub fn take(&self, location: &DriveLocation, set: SetId) -> Result<Drive, ReachError> {
        let network = match location.dir() {
            Some(dir) => return Ok(take_drive(dir, set)?),
            None => self.network(location)?,
        };
        network.take(location, set)?;
        Ok(network.attach(location)?)
    }

    /// Gives back what the set took and never finished.
    pub fn release(&self, location: &DriveLocation, set: SetId) -> Result<(), ReachError> {
        match location.dir() {
            Some(dir) => release_drive(dir, set).map(drop)?,
            None => self.network(location)?.release(location, set)?,
        }
        Ok(())
    }

    /// Whether a set can take a spare now.
    pub fn is_free(&self, location: &DriveLocation, set: SetId) -> bool {
        match (location.dir(), &self.0) {
            (Some(dir), _) => is_empty(dir) || claimed_by(dir).is_ok_and(|owner| owner == Some(set)),
            (None, Some(network)) => {
                let looks = network.look(std::slice::from_ref(location), Duration::ZERO).unwrap_or_default();
                let ours = Some(ClusterId(set.0.to_le_bytes()));
                looks.into_iter().flatten().any(|look| look.empty || (look.claim == ours && look.superblock.is_empty()))
            }
            (None, None) => false,
        }
    }

    /// Makes sure that a drive can be made there.
    pub fn expect_empty(&self, location: &DriveLocation) -> Result<(), ReachError> {
        if let Some(dir) = location.dir() {
            // One that is missing is made.
            let is_free = !dir.exists() || is_empty(dir);
            return is_free.then_some(()).ok_or_else(|| SetError::NotEmpty { location: location.to_string() }.into());
        }
        let looks = self.network(location)?.look(std::slice::from_ref(location), Duration::ZERO)?;
        let empty = looks.into_iter().flatten().any(|look| look.empty);
        if empty { Ok(()) } else { Err(ReachError::NotEmpty(location.clone())) }
    }
}
