// SPDX-License-Identifier: Apache-2.0

//! Opening the set of a target. Failure model: see the parent module.

use super::reach::{DriveKeys, Reach};
use super::survey;
use crate::config::SetSpec;
use crate::error::StorageError;
use nyala_drives::{Drive, DriveSet, SetError};
use nyala_netdrives::{DriveLocation, NetError};
use nyala_raid::assemble::assemble;
use nyala_raid::event::ErrorLimit;
use nyala_raid::geometry::Geometry;
use nyala_raid::superblock::Superblock;
use nyala_store::StoreError;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A set, and which of the places have its drives.
pub struct OpenSet {
    /// The set.
    pub set: Arc<DriveSet>,
    /// Directories of drives that are there.
    pub there: Vec<PathBuf>,
    /// Of drives of other hosts that are there: what changes when something that was not synced may be lost.
    pub instances: Vec<String>,
    /// Spares that no drive of the set is in.
    pub spares: Vec<PathBuf>,
    pub(super) reach: Reach,
}

/// Opens it with what is there.
pub fn open(spec: &SetSpec, keys: Option<&DriveKeys>) -> Result<OpenSet, StorageError> {
    let path = spec.first();
    let failed = |error| StorageError::Set { path: path.clone(), error: Box::new(error) };
    let (mut drives, there) = near(spec)?;
    let mut reach = Reach::of(spec, keys)?;
    let (locations, superblocks) = found(spec, &reach, &drives)?;
    assemble(&superblocks, false).map_err(|error| failed(error.into()))?;
    let far = take(spec, &mut reach, &locations)?;
    let instances = far.iter().filter_map(Drive::instance).collect();
    drives.extend(far);
    let set = DriveSet::open(drives, false, ErrorLimit::default(), true).map_err(failed)?;
    check(spec, set.geometry())?;
    // Never a directory where a drive should be: that may be not mounted.
    let spares = spec.spares.iter().filter(|spare| !there.contains(spare)).cloned().collect();
    Ok(OpenSet { set: Arc::new(set), there, instances, spares, reach })
}

/// The drives of this host that are there, and their directories.
pub(super) fn near(spec: &SetSpec) -> Result<(Vec<Drive>, Vec<PathBuf>), StorageError> {
    let failed = |error| StorageError::Set { path: spec.first(), error: Box::new(error) };
    let (mut drives, mut there) = (Vec::new(), Vec::new());
    let dirs = spec.dirs();
    for dir in dirs.iter().chain(&spec.spares) {
        match Drive::open(dir, false) {
            Ok(drive) if drive.superblock().map_err(failed)?.is_some() => {
                drives.push(drive);
                there.push(dir.clone());
            }
            Ok(_) => tracing::error!(dir = %dir.display(), "a drive has no superblock and is left out"),
            // Somebody else is at work on it.
            Err(error @ SetError::Table { error: StoreError::Locked { .. }, .. }) => return Err(failed(error)),
            Err(error) if dirs.contains(dir) => {
                tracing::error!(dir = %dir.display(), %error, "a drive is missing: is it mounted?");
            }
            Err(_) => {}
        }
    }
    Ok((drives, there))
}

/// Which drives of other hosts are there, and what these and those of this host say of the set.
pub(super) fn found(
    spec: &SetSpec,
    reach: &Reach,
    near: &[Drive],
) -> Result<(Vec<DriveLocation>, Vec<Superblock>), StorageError> {
    let looks = survey::far(spec, reach)?;
    let failed = |error| StorageError::Set { path: spec.first(), error: Box::new(error) };
    let (mut locations, mut found) = (Vec::new(), Vec::new());
    for (location, look) in looks {
        match look.map(|look| (Superblock::decode(&look.superblock), look.missing)) {
            Some((Some(superblock), _)) => {
                locations.push(location);
                found.push(superblock);
            }
            Some((None, missing)) => {
                let why = missing.unwrap_or_else(|| "it has no superblock".to_owned());
                tracing::error!(place = %location, why, "a drive is missing");
            }
            None => tracing::error!(place = %location, "a drive is missing: its host does not answer"),
        }
    }
    for drive in near {
        found.extend(drive.superblock().map_err(failed)?);
    }
    Ok((locations, found))
}

/// Takes the drives of other hosts that are there. Only if the set starts with them: otherwise whoever has them may go on.
pub(super) fn take(spec: &SetSpec, reach: &mut Reach, locations: &[DriveLocation]) -> Result<Vec<Drive>, StorageError> {
    let Some(network) = &mut reach.0 else { return Ok(Vec::new()) };
    let lost = |error| StorageError::Net { path: spec.first(), error };
    let mut taken = Vec::new();
    for drive in network.open(locations, Duration::ZERO).map_err(lost)? {
        match drive {
            Ok(drive) => taken.push(drive),
            // Then that one has, or will have, the others too.
            Err(error @ NetError::Drive { taken: true, .. }) => return Err(lost(error)),
            Err(error) => tracing::error!(%error, "a drive is missing"),
        }
    }
    Ok(taken)
}

/// Where drives of a set may be.
pub(super) fn locations(spec: &SetSpec) -> Vec<DriveLocation> {
    spec.drives.iter().cloned().chain(spec.spares.iter().cloned().map(DriveLocation::from)).collect()
}

/// The settings say nothing else than the set has.
fn check(spec: &SetSpec, geometry: &Geometry) -> Result<(), StorageError> {
    let other = |said: String, has: String| Err(StorageError::OtherSet { path: spec.first(), said, has });
    if let Some(level) = spec.level.filter(|level| *level != geometry.level()) {
        return other(format!("level {level}"), format!("level {}", geometry.level()));
    }
    match spec.strip_bytes.filter(|strip| *strip != geometry.strip_bytes()) {
        Some(strip) => other(format!("strips of {strip} bytes"), format!("strips of {} bytes", geometry.strip_bytes())),
        None => Ok(()),
    }
}
