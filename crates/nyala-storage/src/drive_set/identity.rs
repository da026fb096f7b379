// SPDX-License-Identifier: Apache-2.0

//! Who a target is: in its directory, or on each drive of its set, in the drive's directory if that is of this host, and in its table. Failure model: see the parent
//! module; a copy that cannot be read or written is left out and said, as long as there is another one.

use super::peek::{KIND, of_drive, peek_set};
use super::survey;
use nyala_drives::{DriveSet, SetError};
use nyala_store::own_dir::{Identity, IdentityError, OwnDir};
use nyala_wire::{ClusterId, TargetId};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A target's directory, or what each of its drives has of it; locked.
pub struct TargetDir {
    /// The directory, or that of the first drive.
    pub path: PathBuf,
    /// Who it is.
    pub identity: Identity,
    copies: Vec<OwnDir>,
    set: Option<Arc<DriveSet>>,
}

impl TargetDir {
    /// Locks a target's directory, or makes a new one of it.
    pub fn open(path: &Path, new_uuid: ClusterId) -> Result<TargetDir, IdentityError> {
        let own = OwnDir::open(path, KIND, new_uuid)?;
        Ok(TargetDir { path: path.to_owned(), identity: own.identity.clone(), copies: vec![own], set: None })
    }

    /// The same of a set, some drives of which are in directories of this host.
    pub fn of_set(
        path: &Path,
        set: &Arc<DriveSet>,
        drives: &[PathBuf],
        new_uuid: ClusterId,
    ) -> Result<TargetDir, IdentityError> {
        let said = survey::identity(set.owners().map_err(|error| of_drives(path, &error))?, path);
        let near = peek_set(drives)?;
        let known = near.clone().filter(|near| near.target.0 != 0).or(said).or(near);
        let uuid = known.as_ref().map_or(new_uuid, |known| known.uuid);
        let (mut copies, mut first) = (Vec::new(), None);
        for drive in drives {
            match copy(drive, uuid, known.as_ref()) {
                Ok(own) => copies.push(own),
                Err(error) => {
                    tracing::warn!(drive = %drive.display(), %error, "a drive cannot say whose it is");
                    first = first.or(Some(error));
                }
            }
        }
        if let Some(error) = first.filter(|_| copies.is_empty()) {
            return Err(error);
        }
        let near = copies.first().map(|own: &OwnDir| own.identity.clone());
        let identity = near.or(known).unwrap_or_else(|| Identity::new(KIND, uuid));
        let dir = TargetDir { path: path.to_owned(), identity, copies, set: Some(set.clone()) };
        dir.write_rows()?;
        Ok(dir)
    }

    /// The drives' tables say it too, so that the target can be started wherever its drives can be reached.
    fn write_rows(&self) -> Result<(), IdentityError> {
        let Some(set) = &self.set else { return Ok(()) };
        let unwritable =
            |error: toml::ser::Error| IdentityError::Unreadable { path: self.path.clone(), reason: error.to_string() };
        let text = self.identity.to_text().map_err(unwritable)?;
        let write = || match set.owners()? {
            said if said == [text.as_bytes()] => Ok(()),
            _ => set.set_owner(text.as_bytes()),
        };
        write().map_err(|error| of_drives(&self.path, &error))
    }

    /// One that is there: its file system can be asked how many files it takes. None if all drives are of other hosts.
    pub fn there(&self) -> Option<&Path> {
        let there = self.copies.iter().map(|copy| copy.path.as_path()).find(|path| path.exists());
        there.or_else(|| (!self.copies.is_empty()).then_some(self.path.as_path()))
    }

    /// A new drive gets a copy, in its directory if that is of this host.
    pub fn add(&mut self, drive: Option<&Path>) -> Result<(), IdentityError> {
        if let Some(drive) = drive {
            let path = of_drive(drive);
            self.copies.retain(|copy| copy.path != path);
            self.copies.push(copy(drive, self.identity.uuid, Some(&self.identity))?);
        }
        let set = self.set.as_ref().map(|set| (set, self.identity.to_text()));
        if let Some((set, Ok(text))) = set {
            set.set_owner(text.as_bytes()).map_err(|error| of_drives(&self.path, &error))?;
        }
        Ok(())
    }

    /// Remembers what registration gave.
    pub fn registered(&mut self, cluster: ClusterId, target: TargetId) -> Result<(), IdentityError> {
        let (mut done, mut first) = (0, None);
        for copy in &mut self.copies {
            match copy.registered(cluster, target) {
                Ok(()) => done += 1,
                Err(error) => {
                    tracing::warn!(dir = %copy.path.display(), %error, "the target's id cannot be written there");
                    first = first.or(Some(error));
                }
            }
        }
        match first {
            Some(error) if done == 0 => Err(error),
            _ => {
                (self.identity.cluster, self.identity.target) = (cluster, target);
                self.write_rows()
            }
        }
    }
}

fn of_drives(path: &Path, error: &SetError) -> IdentityError {
    IdentityError::Io { path: path.to_owned(), error: std::io::Error::other(error.to_string()) }
}

fn copy(drive: &Path, uuid: ClusterId, known: Option<&Identity>) -> Result<OwnDir, IdentityError> {
    let path = of_drive(drive);
    let mut own = OwnDir::open(&path, KIND, uuid)?;
    if own.identity.uuid != uuid {
        let reason = "it is of another target than the other drives are".to_owned();
        return Err(IdentityError::Unreadable { path, reason });
    }
    if let Some(known) = known.filter(|known| known.target.0 != 0) {
        own.registered(known.cluster, known.target)?;
    }
    Ok(own)
}
