// SPDX-License-Identifier: Apache-2.0

//! Which drives of a set are there, before any of another host is taken.
//!
//! **Failure model.** See the parent module. Spares may be of other sets by now, those of other hosts too: what such a drive says is left aside, and it is not held for longer
//! than a look. Which set is meant say the drives that are named as its own; only if none of them is there, and no other target has these spares, do the spares say it.
//! What this set began on a spare and never finished is given back. A drive of a set whose making was cut off, and that the others know nothing of, is left aside.

pub(super) use super::found::Seen;
use super::found::{leave_half_made, said_if_kept};
use super::reach::Reach;
use crate::error::StorageError;
use crate::set_spec::SetSpec;
use nyala_drives::{Drive, SetError, claimed_by, is_half_made, release_drive};
use nyala_netdrives::DriveLocation;
use nyala_raid::member::SetId;
use nyala_raid::superblock::Superblock;
use nyala_wire::drive::DriveLook;
use std::path::Path;

/// Looks at all drives and spares.
pub(super) fn look(spec: &SetSpec, reach: &Reach) -> Result<Seen, StorageError> {
    let mut seen = Seen::default();
    spec.dirs().iter().try_for_each(|dir| seen.near(spec, dir))?;
    for (location, look) in reach.looks(spec, spec.far())? {
        seen.far(location, look);
    }
    leave_half_made(&mut seen);
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
        let half_made = is_half_made(&drive, &superblock, dir);
        self.half_made.extend(half_made.then(|| (dir.display().to_string(), superblock.set)));
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
            Err(error) if error.is_locked() => return Err(failed(error)),
            Err(error @ SetError::Deleted { .. }) => self.missing.push(error.to_string()),
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
            Err(error) if error.is_locked() && claim.is_some() => return Err(failed(error)),
            // Another set's that is in use has no claim, and one without is nobody's to give back.
            Err(_) => claim,
        };
        unfinished.into_iter().for_each(|set| said_if_kept(release_drive(dir, set)));
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
        let half_made = superblock.generation == 1 && target.is_empty();
        self.half_made.extend(half_made.then(|| (location.to_string(), superblock.set)));
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
            (None, Some(set)) if look.superblock.is_empty() => said_if_kept(reach.release(&location, set)),
            _ => {}
        }
    }
}
