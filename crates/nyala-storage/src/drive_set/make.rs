// SPDX-License-Identifier: Apache-2.0

//! Making a set of empty directories. Failure model: see the parent module; what was begun and not finished on drives of this host is removed when a set is made of
//! them again. On drives of other hosts it is refused, since the one who is at it may be there still: `nyala raid delete` removes it.

use super::identity::TargetDir;
use super::reach::{DriveKeys, Reach, ReachError};
use crate::error::StorageError;
use crate::set_spec::SetSpec;
use nyala_drives::{Drive, DriveDeletion, DriveSet, NO_SET, SetError, SetFiles, create};
use nyala_netdrives::DriveLocation;
use nyala_raid::Geometry;
use nyala_raid::event::ErrorLimit;
use nyala_raid::member::{DriveId, SetId};
use nyala_wire::ClusterId;
use std::sync::Arc;

/// Bytes of a strip where nobody says.
pub const DEFAULT_STRIP_BYTES: usize = 64 << 10;

fn random() -> Result<u128, StorageError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(StorageError::random)?;
    Ok(u128::from_le_bytes(bytes))
}

/// The geometry of a set that is to be made.
pub fn geometry(spec: &SetSpec) -> Result<Geometry, StorageError> {
    let path = spec.first();
    let level = spec.level.ok_or_else(|| StorageError::NoLevel { path: path.clone() })?;
    let made = Geometry::new(level, spec.drives.len(), spec.strip_bytes.unwrap_or(DEFAULT_STRIP_BYTES));
    made.map_err(|error| StorageError::Set { path, error: Box::new(error.into()) })
}

/// Drives of this host on which the making of a set was begun and never finished. Nobody else is at it.
fn half_made(spec: &SetSpec) -> Vec<(DriveLocation, DriveDeletion)> {
    let of = |location: &DriveLocation| {
        let found = DriveDeletion::of(location.dir()?).ok()?;
        found.is_half_made().then(|| (location.clone(), found))
    };
    spec.drives.iter().filter_map(of).collect()
}

/// Makes the set, and of its drives a new target.
pub fn make(spec: &SetSpec, keys: Option<&DriveKeys>) -> Result<(), StorageError> {
    let geometry = geometry(spec)?;
    let path = spec.first();
    let set = |error: SetError| StorageError::Set { path: path.clone(), error: Box::new(error) };
    let ids = spec.drives.iter().map(|_| random().map(DriveId)).collect::<Result<Vec<DriveId>, _>>()?;
    let mut reach = Reach::of(spec, keys)?;
    let refused = |error| match error {
        ReachError::Set(error) => set(error),
        ReachError::Net(error) => StorageError::Net { path: path.clone(), error },
        other => set(SetError::Directory {
            location: path.display().to_string(),
            error: std::io::Error::other(other.to_string()),
        }),
    };
    // All of them before any is changed.
    let half_made = half_made(spec);
    let mut others = spec.drives.iter().filter(|location| !half_made.iter().any(|(of, _)| of == *location));
    others.try_for_each(|location| reach.expect_empty(location)).map_err(refused)?;
    for (location, begun) in half_made {
        tracing::warn!(drive = %location, "what was begun there of a set, and never finished, is removed");
        let of = begun.set().unwrap_or(NO_SET);
        begun.begin(of).and_then(|()| begun.finish(of)).map_err(set)?;
    }
    if let Some(network) = &mut reach.0 {
        let lost = |error| StorageError::Net { path: path.clone(), error };
        network.make(&spec.far()).map_err(lost)?;
        // Nobody else has them.
        network.open(&[], std::time::Duration::ZERO).map_err(lost)?;
    }
    let drives =
        spec.drives.iter().map(|location| reach.make(location)).collect::<Result<Vec<Drive>, _>>().map_err(refused)?;
    create(&drives, geometry, SetId(random()?), &ids).map_err(set)?;
    let made = Arc::new(DriveSet::open(drives, false, ErrorLimit::default(), false).map_err(set)?);
    SetFiles::open(made.clone(), true).map_err(set)?;
    TargetDir::of_set(&path, &made, &spec.dirs(), ClusterId(random()?.to_le_bytes())).map(drop)?;
    Ok(())
}
