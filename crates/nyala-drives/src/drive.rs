// SPDX-License-Identifier: Apache-2.0

//! One drive: its files and its table, and the doing of effects.

use crate::drive_files::DriveFiles;
use crate::error::SetError;
use crate::files::OsFiles;
use nyala_raid::superblock::Superblock;
use nyala_raid::{Effect, Reply, key};
use nyala_store::{Options, Store, StoreError};
use std::fs::DirBuilder;
use std::io;
use std::ops::{Bound, ControlFlow};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

/// Memory of a drive's table, bytes: records of the set's log lie in it until a checkpoint.
const TABLE_MEMORY_BYTES: usize = 64 << 20;
/// Of its log: a set makes a checkpoint when logs have 64 MiB.
const SEGMENT_BYTES: u64 = 16 << 20;

/// A drive. Clones are the same one.
#[derive(Clone)]
pub struct Drive {
    files: Arc<dyn DriveFiles>,
    table: Arc<Store>,
    /// For messages.
    place: Arc<str>,
}

#[derive(Debug, thiserror::Error)]
enum DriveError {
    #[error(transparent)]
    Files(#[from] io::Error),
    #[error(transparent)]
    Table(#[from] StoreError),
}

impl Drive {
    /// Of its parts.
    pub fn new(files: Arc<dyn DriveFiles>, table: Store, place: &str) -> Drive {
        Drive { files, table: Arc::new(table), place: place.into() }
    }

    /// A drive in a directory. `create` makes what is in it; then it has to be empty.
    pub fn open(dir: &Path, create: bool) -> Result<Drive, SetError> {
        let place = dir.display().to_string();
        let wrong = |error| SetError::Directory { place: place.clone(), error };
        let make = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path);
        if create {
            make(dir).map_err(wrong)?;
            for entry in std::fs::read_dir(dir).map_err(wrong)? {
                // A new file system may have that.
                if entry.map_err(wrong)?.file_name() != "lost+found" {
                    return Err(SetError::NotEmpty { place });
                }
            }
            make(&dir.join("objects")).and_then(|()| make(&dir.join("table"))).map_err(wrong)?;
        }
        // A mount that is missing must not look like a new drive.
        let objects = OsFiles::open(&dir.join("objects")).map_err(wrong)?;
        let options = Options {
            segment_bytes: SEGMENT_BYTES,
            memory_soft_bytes: TABLE_MEMORY_BYTES,
            memory_hard_bytes: 4 * TABLE_MEMORY_BYTES,
            ..Options::default()
        };
        let table = Store::open(&dir.join("table"), options);
        let (table, _) = table.map_err(|error| SetError::Table { place: place.clone(), error })?;
        Ok(Drive::new(Arc::new(objects), table, &place))
    }

    /// Where it is.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Whether its files are still where they were.
    pub fn is_there(&self) -> bool {
        self.files.is_there()
    }

    /// Bytes in all, and free ones; none if that is not known.
    pub fn space(&self) -> Option<(u64, u64)> {
        self.files.space().ok().flatten()
    }

    /// Its superblock, if it has one that can be read.
    pub fn superblock(&self) -> Result<Option<Superblock>, SetError> {
        let found = self.table.get(key::SUPERBLOCK);
        let found = found.map_err(|error| SetError::Table { place: self.place.to_string(), error })?;
        Ok(found.and_then(|bytes| Superblock::decode(&bytes)))
    }

    /// Does an effect. What fails is logged here: the set only knows that it failed.
    pub fn run(&self, effect: Effect) -> Reply {
        self.attempt(effect).unwrap_or_else(|error| {
            tracing::warn!(drive = %self.place, %error, "a drive failed");
            Reply::Failed
        })
    }

    fn attempt(&self, effect: Effect) -> Result<Reply, DriveError> {
        Ok(match effect {
            Effect::Read { object, offset, len, .. } => {
                let mut buffer = vec![0; len];
                self.files.read(object, offset, &mut buffer)?;
                Reply::Bytes(buffer)
            }
            Effect::Write { object, offset, bytes, .. } => {
                self.files.write(object, offset, &bytes)?;
                Reply::Done
            }
            Effect::Discard { object, offset, len, .. } => {
                self.files.discard(object, offset, len)?;
                Reply::Done
            }
            Effect::Apply { batch, sync, .. } => {
                if self.table.over_limit() {
                    self.table.wait_room_blocking();
                }
                self.table.apply(batch)?;
                if sync {
                    self.table.sync_blocking()?;
                } else {
                    self.table.flush()?;
                }
                Reply::Done
            }
            Effect::Get { key, .. } => Reply::Value(self.table.get(&key)?.map(|value| value.to_vec())),
            Effect::Scan { from, to, limit, .. } => {
                let mut pairs = Vec::new();
                self.table.scan(Bound::Included(&from), Bound::Excluded(&to), &mut |key, value| {
                    pairs.push((key.to_vec(), value.to_vec()));
                    if pairs.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })?;
                Reply::Pairs(pairs)
            }
            Effect::SyncFiles { .. } => {
                self.files.sync()?;
                Reply::Done
            }
        })
    }
}
