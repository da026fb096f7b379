// SPDX-License-Identifier: Apache-2.0

//! A drive that is lent out.
//!
//! **Failure model.** The directory may be missing, be unmounted while it is in use, and come back: it is looked at again whenever somebody asks, and attachments end when it was away. Requests
//! may come from a holder that has been replaced, or of an attachment that is older than the newest one: they are refused. An attachment
//! waits for what is under way, so nothing of an earlier one happens after it.

use crate::effects;
use crate::fence::{self, Attach, Fence};
use bytes::Bytes;
use nyala_drives::{Drive, SetError};
use nyala_raid::{Effect, Reply, key};
use nyala_store::Batch;
use nyala_wire::drive::{DriveEffect, DriveHold, DriveLook, DriveReply};
use nyala_wire::{ErrorCode, WireError};
use parking_lot::Mutex;
use std::path::PathBuf;

/// A directory and what is known of its drive.
pub(crate) struct Export {
    dir: PathBuf,
    open: Mutex<Option<Open>>,
    /// Held by whoever changes the drive, or who has it.
    turn: Mutex<()>,
}

struct Open {
    drive: Drive,
    fence: Fence,
    instance: String,
}

impl Export {
    pub fn new(dir: PathBuf) -> Export {
        Export { dir, open: Mutex::default(), turn: Mutex::default() }
    }

    /// Opens the drive unless it is open and still there.
    fn with<T>(&self, then: impl FnOnce(&mut Open) -> T) -> Result<T, WireError> {
        let mut open = self.open.lock();
        if open.as_ref().is_none_or(|open| !open.drive.is_there()) {
            // First: its table can be open once only.
            *open = None;
            *open = Some(self.start().map_err(|error| ErrorCode::NOT_FOUND.with(error.to_string()))?);
        }
        let gone = || ErrorCode::NOT_FOUND.with(format!("{} is not there", self.dir.display()));
        open.as_mut().map(then).ok_or_else(gone)
    }

    fn start(&self) -> Result<Open, SetError> {
        let drive = Drive::open(&self.dir, false)?;
        let wrong = |error| SetError::Directory { location: self.dir.display().to_string(), error };
        let instance = nyala_store::boot_id(&self.dir).map_err(wrong)?;
        let mut first = [0; 8];
        getrandom::fill(&mut first).map_err(|error| wrong(std::io::Error::other(error)))?;
        let Reply::Value(row) = drive.run(Effect::Get { member: 0, key: key::HOLDER.to_vec() }) else {
            return Err(SetError::Unreadable { location: self.dir.display().to_string() });
        };
        let fence = Fence::new(row.as_deref(), u64::from_le_bytes(first));
        Ok(Open { drive, fence, instance })
    }

    /// How it is.
    pub fn look(&self) -> DriveLook {
        let found = self.with(|open| {
            let (total_bytes, free_bytes) = open.drive.space().unwrap_or_default();
            let (epoch, instance) = (open.fence.epoch(), open.instance.clone());
            let row = |key: &[u8]| match open.drive.run(Effect::Get { member: 0, key: key.to_vec() }) {
                Reply::Value(Some(value)) => value,
                _ => Vec::new(),
            };
            let (superblock, target) = (row(key::SUPERBLOCK), row(key::TARGET));
            DriveLook { missing: None, epoch, instance, total_bytes, free_bytes, empty: false, superblock, target }
        });
        found.unwrap_or_else(|error| DriveLook {
            missing: Some(error.message),
            empty: nyala_drives::is_empty(&self.dir),
            ..DriveLook::default()
        })
    }

    /// Makes a drive of the empty directory.
    pub fn make(&self) -> Result<(), WireError> {
        let _turn = self.turn.lock();
        let mut open = self.open.lock();
        if open.is_some() {
            return Err(ErrorCode::EXISTS.with(format!("{} has a drive", self.dir.display())));
        }
        drop(Drive::open(&self.dir, true).map_err(|error| ErrorCode::INVALID.with(error.to_string()))?);
        *open = Some(self.start().map_err(|error| ErrorCode::IO.with(error.to_string()))?);
        Ok(())
    }

    /// Gives it to somebody, if nothing was lost since `instance`. What was under way is done, or refused, before.
    pub fn attach(&self, by: DriveHold, instance: Option<&str>) -> Result<DriveReply, WireError> {
        let _turn = self.turn.lock();
        self.with(|open| {
            if instance.is_some_and(|instance| instance != open.instance) {
                let text = "the drive may have lost what was not synced since it was attached first";
                return Err(ErrorCode::STALE.with(text));
            }
            match open.fence.wanted(by) {
                Attach::Refused { epoch } => {
                    return Err(
                        ErrorCode::WRONG_EPOCH.with(format!("another service has the drive, with epoch {epoch}"))
                    );
                }
                Attach::Late => return Err(ErrorCode::STALE.with("the drive was taken again since by the same holder")),
                Attach::Granted { store: true } => {
                    let mut batch = Batch::new();
                    batch.put(key::HOLDER, fence::encode(by));
                    if !matches!(open.drive.run(Effect::Apply { member: 0, batch, sync: true }), Reply::Done) {
                        return Err(ErrorCode::IO.with("the drive cannot be written; its log says why"));
                    }
                }
                Attach::Granted { store: false } => {}
            }
            let attachment = open.fence.attached(by);
            Ok(DriveReply::Attached { attachment, instance: open.instance.clone() })
        })?
    }

    /// Does what the holder asks.
    pub fn run(&self, attachment: u64, effect: DriveEffect, payload: Bytes) -> Result<(DriveReply, Bytes), WireError> {
        let asked = match &effect {
            DriveEffect::Scan { most, .. } => Some(*most as usize),
            _ => None,
        };
        let effect = effects::receive(effect, payload)?;
        let _turn = self.turn.lock();
        let drive = {
            let open = self.open.lock();
            let ours = open.as_ref().filter(|open| open.fence.admits(attachment));
            let refused = || ErrorCode::STALE_SESSION.with("the drive was attached anew since");
            ours.map(|open| open.drive.clone()).ok_or_else(refused)?
        };
        effects::answer(drive.run(effect), asked)
    }
}
