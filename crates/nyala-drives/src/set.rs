// SPDX-License-Identifier: Apache-2.0

//! A set, as others use it.

use crate::core::{Core, Counters};
use crate::drive::Drive;
use crate::error::SetError;
use crate::{discard, open, options, owner, rebuild, requests, returned, scrub, status, sync};
use crate::{progress::Progress, status::MemberStatus};
use nyala_raid::Recovered;
use nyala_raid::event::ErrorLimit;
use nyala_raid::member::DriveId;
use nyala_raid::options::SetOptions;
use nyala_raid::superblock::Superblock;
use nyala_raid::walk::Scrub;
use nyala_raid::{Geometry, ObjectId};
use std::ops::Range;

/// A set of drives. Any number of threads may use it.
pub struct DriveSet {
    core: Core,
}

impl DriveSet {
    /// Opens a set from the drives that are there, in any order. `force` starts it though drives are missing that could be newer. `threads` gives
    /// each drive a thread of its own; otherwise the caller's does everything.
    pub fn open(drives: Vec<Drive>, force: bool, limit: ErrorLimit, threads: bool) -> Result<DriveSet, SetError> {
        Ok(DriveSet { core: open::open(drives, force, limit, threads)? })
    }

    /// The geometry.
    pub fn geometry(&self) -> &Geometry {
        self.core.volume.geometry()
    }

    /// The superblock as it is now.
    pub fn superblock(&self) -> Superblock {
        self.core.state.lock().members.superblock().clone()
    }

    /// What was counted since the set was opened.
    pub fn counters(&self) -> &Counters {
        &self.core.counters
    }

    /// What the recovery did when the set was opened.
    pub fn recovered(&self) -> &Recovered {
        &self.core.recovered
    }

    /// Reads a range of an object. What was never written is zeros.
    pub fn read(&self, object: ObjectId, range: Range<u64>) -> Result<Vec<u8>, SetError> {
        requests::read(&self.core, object, range)
    }

    /// Writes at an offset of an object. It survives the death of the process; with [`DriveSet::sync`] also that of the machine.
    pub fn write(&self, object: ObjectId, offset: u64, bytes: &[u8]) -> Result<(), SetError> {
        requests::write(&self.core, object, offset, bytes)
    }

    /// Removes whole stripes of an object; all that follow if the range ends with the largest number. Durable when it returns.
    pub fn discard(&self, object: ObjectId, stripes: Range<u64>) -> Result<(), SetError> {
        discard::discard(&self.core, object, stripes)
    }

    /// Makes an object read as zeros from `from` on, where it has content up to `end` at most; `end` may be the largest number.
    pub fn clear(&self, object: ObjectId, from: u64, end: u64) -> Result<(), SetError> {
        discard::clear(&self.core, object, from, end)
    }

    /// Makes everything that was written before durable.
    pub fn sync(&self) -> Result<(), SetError> {
        sync::sync(&self.core)
    }

    /// Who the target on the set is, as its drives say; more than one if they differ.
    pub fn owners(&self) -> Result<Vec<Vec<u8>>, SetError> {
        owner::owners(&self.core)
    }

    /// Writes on all drives that are there who the target on the set is.
    pub fn set_owner(&self, owner: &[u8]) -> Result<(), SetError> {
        owner::set_owner(&self.core, owner)
    }

    /// What an operator has set.
    pub fn options(&self) -> SetOptions {
        self.core.state.lock().options
    }

    /// Changes that, durably; the number is the set's own. Gives what holds then.
    pub fn set_options(&self, options: SetOptions) -> Result<SetOptions, SetError> {
        options::set_options(&self.core, options)
    }

    /// Why nothing may be written any more, if so.
    pub fn stopped(&self) -> Option<SetError> {
        self.core.running().err()
    }

    /// All members, by number.
    pub fn members(&self) -> Vec<MemberStatus> {
        status::members(&self.core)
    }

    /// Bytes of data that the set takes in all, and that it still takes; none if its drives do not know.
    pub fn space(&self) -> Option<(u64, u64)> {
        status::space(&self.core)
    }

    /// Members whose files are gone from where they were leave the set, and their drives are let go. Gives them.
    pub fn check_presence(&self) -> Result<Vec<usize>, SetError> {
        status::check_presence(&self.core)
    }

    /// A drive of a member that is missing is there again: it gets what it missed. Gives the member.
    pub fn returned(&self, drive: Drive) -> Result<usize, SetError> {
        options::store_after(&self.core, returned::returned(&self.core, drive)?)
    }

    /// Whether a member may be replaced now, before a drive is made for it.
    pub fn may_replace(&self, member: usize) -> Result<(), SetError> {
        rebuild::may_replace(&self.core, member)
    }

    /// An empty drive takes the place of a member, which leaves the set if it has not yet. The id is random and used once.
    pub fn replace(&self, member: usize, drive: Drive, id: DriveId) -> Result<(), SetError> {
        options::store_after(&self.core, rebuild::replace(&self.core, member, drive, id)?)
    }

    /// Rebuilds up to `most` stripes of the member whose group has lost most.
    pub fn rebuild_some(&self, most: usize) -> Result<Progress, SetError> {
        rebuild::rebuild_some(&self.core, most)
    }

    /// Where the scrub is.
    pub fn scrub(&self) -> Scrub {
        scrub::scrub(&self.core)
    }

    /// Begins a scrub from the start.
    pub fn begin_scrub(&self, now_s: u64) {
        scrub::begin_scrub(&self.core, now_s);
    }

    /// Compares up to `most` stripes behind those of before, and heals what is wrong.
    pub fn scrub_some(&self, most: usize, now_s: u64) -> Result<Progress, SetError> {
        scrub::scrub_some(&self.core, most, now_s)
    }
}
