// SPDX-License-Identifier: Apache-2.0

//! One drive, wherever it is, and the doing of effects.

use crate::access::DriveAccess;
use crate::drive_files::DriveFiles;
use crate::error::SetError;
use crate::files::OsFiles;
use crate::local::LocalDrive;
use nyala_raid::superblock::Superblock;
use nyala_raid::{Effect, Reply, key};
use nyala_store::{Options, Store};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

/// Memory of a drive's table, bytes: records of the set's log lie in it until a checkpoint.
const TABLE_MEMORY_BYTES: usize = 64 << 20;
/// Of its log: a set makes a checkpoint when logs have 64 MiB.
const SEGMENT_BYTES: u64 = 16 << 20;

/// Whether a drive can be made of a directory: it is there, and nothing is in it but what a new file system may have.
pub fn is_empty(dir: &Path) -> bool {
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.map(|entry| entry.file_name());
    let names = std::fs::read_dir(dir).and_then(|entries| entries.map(name).collect::<std::io::Result<Vec<_>>>());
    names.is_ok_and(|names| crate::claim::is_free(names.iter().map(|name| name.to_str().unwrap_or("?"))))
}

/// A drive that is being deleted is none any more.
fn expect_whole(dir: &Path) -> Result<(), SetError> {
    let location = dir.display().to_string();
    match dir.join(crate::deletion::NAME).try_exists() {
        Ok(false) => Ok(()),
        Ok(true) => Err(SetError::Deleted { location }),
        Err(error) => Err(SetError::Directory { location, error }),
    }
}

/// A drive. Clones are the same one.
#[derive(Clone)]
pub struct Drive(Arc<dyn DriveAccess>);

impl Drive {
    /// Reached in some way.
    pub fn with(access: Arc<dyn DriveAccess>) -> Drive {
        Drive(access)
    }

    /// Of its parts.
    pub fn new(files: Arc<dyn DriveFiles>, table: Store, location: &str) -> Drive {
        Drive(Arc::new(LocalDrive { files, table, location: location.to_owned() }))
    }

    /// A drive in a directory. `create` makes what is in it; then it has to be empty.
    pub fn open(dir: &Path, create: bool) -> Result<Drive, SetError> {
        let location = dir.display().to_string();
        let wrong = |error| SetError::Directory { location: location.clone(), error };
        let make = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path);
        if create {
            make(dir).map_err(wrong)?;
            std::fs::read_dir(dir).map_err(wrong)?;
            if !is_empty(dir) {
                return Err(SetError::NotEmpty { location });
            }
            make(&dir.join("objects")).and_then(|()| make(&dir.join("table"))).map_err(wrong)?;
        }
        expect_whole(dir)?;
        // A mount that is missing must not look like a new drive.
        let objects = OsFiles::open(&dir.join("objects")).map_err(wrong)?;
        let options = Options {
            segment_bytes: SEGMENT_BYTES,
            memory_soft_bytes: TABLE_MEMORY_BYTES,
            memory_hard_bytes: 4 * TABLE_MEMORY_BYTES,
            ..Options::default()
        };
        let table = Store::open(&dir.join("table"), options);
        let (table, _) = table.map_err(|error| SetError::Table { location: location.clone(), error })?;
        // Again: who deletes it has it open until it has said so.
        expect_whole(dir)?;
        Ok(Drive::new(Arc::new(objects), table, &location))
    }

    /// Where it is.
    pub fn location(&self) -> &str {
        self.0.location()
    }

    /// Whether it is still where it was.
    pub fn is_there(&self) -> bool {
        self.0.is_there()
    }

    /// Bytes in all, and free ones; none if that is not known.
    pub fn space(&self) -> Option<(u64, u64)> {
        self.0.space()
    }

    /// Whether somebody else has taken the set over.
    pub fn is_taken(&self) -> bool {
        self.0.is_taken()
    }

    /// Of a drive of another host: what changes there when something that was not synced may be lost.
    pub fn instance(&self) -> Option<String> {
        self.0.instance()
    }

    /// Its superblock, if it has one that can be read.
    pub fn superblock(&self) -> Result<Option<Superblock>, SetError> {
        match self.run(Effect::Get { member: 0, key: key::SUPERBLOCK.to_vec() }) {
            Reply::Value(found) => Ok(found.and_then(|bytes| Superblock::decode(&bytes))),
            _ => Err(SetError::Unreadable { location: self.location().to_owned() }),
        }
    }

    /// What [`Effect::Get`] of a key would say, where that is known without waiting for anything.
    pub(crate) fn peek(&self, key: &[u8]) -> Option<Reply> {
        self.0.peek(key)
    }

    /// Does an effect.
    pub fn run(&self, effect: Effect) -> Reply {
        self.0.run(effect)
    }
}
