// SPDX-License-Identifier: Apache-2.0

//! How the drives of a set are, before any of them is taken: whoever takes one of another host ends what another service does with it.
//! Failure model: see the parent module; what is seen may be otherwise a moment later, so opening the set looks again.

use super::reach::{DriveKeys, Reach};
use crate::config::SetSpec;
use crate::error::StorageError;
use nyala_drives::Drive;
use nyala_netdrives::DriveLocation;
use nyala_raid::assemble::assemble;
use nyala_raid::superblock::Superblock;
use nyala_store::own_dir::{Identity, Kind};
use nyala_wire::drive::DriveLook;
use std::path::Path;
use std::time::Duration;

/// What was seen.
pub struct Survey {
    /// Drives that are there.
    pub there: usize,
    /// Of so many.
    pub of: usize,
    /// All of them are empty directories.
    pub new: bool,
    /// Why the set cannot start with those that are there.
    pub short: Option<String>,
    /// Who the target is, if a drive of another host says so.
    pub identity: Option<Identity>,
}

/// Who the target on drives is, as they say; the one that has registered first of all.
pub(super) fn identity(said: impl IntoIterator<Item = impl AsRef<[u8]>>, location: &Path) -> Option<Identity> {
    let parsed = said.into_iter().filter(|text| !text.as_ref().is_empty());
    let parsed = parsed.filter_map(|text| match Identity::from_text(text.as_ref(), location, Kind::StorageTarget) {
        Ok(identity) => Some(identity),
        Err(error) => {
            tracing::warn!(%error, "a drive cannot say whose it is");
            None
        }
    });
    parsed.max_by_key(|identity| identity.target.0 != 0)
}

pub(super) fn far(spec: &SetSpec, reach: &Reach) -> Result<Vec<(DriveLocation, Option<DriveLook>)>, StorageError> {
    let Some(network) = &reach.0 else { return Ok(Vec::new()) };
    let locations = spec.far();
    let looks = network.look(&locations, Duration::ZERO);
    let looks = looks.map_err(|error| StorageError::Net { path: spec.first(), error })?;
    Ok(locations.into_iter().zip(looks).collect())
}

/// Looks at all drives of a set of which some are of other hosts.
pub fn survey(spec: &SetSpec, keys: &DriveKeys) -> Result<Survey, StorageError> {
    let reach = Reach::of(spec, Some(keys))?;
    let looks: Vec<DriveLook> = far(spec, &reach)?.into_iter().filter_map(|(_, look)| look).collect();
    let dirs = spec.dirs();
    let near = dirs.iter().filter_map(|dir| Drive::open(dir, false).ok()?.superblock().ok()?);
    let found = looks.iter().filter_map(|look| Superblock::decode(&look.superblock)).chain(near);
    let found: Vec<Superblock> = found.collect();
    let empty =
        looks.iter().filter(|look| look.empty).count() + dirs.iter().filter(|d| nyala_drives::is_empty(d)).count();
    let of = spec.drives.len();
    let new = empty == of;
    let short = if new { None } else { assemble(&found, false).err().map(|error| error.to_string()) };
    let identity = identity(looks.iter().map(|look| &look.target), &spec.first());
    Ok(Survey { there: found.len(), of, new, short, identity })
}
