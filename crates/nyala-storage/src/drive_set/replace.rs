// SPDX-License-Identifier: Apache-2.0

//! A new drive in the place of a member. Failure model: see the parent module; what was made of a directory that is then refused goes again.

use super::identity::TargetDir;
use nyala_drives::{Drive, DriveSet, SetError};
use nyala_raid::member::DriveId;
use nyala_wire::ErrorCode;
use nyala_wire::WireError;
use parking_lot::Mutex;
use std::path::Path;

/// Gives a member an empty directory.
pub(super) fn replace(set: &DriveSet, dir: &Mutex<TargetDir>, member: usize, drive: &Path) -> Result<(), WireError> {
    let refused = |error: SetError| ErrorCode::INVALID.with(error.to_string());
    if !drive.is_dir() {
        let drive = drive.display();
        return Err(
            ErrorCode::INVALID.with(format!("{drive} is not a directory on the storage host; mount its drive first"))
        );
    }
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| ErrorCode::IO.with(format!("no random numbers: {error}")))?;
    let new = Drive::open(drive, true).map_err(refused)?;
    if let Err(error) = set.replace(member, new, DriveId(u128::from_le_bytes(id))) {
        for made in ["objects", "table"] {
            // It was empty before; what cannot be removed is in the way of the next try, which says so.
            let _ = std::fs::remove_dir_all(drive.join(made));
        }
        return Err(refused(error));
    }
    if let Err(error) = dir.lock().add(drive) {
        tracing::warn!(drive = %drive.display(), %error, "the new drive does not say yet whose it is");
    }
    Ok(())
}
