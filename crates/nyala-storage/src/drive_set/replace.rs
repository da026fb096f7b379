// SPDX-License-Identifier: Apache-2.0

//! A new drive in the place of a member. Failure model: see the parent module; what was made of a directory that is then refused goes again, now or when the
//! set starts.

use super::identity::TargetDir;
use super::reach::Reach;
use nyala_drives::{DriveSet, SetError};
use nyala_netdrives::DriveLocation;
use nyala_raid::member::DriveId;
use nyala_wire::ErrorCode;
use nyala_wire::WireError;
use parking_lot::Mutex;

/// Gives a member an empty directory, of this host or another one.
pub(super) fn replace(
    set: &DriveSet,
    (dir, reach): (&Mutex<TargetDir>, &Reach),
    member: usize,
    drive: &DriveLocation,
) -> Result<(), WireError> {
    let refused = |error: SetError| ErrorCode::INVALID.with(error.to_string());
    if drive.dir().is_some_and(|dir| !dir.is_dir()) {
        return Err(
            ErrorCode::INVALID.with(format!("{drive} is not a directory on the storage host; mount its drive first"))
        );
    }
    set.may_replace(member).map_err(refused)?;
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| ErrorCode::IO.with(format!("no random numbers: {error}")))?;
    let ours = set.superblock().set;
    let new = reach.take(drive, ours).map_err(|error| ErrorCode::INVALID.with(error.to_string()))?;
    if let Err(error) = set.replace(member, new, DriveId(u128::from_le_bytes(id))) {
        // What cannot be given back now is this set's, and is when it wants it again, or starts.
        if let Err(error) = reach.release(drive, ours) {
            tracing::warn!(%drive, %error, "a drive that was begun cannot be given back now");
        }
        return Err(refused(error));
    }
    if let Err(error) = dir.lock().add(drive.dir()) {
        tracing::warn!(%drive, %error, "the new drive does not say yet whose it is");
    }
    Ok(())
}
