// SPDX-License-Identifier: Apache-2.0

//! Which drives of a set are there, before any of another host is taken.
//!
//! **Failure model.** See the parent module. Spares may be of other sets by now, those of other hosts too: what such a drive says is left aside, and it is not held for longer
//! than a look. Which set is meant say the drives that are named as its own; only if none of them is there, and no other target has these spares, do the spares say it.
//! What this set began on a spare and never finished is given back.

use super::reach::Reach;
use crate::error::StorageError;
use crate::set_spec::SetSpec;
use nyala_drives::{Drive, SetError, claimed_by, release_drive};
use nyala_netdrives::DriveLocation;
use nyala_raid::member::SetId;
use nyala_raid::superblock::Superblock;
use nyala_store::StoreError;
use nyala_wire::drive::DriveLook;
use std::path::{Path, PathBuf};

/// What is there.
#[derive(Default)]
pub(super) struct Seen {
    /// Drives of this host, open.
    pub drives: Vec<Drive>,
    /// Their directories.
    pub there: Vec<PathBuf>,
    /// Drives of other hosts, not held.
    pub locations: Vec<DriveLocation>,
    /// What all of them say of the set.
    pub superblocks: Vec<Superblock>,
    /// What those of other hosts say of the target.
    pub targets: Vec<Vec<u8>>,
    /// Named drives that are empty directories.
    pub empty: usize,
    /// Named drives that are not there, and why.
    pub missing: Vec<String>,
}

/// Looks at all drives and spares.
pub(super) fn look(spec: &SetSpec, reach: &Reach) -> Result<Seen, StorageError> {
    let mut seen = Seen::default();
    for dir in spec.dirs() {
        seen.near(spec, &dir)?;
    }
    for (location, look) in reach.looks(spec, spec.far())? {
        seen.far(location, look);
    }
    let ours: Vec<SetId> = seen.superblocks.iter().map(|superblock| superblock.set).collect();
    let anyone = ours.is_empty() && !spec.spares_shared;
    for dir in spec.spares.iter().filter_map(DriveLocation::dir) {
        seen.near_spare(spec, dir, |set| anyone || ours.contains(&set))?;
    }
    let spares: Vec<DriveLocation> = spec.spares.iter().filter(|spare| spare.dir().is_none()).cloned().collect();
    for (location, look) in reach.looks(spec, spares)? {
        seen.far_spare(reach, location, look, |set| anyone || ours.contains(&set));
    }
    Ok(seen)
}

impl Seen {
    fn add(&mut self, drive: Drive, dir: &Path, superblock: Superblock) {
        self.drives.push(drive);
        self.there.push(dir.to_owned());
        self.superblocks.push(superblock);
    }

    fn near(&mut self, spec: &SetSpec, dir: &Path) -> Result<(), StorageError> {
        let failed = |error| StorageError::Set { path: spec.first(), error: Box::new(error) };
        // One that is missing is made with the set, as that of a target without drives.
        self.empty += usize::from(!dir.exists() || nyala_drives::is_empty(dir));
        match Drive::open(dir, false) {
            Ok(drive) => match drive.superblock().map_err(failed)? {
                Some(superblock) => self.add(drive, dir, superblock),
                None => self.missing.push(format!("{} has no superblock and is left out", dir.display())),
            },
            // Somebody else is at work on it.
            Err(error @ SetError::Table { error: StoreError::Locked { .. }, .. }) => return Err(failed(error)),
            Err(error) => self.missing.push(format!("{} is missing: is it mounted? {error}", dir.display())),
        }
        Ok(())
    }

    fn near_spare(&mut self, spec: &SetSpec, dir: &Path, ours: impl Fn(SetId) -> bool) -> Result<(), StorageError> {
        let failed = |error| StorageError::Set { path: spec.first(), error: Box::new(error) };
        let claim = match claimed_by(dir) {
            Ok(Some(other)) if !ours(other) => return Ok(()),
            Ok(claim) => claim,
            Err(error) => {
                self.missing.push(error.to_string());
                return Ok(());
            }
        };
        let unfinished = match Drive::open(dir, false) {
            Ok(drive) => match drive.superblock().map_err(failed)? {
                Some(superblock) if ours(superblock.set) => {
                    self.add(drive, dir, superblock);
                    None
                }
                Some(_) => None,
                None => claim,
            },
            Err(SetError::Table { error: StoreError::Locked { .. }, .. }) if claim.is_none() => None,
            Err(error @ SetError::Table { error: StoreError::Locked { .. }, .. }) => return Err(failed(error)),
            Err(_) => claim,
        };
        let released = unfinished.map(|set| release_drive(dir, set));
        if let Some(Err(error)) = released {
            tracing::warn!(dir = %dir.display(), %error, "a spare that was begun cannot be given back now");
        }
        Ok(())
    }

    fn far(&mut self, location: DriveLocation, look: Option<DriveLook>) {
        self.empty += usize::from(look.as_ref().is_some_and(|look| look.empty));
        match look.map(|look| (Superblock::decode(&look.superblock), look)) {
            Some((Some(superblock), look)) => self.add_far(location, superblock, look.target),
            Some((None, look)) => {
                let why = look.missing.unwrap_or_else(|| "it has no superblock".to_owned());
                self.missing.push(format!("{location} is missing: {why}"));
            }
            None => self.missing.push(format!("{location} is missing: its host does not answer")),
        }
    }

    fn add_far(&mut self, location: DriveLocation, superblock: Superblock, target: Vec<u8>) {
        self.locations.push(location);
        self.superblocks.push(superblock);
        self.targets.push(target);
    }

    fn far_spare(
        &mut self,
        reach: &Reach,
        location: DriveLocation,
        look: Option<DriveLook>,
        ours: impl Fn(SetId) -> bool,
    ) {
        let Some(look) = look else { return };
        let claim = look.claim.map(|claim| SetId(u128::from_le_bytes(claim.0))).filter(|set| ours(*set));
        match (Superblock::decode(&look.superblock), claim) {
            (Some(superblock), _) if ours(superblock.set) => self.add_far(location, superblock, look.target),
            (None, Some(set)) if look.superblock.is_empty() => {
                if let Err(error) = reach.release(&location, set) {
                    tracing::warn!(%error, "a spare that was begun cannot be given back now");
                }
            }
            _ => {}
        }
    }
}
