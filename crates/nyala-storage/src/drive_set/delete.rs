// SPDX-License-Identifier: Apache-2.0

//! Deleting a set that is at rest. That no cluster knows its target any more is for the caller to find out.
//!
//! **Failure model.** See the parent module, and `nyala_drives::DriveDeletion` for what a crash leaves on a drive. All drives of this host are kept from being used as long as the
//! deletion goes on, and all drives that are there know that they go before anything is removed from any: a set never runs with some of its drives gone. Drives of other hosts cannot
//! say whether a service still holds them; one that does is refused by them from then on. A drive that is away keeps what it has, and can be deleted by itself later. Drives and spares of other sets are left as they are.

use super::delete_look::{DriveOutcome, Part, failed, far, near, one_set};
use super::peek::peek_set;
use super::reach::{DriveKeys, Reach};
use super::survey;
use crate::error::StorageError;
use crate::set_spec::SetSpec;
use nyala_drives::DriveDeletion;
use nyala_netdrives::DriveLocation;
use nyala_raid::member::SetId;
use nyala_raid::superblock::Superblock;
use nyala_store::own_dir::Identity;

/// A set that is to be deleted. Nobody else uses its drives of this host as long as this is there.
pub struct Deletion {
    reach: Reach,
    parts: Vec<Part>,
    /// Who the target on the set is, as far as its drives say that.
    pub target: Option<Identity>,
    /// The level, where a drive says it.
    pub level: Option<String>,
    /// Drives of the set that are not among those that were found.
    pub absent: usize,
}

impl Deletion {
    /// Looks at the drives of a set, and at the spares that it may have taken.
    ///
    /// Errors: the drives are in use, or of several sets.
    pub fn of(spec: &SetSpec, keys: Option<&DriveKeys>) -> Result<Deletion, StorageError> {
        let reach = Reach::of(spec, keys)?;
        let (mut parts, mut said, mut superblocks) = (Vec::new(), Vec::new(), Vec::new());
        for location in spec.drives.iter().chain(&spec.spares) {
            let (part, superblock, target) = match location.dir() {
                Some(dir) => near(location, DriveDeletion::of(dir))?,
                None => far(location, reach.looks(spec, vec![location.clone()])?.pop().and_then(|(_, look)| look)),
            };
            parts.push(part);
            said.push(target);
            superblocks.push(superblock);
        }
        let set = one_set(&parts[..spec.drives.len()]);
        let set = set.map_err(|error| StorageError::Set { path: spec.first(), error: Box::new(error.into()) })?;
        let of_set = |superblock: &&Superblock| Some(superblock.set) == set;
        let newest = superblocks.iter().flatten().filter(of_set).max_by_key(|superblock| superblock.generation);
        let there = |drive| superblocks.iter().flatten().filter(of_set).any(|other| other.drive == drive);
        let absent = newest.map_or(0, |newest| newest.members.iter().filter(|member| !there(member.drive)).count());
        // Spares that others have, or that the set never took.
        for part in &mut parts[spec.drives.len()..] {
            if part.set.is_some() && part.set != set {
                (part.outcome, part.set) = (DriveOutcome::Stays("another set has taken it".to_owned()), None);
            }
        }
        let dirs = spec.dirs();
        let near = peek_set(&dirs).unwrap_or_else(|error| {
            tracing::warn!(%error, "no drive can say whose target it is");
            None
        });
        let near = near.filter(|near| near.target.0 != 0);
        let target = near.or_else(|| survey::identity(said, &spec.first()));
        Ok(Deletion { reach, parts, target, level: newest.map(|newest| newest.geometry.level().to_string()), absent })
    }

    /// What becomes of each drive and spare.
    pub fn drives(&self) -> impl Iterator<Item = (&DriveLocation, &DriveOutcome)> {
        self.parts.iter().map(|part| (&part.location, &part.outcome))
    }

    /// Deletes it. What fails can be done again; what can be removed is removed first.
    pub fn run(self) -> Result<(), StorageError> {
        let Deletion { reach, parts, .. } = self;
        let going: Vec<(Part, SetId)> = parts.into_iter().filter_map(|part| part.set.map(|set| (part, set))).collect();
        for (part, set) in &going {
            match &part.near {
                Some(near) => near.begin(*set).map_err(|error| failed(&part.location, error))?,
                None => far_delete(&reach, &part.location, *set, false)?,
            }
        }
        let finished = going.into_iter().map(|(Part { location, near, .. }, set)| match near {
            Some(near) => near.finish(set).map_err(|error| failed(&location, error)),
            None => far_delete(&reach, &location, set, true),
        });
        finished.collect::<Vec<_>>().into_iter().collect()
    }
}

fn far_delete(reach: &Reach, location: &DriveLocation, set: SetId, finish: bool) -> Result<(), StorageError> {
    // Drives of other hosts are known by a look at them.
    let Some(network) = &reach.0 else { return Ok(()) };
    let lost = |error| StorageError::Net { path: location.to_string().into(), error };
    network.delete(location, set, finish).map_err(lost)
}

#[cfg(test)]
mod tests;
