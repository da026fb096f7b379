// SPDX-License-Identifier: Apache-2.0

//! Opening the set of a target. Failure model: see the parent module.

use super::reach::{DriveKeys, Reach};
use super::seen::{self, Seen};
use crate::error::StorageError;
use crate::set_spec::SetSpec;
use nyala_drives::{Drive, DriveSet};
use nyala_netdrives::{DriveLocation, NetError};
use nyala_raid::assemble::assemble;
use nyala_raid::event::ErrorLimit;
use nyala_raid::geometry::Geometry;
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
    pub spares: Vec<DriveLocation>,
    pub(super) reach: Reach,
}

/// Opens it with what is there.
pub fn open(spec: &SetSpec, keys: Option<&DriveKeys>) -> Result<OpenSet, StorageError> {
    let path = spec.first();
    let failed = |error| StorageError::Set { path: path.clone(), error: Box::new(error) };
    let mut reach = Reach::of(spec, keys)?;
    let Seen { mut drives, there, locations, superblocks, missing, .. } = seen::look(spec, &reach)?;
    missing.iter().for_each(|why| tracing::error!(why, "a drive is missing"));
    assemble(&superblocks, false).map_err(|error| failed(error.into()))?;
    let far = take(spec, &mut reach, &locations)?;
    let instances = far.iter().filter_map(Drive::instance).collect();
    drives.extend(far);
    let set = DriveSet::open(drives, false, ErrorLimit::default(), true).map_err(failed)?;
    check(spec, set.geometry())?;
    // Never a directory where a drive should be: that may be not mounted.
    let is_used = |spare: &&DriveLocation| match spare.dir() {
        Some(dir) => there.iter().any(|used| used == dir),
        None => locations.contains(spare),
    };
    let spares = spec.spares.iter().filter(|spare| !is_used(spare)).cloned().collect();
    Ok(OpenSet { set: Arc::new(set), there, instances, spares, reach })
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
    spec.drives.iter().chain(&spec.spares).cloned().collect()
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
