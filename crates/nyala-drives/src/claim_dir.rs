// SPDX-License-Identifier: Apache-2.0

//! Directories that several sets may have as a spare, on a file system of this machine. Failure model: see [`crate::claim`].

use crate::claim::{self, ClaimError};
use crate::drive::Drive;
use crate::error::SetError;
use crate::os_dir::OsDir;
use nyala_raid::member::SetId;
use std::io;
use std::path::Path;

fn refused(dir: &Path, error: ClaimError) -> SetError {
    let location = dir.display().to_string();
    match error {
        ClaimError::Taken => SetError::Claimed { location },
        ClaimError::NotEmpty => SetError::NotEmpty { location },
        ClaimError::Io(error) if error.kind() == io::ErrorKind::InvalidData => SetError::Claim { location, error },
        ClaimError::Io(error) => SetError::Directory { location, error },
    }
}

/// Which set has taken a directory for a drive; none if none has.
pub fn claimed_by(dir: &Path) -> Result<Option<SetId>, SetError> {
    claim::owner(&OsDir(dir)).map_err(|error| refused(dir, error.into()))
}

/// Makes a drive of an empty directory for a set, or of what this set began there before and never finished. It happens once, whoever else wants it: the
/// others get [`SetError::Claimed`].
pub fn take_drive(dir: &Path, set: SetId) -> Result<Drive, SetError> {
    claim::take(&OsDir(dir), set).map_err(|error| refused(dir, error))?;
    Drive::open(dir, false).inspect_err(|_| {
        // What cannot be removed now is this set's, and removed when it wants the directory again.
        let _ = release_drive(dir, set);
    })
}

/// Gives back a directory that a set took for a drive and never finished; nothing of it may be open. False: it has a superblock, or is not this set's.
pub fn release_drive(dir: &Path, set: SetId) -> Result<bool, SetError> {
    claim::release(&OsDir(dir), set).map_err(|error| refused(dir, error.into()))
}
