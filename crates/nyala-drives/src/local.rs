// SPDX-License-Identifier: Apache-2.0

//! A drive of this machine: files in a directory, and a table beside them.
//!
//! **Failure model.** A call to the file system or the table fails: the reply is "failed", the set drops the drive, and nothing is tried again here. Writes are in no order and
//! may be torn or lost until a sync, which is asked for by an effect of its own. A disk that hangs holds the thread of this drive alone, and the set gives it up. What
//! is read may be wrong: checksums are the set's.

use crate::access::DriveAccess;
use crate::drive_files::DriveFiles;
use nyala_raid::{Effect, Reply};
use nyala_store::{Batch, Store, StoreError};
use std::io;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// A drive of its parts.
pub(crate) struct LocalDrive {
    pub files: Arc<dyn DriveFiles>,
    pub table: Store,
    pub location: String,
}

#[derive(Debug, thiserror::Error)]
enum DriveError {
    #[error(transparent)]
    Files(#[from] io::Error),
    #[error(transparent)]
    Table(#[from] StoreError),
}

impl DriveAccess for LocalDrive {
    fn location(&self) -> &str {
        &self.location
    }

    fn is_there(&self) -> bool {
        self.files.is_there()
    }

    fn space(&self) -> Option<(u64, u64)> {
        self.files.space().ok().flatten()
    }

    fn peek(&self, key: &[u8]) -> Option<Reply> {
        self.table.peek(key).map(|value| Reply::Value(value.map(|value| value.to_vec())))
    }

    fn run(&self, effect: Effect) -> Reply {
        self.attempt(effect).unwrap_or_else(|error| {
            tracing::warn!(drive = %self.location, %error, "a drive failed");
            Reply::Failed
        })
    }
}

impl LocalDrive {
    fn apply(&self, batch: Batch, sync: bool) -> Result<(), StoreError> {
        if self.table.over_limit() {
            self.table.wait_room_blocking();
        }
        self.table.apply(batch)?;
        if sync { self.table.sync_blocking() } else { self.table.flush().map(drop) }
    }

    fn attempt(&self, effect: Effect) -> Result<Reply, DriveError> {
        Ok(match effect {
            Effect::Read { object, offset, len, .. } => {
                let mut buffer = vec![0; len];
                self.files.read(object, offset, &mut buffer)?;
                Reply::Bytes(buffer)
            }
            Effect::Write { object, offset, bytes, then, .. } => {
                self.files.write(object, offset, &bytes)?;
                if !then.is_empty() {
                    self.apply(then, false)?;
                }
                Reply::Done
            }
            Effect::Discard { object, offset, len, .. } => {
                self.files.discard(object, offset, len)?;
                Reply::Done
            }
            Effect::Apply { batch, sync, .. } => {
                self.apply(batch, sync)?;
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
