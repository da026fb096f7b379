// SPDX-License-Identifier: Apache-2.0

//! Directories that several sets may have as a spare, on a file system of this machine. Failure model: see [`crate::claim`].

use crate::claim::{self, ClaimError, OBJECTS, SpareDir, TABLE};
use crate::drive::Drive;
use crate::error::SetError;
use nyala_raid::member::SetId;
use nyala_raid::{Effect, Reply, key};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

struct OsDir<'a>(&'a Path);

/// What is not there is as good as removed.
fn unless_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

impl SpareDir for OsDir<'_> {
    fn names(&self) -> io::Result<Vec<String>> {
        fs::read_dir(self.0)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.0.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    }

    fn put(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(self.0.join(name))?;
        file.write_all(content)?;
        file.sync_all()
    }

    fn link(&self, from: &str, to: &str) -> io::Result<()> {
        fs::hard_link(self.0.join(from), self.0.join(to))
    }

    fn make_dir(&self, name: &str) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(self.0.join(name))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        unless_missing(fs::remove_file(self.0.join(name)))
    }

    fn remove_dir(&self, name: &str) -> io::Result<()> {
        // Empty ones of strips may be in it. One that has a strip stays, whoever looked before.
        let dir = self.0.join(name);
        match fs::read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?.try_for_each(|entry| fs::remove_dir(entry?.path()))?,
        }
        unless_missing(fs::remove_dir(dir))
    }

    fn remove_tree(&self, name: &str) -> io::Result<()> {
        unless_missing(fs::remove_dir_all(self.0.join(name)))
    }

    fn sync(&self) -> io::Result<()> {
        File::open(self.0)?.sync_all()
    }

    fn has_strips(&self) -> io::Result<bool> {
        for dir in fs::read_dir(self.0.join(OBJECTS))? {
            if fs::read_dir(dir?.path())?.next().is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has_superblock(&self) -> io::Result<bool> {
        if fs::read_dir(self.0.join(TABLE))?.next().is_none() {
            return Ok(false);
        }
        let drive = Drive::open(self.0, false).map_err(io::Error::other)?;
        match drive.run(Effect::Get { member: 0, key: key::SUPERBLOCK.to_vec() }) {
            Reply::Value(value) => Ok(value.is_some()),
            _ => Err(io::Error::other("its table cannot be read")),
        }
    }
}

fn refused(dir: &Path, error: ClaimError) -> SetError {
    let location = dir.display().to_string();
    match error {
        ClaimError::Taken => SetError::Claimed { location },
        ClaimError::NotEmpty => SetError::NotEmpty { location },
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
