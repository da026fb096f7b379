// SPDX-License-Identifier: Apache-2.0

//! Deletion of drives in directories of this machine. Failure model: see [`crate::deletion`].

use crate::claim;
use crate::deletion;
use crate::drive::{Drive, is_empty};
use crate::error::SetError;
use crate::os_dir::OsDir;
use nyala_raid::member::SetId;
use nyala_raid::superblock::Superblock;
use nyala_raid::{Effect, Reply, key};
use std::io;
use std::path::{Path, PathBuf};

/// A directory whose drive is to go.
pub struct DriveDeletion {
    dir: PathBuf,
    content: Content,
}

/// What a directory has that may go.
enum Content {
    /// Nothing.
    Empty,
    /// A drive of a set, which nobody else has open as long as this is there.
    Drive(Drive, Superblock),
    /// What was begun for a set and never finished.
    Unfinished(SetId),
    /// What its deletion has left.
    Begun(SetId),
}

/// The set of a drive that was begun when a set was made, and is not known to be of any.
pub const NO_SET: SetId = SetId(0);

impl DriveDeletion {
    /// Looks at a directory, and keeps its drive from being used by others.
    ///
    /// Errors: the drive is in use, cannot be read, or what is there is none.
    pub fn of(dir: &Path) -> Result<DriveDeletion, SetError> {
        let content = content(dir)?;
        Ok(DriveDeletion { dir: dir.to_owned(), content })
    }

    /// Whose it is: none if the directory is empty.
    pub fn set(&self) -> Option<SetId> {
        match &self.content {
            Content::Empty => None,
            Content::Drive(_, superblock) => Some(superblock.set),
            Content::Unfinished(set) | Content::Begun(set) => Some(*set),
        }
    }

    /// What it says of its set, if it is whole.
    pub fn superblock(&self) -> Option<&Superblock> {
        match &self.content {
            Content::Drive(_, superblock) => Some(superblock),
            _ => None,
        }
    }

    /// What its table says of the target on the set, if it is whole; empty if it says nothing.
    pub fn target(&self) -> Vec<u8> {
        let Content::Drive(drive, _) = &self.content else { return Vec::new() };
        match drive.run(Effect::Get { member: 0, key: key::TARGET.to_vec() }) {
            Reply::Value(value) => value.unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// Whether nothing was ever on it: the making of its set never came to its end.
    pub fn is_half_made(&self) -> bool {
        match &self.content {
            Content::Drive(drive, superblock) => is_half_made(drive, superblock, &self.dir),
            Content::Unfinished(set) => *set == NO_SET,
            Content::Empty | Content::Begun(_) => false,
        }
    }

    /// Says durably that the drive goes with this set: nobody opens it from then on.
    pub fn begin(&self, set: SetId) -> Result<(), SetError> {
        match self.set() {
            None => Ok(()),
            Some(own) if own == set => deletion::begin(&OsDir(&self.dir), set).map_err(|error| wrong(&self.dir, error)),
            Some(_) => Err(SetError::Claimed { location: self.dir.display().to_string() }),
        }
    }

    /// Removes what the set had there. To be called once all drives of the set were begun with.
    pub fn finish(self, set: SetId) -> Result<(), SetError> {
        let DriveDeletion { dir, content } = self;
        if matches!(content, Content::Empty) {
            return Ok(());
        }
        // Its table's files are open as long as it is.
        drop(content);
        deletion::finish(&OsDir(&dir), set).map_err(|error| wrong(&dir, error))
    }
}

/// Whether the making of a drive's set never came to its end, so that nothing was ever on it: the set was never changed, and no target of it says whose the drive is.
pub fn is_half_made(drive: &Drive, superblock: &Superblock, dir: &Path) -> bool {
    let says_nothing = || {
        let row = drive.run(Effect::Get { member: 0, key: key::TARGET.to_vec() });
        matches!(row, Reply::Value(None)) && matches!(dir.join(deletion::TARGET).try_exists(), Ok(false))
    };
    superblock.generation == 1 && says_nothing()
}

fn wrong(dir: &Path, error: io::Error) -> SetError {
    SetError::Deletion { location: dir.display().to_string(), error }
}

/// Whose drive is being deleted in a directory; none if none is.
pub fn deletion_of(dir: &Path) -> Result<Option<SetId>, SetError> {
    deletion::of(&OsDir(dir)).map_err(|error| wrong(dir, error))
}

fn content(dir: &Path) -> Result<Content, SetError> {
    if let Some(set) = deletion_of(dir)? {
        return Ok(Content::Begun(set));
    }
    if is_empty(dir) {
        return Ok(Content::Empty);
    }
    let unfinished = || {
        let set = claim::unfinished(&OsDir(dir)).map_err(|error| wrong(dir, error))?;
        Ok::<_, SetError>(set.map(|owner| Content::Unfinished(owner.unwrap_or(NO_SET))))
    };
    let drive = match Drive::open(dir, false) {
        Ok(drive) => drive,
        // Somebody is at work on it.
        Err(error) if error.is_locked() => return Err(error),
        Err(error) => return unfinished()?.ok_or(error),
    };
    let location = || dir.display().to_string();
    match drive.run(Effect::Get { member: 0, key: key::SUPERBLOCK.to_vec() }) {
        Reply::Value(Some(bytes)) => {
            let superblock = Superblock::decode(&bytes).ok_or_else(|| SetError::Unreadable { location: location() })?;
            Ok(Content::Drive(drive, superblock))
        }
        Reply::Value(None) => {
            drop(drive);
            unfinished()?.ok_or_else(|| SetError::NotEmpty { location: location() })
        }
        _ => Err(SetError::Unreadable { location: location() }),
    }
}
