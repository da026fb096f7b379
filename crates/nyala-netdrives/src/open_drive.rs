// SPDX-License-Identifier: Apache-2.0

//! A drive that is open for those who borrow it. Failure model: that of `export`, which has it.

use crate::fence::Fence;
use nyala_drives::{Drive, DriveDeletion, SetError};
use nyala_raid::member::SetId;
use nyala_raid::{Effect, Reply, key};
use nyala_store::Batch;
use nyala_wire::{ErrorCode, WireError};
use std::path::Path;

pub(crate) struct Open {
    pub drive: Drive,
    pub fence: Fence,
    pub instance: String,
}

impl Open {
    pub fn start(dir: &Path) -> Result<Open, SetError> {
        let drive = Drive::open(dir, false)?;
        let location = || dir.display().to_string();
        let wrong = |error| SetError::Directory { location: location(), error };
        let instance = nyala_store::boot_id(dir).map_err(wrong)?;
        let mut first = [0; 8];
        getrandom::fill(&mut first).map_err(|error| wrong(std::io::Error::other(error)))?;
        let Reply::Value(row) = drive.run(Effect::Get { member: 0, key: key::HOLDER.to_vec() }) else {
            return Err(SetError::Unreadable { location: location() });
        };
        let fence = Fence::new(row.as_deref(), u64::from_le_bytes(first));
        Ok(Open { drive, fence, instance })
    }

    /// Writes down who has it, durably.
    pub fn store(&self, hold: Vec<u8>) -> Result<(), WireError> {
        let mut batch = Batch::new();
        batch.put(key::HOLDER, hold);
        match self.drive.run(Effect::Apply { member: 0, batch, sync: true }) {
            Reply::Done => Ok(()),
            _ => Err(ErrorCode::IO.with("the drive cannot be written; its log says why")),
        }
    }

    /// A row of its table; empty without one.
    pub fn row(&self, key: &[u8]) -> Vec<u8> {
        match self.drive.run(Effect::Get { member: 0, key: key.to_vec() }) {
            Reply::Value(Some(value)) => value,
            _ => Vec::new(),
        }
    }
}

/// A drive that is in use stays open.
pub(crate) fn expect_unfinished(open: &Option<Open>) -> Result<(), WireError> {
    let get = Effect::Get { member: 0, key: key::SUPERBLOCK.to_vec() };
    match open.as_ref().filter(|open| open.drive.is_there()).map(|open| open.drive.run(get)) {
        None | Some(Reply::Value(None)) => Ok(()),
        Some(_) => Err(ErrorCode::EXISTS.with("the directory has a drive of a set")),
    }
}

/// A drive of another set stays with that, and with whoever holds it.
pub(crate) fn expect_of(open: &Option<Open>, set: SetId) -> Result<(), WireError> {
    let Some(open) = open.as_ref().filter(|open| open.drive.is_there()) else { return Ok(()) };
    match open.drive.superblock() {
        Ok(Some(other)) if other.set != set => Err(ErrorCode::EXISTS.with("the drive is of another set")),
        Ok(_) => Ok(()),
        Err(error) => Err(ErrorCode::IO.with(error.to_string())),
    }
}

/// The drive in a directory goes with its set; nothing of it may be open.
pub(crate) fn delete(dir: &Path, set: SetId, finish: bool) -> Result<(), SetError> {
    let going = DriveDeletion::of(dir)?;
    going.begin(set)?;
    if finish { going.finish(set) } else { Ok(()) }
}

/// Why a directory is not given to a set.
pub(crate) fn refused(error: &SetError) -> WireError {
    match error {
        SetError::Claimed { .. } | SetError::NotEmpty { .. } => ErrorCode::EXISTS.with(error.to_string()),
        other => ErrorCode::IO.with(other.to_string()),
    }
}
