// SPDX-License-Identifier: Apache-2.0

//! A drive that is lent out.
//!
//! **Failure model.** The directory may be missing, be unmounted while it is in use, and come back: it is looked at again whenever somebody asks, and attachments end when it was away. Requests
//! may come from a holder that has been replaced, or of an attachment that is older than the newest one: they are refused. An attachment
//! waits for what is under way, so nothing of an earlier one happens after it. Sets of several hosts may want it as a spare at the same moment: the file
//! in the directory decides (`nyala_drives::take_drive`), and it may be asked for again by the one that has it, as long as that has not written its superblock.

use crate::effects;
use crate::fence::{self, Attach};
use crate::open_drive::{Open, delete, expect_of, expect_unfinished, refused};
use bytes::Bytes;
use nyala_drives::{Drive, SetError};
use nyala_raid::key;
use nyala_raid::member::SetId;
use nyala_wire::drive::{DriveEffect, DriveHold, DriveLook, DriveReply};
use nyala_wire::{ClusterId, ErrorCode, WireError};
use parking_lot::Mutex;
use std::path::PathBuf;

/// A directory and what is known of its drive.
pub(crate) struct Export {
    dir: PathBuf,
    open: Mutex<Option<Open>>,
    /// Held by whoever changes the drive, or who has it.
    turn: Mutex<()>,
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
            *open = Some(Open::start(&self.dir).map_err(|error| ErrorCode::NOT_FOUND.with(error.to_string()))?);
        }
        let gone = || ErrorCode::NOT_FOUND.with(format!("{} is not there", self.dir.display()));
        open.as_mut().map(then).ok_or_else(gone)
    }

    /// How it is.
    pub fn look(&self) -> DriveLook {
        let found = self.with(|open| {
            let (total_bytes, free_bytes) = open.drive.space().unwrap_or_default();
            let (epoch, instance) = (open.fence.epoch(), open.instance.clone());
            let (superblock, target) = (open.row(key::SUPERBLOCK), open.row(key::TARGET));
            DriveLook { epoch, instance, total_bytes, free_bytes, superblock, target, ..DriveLook::default() }
        });
        let found = found.unwrap_or_else(|error| DriveLook {
            missing: Some(error.message),
            empty: nyala_drives::is_empty(&self.dir),
            ..DriveLook::default()
        });
        let id = |set: Result<Option<SetId>, SetError>| set.ok().flatten().map(|set| ClusterId(set.0.to_le_bytes()));
        let claim = id(nyala_drives::claimed_by(&self.dir));
        DriveLook { claim, deleted: id(nyala_drives::deletion_of(&self.dir)), ..found }
    }

    /// Makes a drive of the empty directory.
    pub fn make(&self) -> Result<(), WireError> {
        let _turn = self.turn.lock();
        let mut open = self.open.lock();
        if open.is_some() {
            return Err(ErrorCode::EXISTS.with(format!("{} has a drive", self.dir.display())));
        }
        drop(Drive::open(&self.dir, true).map_err(|error| ErrorCode::INVALID.with(error.to_string()))?);
        *open = Some(Open::start(&self.dir).map_err(|error| ErrorCode::IO.with(error.to_string()))?);
        Ok(())
    }

    /// Makes a drive of the directory for a set, if nobody else has it.
    pub fn take(&self, set: SetId) -> Result<(), WireError> {
        let _turn = self.turn.lock();
        let mut open = self.open.lock();
        expect_unfinished(&open)?;
        // Its table can be open once only, and what is unfinished is made anew.
        *open = None;
        drop(nyala_drives::take_drive(&self.dir, set).map_err(|error| refused(&error))?);
        *open = Some(Open::start(&self.dir).map_err(|error| ErrorCode::IO.with(error.to_string()))?);
        Ok(())
    }

    /// Gives the directory back, if the set took it and never finished.
    pub fn release(&self, set: SetId) -> Result<(), WireError> {
        let _turn = self.turn.lock();
        let mut open = self.open.lock();
        expect_unfinished(&open)?;
        *open = None;
        match nyala_drives::release_drive(&self.dir, set).map_err(|error| refused(&error))? {
            true => Ok(()),
            false => Err(ErrorCode::EXISTS.with(format!("{} is in use", self.dir.display()))),
        }
    }

    /// The drive goes with its set: nobody has it from then on, whoever held it. With `finish` what the set has there is removed.
    pub fn delete(&self, set: SetId, finish: bool) -> Result<(), WireError> {
        let _turn = self.turn.lock();
        let mut open = self.open.lock();
        expect_of(&open, set)?;
        *open = None;
        delete(&self.dir, set, finish).map_err(|error| refused(&error))
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
                    let text = format!("another service has the drive, with epoch {epoch}");
                    return Err(ErrorCode::WRONG_EPOCH.with(text));
                }
                Attach::Late => return Err(ErrorCode::STALE.with("the drive was taken again since by the same holder")),
                Attach::Granted { store: true } => {
                    open.store(fence::encode(by))?;
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
