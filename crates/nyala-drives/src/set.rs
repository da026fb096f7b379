// SPDX-License-Identifier: Apache-2.0

//! A running set.

use crate::drive::Drive;
use crate::error::SetError;
use crate::run::Runners;
use crate::state::State;
use nyala_raid::assemble::assemble;
use nyala_raid::members::{Action, ErrorLimit, Event, Members};
use nyala_raid::recover::Recovered;
use nyala_raid::superblock::{DriveId, Member, MemberState, SetId, Superblock};
use nyala_raid::walk::Scrub;
use nyala_raid::{
    Damage, Effect, Geometry, ObjectId, Operation, Reply, StripeError, StripeId, Use, Volume, WriteMode, key,
};
use nyala_store::Batch;
use parking_lot::{Mutex, RwLock};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Locks of stripes; each stripe belongs to one.
const LOCKS: usize = 256;
/// A checkpoint is made when logs have so much, bytes.
const LOG_BYTES: u64 = 64 << 20;
/// Rows and records that are looked at together.
pub(crate) const PAGE: usize = 256;

/// What a set has counted since it was opened.
#[derive(Debug, Default)]
pub struct Counters {
    /// Blocks, rows and parities that were wrong and were made good.
    pub healed: AtomicU64,
    /// Bytes that went into logs.
    pub logged_bytes: AtomicU64,
    /// Bytes that were given to members that had missed them.
    pub rebuilt_bytes: AtomicU64,
    /// Reads that went around a drive that was late.
    pub late: AtomicU64,
}

/// A set of drives. Any number of threads may use it.
pub struct DriveSet {
    pub(crate) volume: Volume,
    pub(crate) runners: Runners,
    pub(crate) state: Mutex<State>,
    /// Operations share it; what must not overlap with any has it alone.
    pub(crate) gate: RwLock<()>,
    locks: Vec<Mutex<()>>,
    checkpoints: Mutex<()>,
    /// What it has counted.
    pub counters: Counters,
    began: Instant,
    /// What the recovery did when the set was opened.
    pub recovered: Recovered,
}

/// Makes a set of empty drives. The ids are random and used once.
pub fn create(drives: &[Drive], geometry: Geometry, set: SetId, ids: &[DriveId]) -> Result<(), SetError> {
    if drives.len() != geometry.drives() || ids.len() != drives.len() {
        return Err(SetError::Drives { wanted: geometry.drives(), given: drives.len() });
    }
    let members: Vec<Member> = ids.iter().map(|drive| Member { drive: *drive, state: MemberState::Good }).collect();
    for (drive, id) in drives.iter().zip(ids) {
        let geometry = geometry.clone();
        let superblock = Superblock { set, generation: 1, geometry, members: members.clone(), drive: *id };
        let mut batch = Batch::new();
        batch.put(key::SUPERBLOCK, superblock.encode());
        if !matches!(drive.run(Effect::Apply { member: 0, batch, sync: true }), Reply::Done) {
            return Err(StripeError::Failed { members: vec![0] }.into());
        }
    }
    Ok(())
}

impl DriveSet {
    /// Opens a set from the drives that are there, in any order. `force` starts it though drives are missing that could be newer. `threads` gives
    /// each drive a thread of its own; otherwise the caller's does everything.
    pub fn open(drives: Vec<Drive>, force: bool, limit: ErrorLimit, threads: bool) -> Result<Arc<DriveSet>, SetError> {
        let mut known = Vec::new();
        for drive in drives {
            match drive.superblock()? {
                Some(superblock) => known.push((superblock, drive)),
                None => tracing::warn!(drive = drive.place(), "has no superblock and is left out"),
            }
        }
        let found: Vec<Superblock> = known.iter().map(|(superblock, _)| superblock.clone()).collect();
        let assembled = assemble(&found, force)?;
        let volume = Volume::new(assembled.superblock.geometry.clone())?;
        let runners = Runners::new(volume.geometry().drives(), threads);
        for (superblock, drive) in known {
            let member = assembled.superblock.members.iter().position(|member| member.drive == superblock.drive);
            let place = drive.place().to_owned();
            if let Some(member) = member {
                let started = runners.set(member, Some(drive));
                started.map_err(|error| SetError::Directory { place, error })?;
            }
        }
        let state = State::new(Members::new(assembled.superblock, limit), 0, Scrub::default());
        let mut set = DriveSet {
            volume,
            runners,
            state: Mutex::new(state),
            gate: RwLock::new(()),
            locks: (0..LOCKS).map(|_| Mutex::new(())).collect(),
            checkpoints: Mutex::new(()),
            counters: Counters::default(),
            began: Instant::now(),
            recovered: Recovered::default(),
        };
        set.start(assembled.changed, &assembled.outdated)?;
        Ok(Arc::new(set))
    }

    fn start(&mut self, changed: bool, outdated: &[usize]) -> Result<(), SetError> {
        if changed {
            self.store(&[])?;
        }
        loop {
            let uses = self.state.lock().whole_uses();
            let outdated = outdated.iter().copied();
            let outdated = outdated.filter(|member| self.state.lock().members.state(*member) != MemberState::Missing);
            match self.finish(self.volume.recover(outdated.collect(), |member| uses[member])) {
                Ok(recovered) => {
                    self.recovered = recovered;
                    break;
                }
                Err(StripeError::Failed { members }) => self.failed(&members, None)?,
                Err(error) => return Err(error.into()),
            }
        }
        let scrub = self.scrub_found();
        let members = self.state.lock().members.clone();
        *self.state.lock() = State::new(members, self.recovered.number, scrub);
        for member in 0..self.volume.geometry().drives() {
            self.load_missed(member)?;
        }
        Ok(())
    }

    /// Reads from the good members what a member has missed.
    pub(crate) fn load_missed(&self, member: usize) -> Result<(), SetError> {
        if self.state.lock().members.state(member) == MemberState::Good {
            return Ok(());
        }
        let prefix = key::dirty_prefix(member);
        for other in self.good_of_group(member) {
            self.scan(other, prefix.to_vec(), key::behind(&prefix), |pairs| {
                let mut state = self.state.lock();
                let stripes = pairs.iter().filter_map(|(at, _)| key::stripe_of(at, &prefix));
                stripes.for_each(|stripe| state.note(member, stripe));
            })?;
        }
        Ok(())
    }

    pub(crate) fn good_of_group(&self, member: usize) -> Vec<usize> {
        let geometry = self.volume.geometry();
        let group = geometry.members(geometry.group_of(member));
        let state = self.state.lock();
        group.filter(|other| state.members.state(*other) == MemberState::Good).collect()
    }

    fn scan(
        &self,
        member: usize,
        mut from: Vec<u8>,
        to: Vec<u8>,
        mut page: impl FnMut(&[(Vec<u8>, Vec<u8>)]),
    ) -> Result<(), SetError> {
        loop {
            let scan = Effect::Scan { member, from, to: to.clone(), limit: PAGE };
            let Some(Reply::Pairs(pairs)) = self.runners.run(vec![scan]).pop() else {
                return Err(StripeError::Failed { members: vec![member] }.into());
            };
            page(&pairs);
            match pairs.last() {
                Some((last, _)) if pairs.len() == PAGE => from = key::next(last),
                _ => return Ok(()),
            }
        }
    }

    /// The geometry.
    pub fn geometry(&self) -> &Geometry {
        self.volume.geometry()
    }

    /// The superblock as it is now.
    pub fn superblock(&self) -> Superblock {
        self.state.lock().members.superblock().clone()
    }

    pub(crate) fn finish<T>(&self, operation: Operation<T>) -> T {
        operation.finish(|effects| self.runners.run(effects))
    }

    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn lock_of(&self, stripe: StripeId) -> &Mutex<()> {
        let hash = (stripe.object.0 as u64 ^ (stripe.object.0 >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.locks[(hash.wrapping_add(stripe.number) % LOCKS as u64) as usize]
    }

    fn running(&self) -> Result<(), SetError> {
        self.state.lock().stopped.map_or(Ok(()), |group| Err(SetError::Stopped { group }))
    }

    /// Members failed, of a stripe if it is known. When this returns they have left the set durably.
    pub(crate) fn failed(&self, members: &[usize], stripe: Option<StripeId>) -> Result<(), SetError> {
        if members.is_empty() {
            return Ok(());
        }
        let _alone = self.gate.write();
        self.happened(Event::Failed { members: members.to_vec() }, stripe)
    }

    /// Something happened; the caller has the gate alone.
    pub(crate) fn happened(&self, event: Event, stripe: Option<StripeId>) -> Result<(), SetError> {
        let now_ms = self.now_ms();
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            let actions = self.state.lock().members.handle(now_ms, event);
            for action in actions {
                match action {
                    Action::Store => {
                        let extra: Vec<StripeId> = stripe.into_iter().collect();
                        let failed = self.store_once(&extra);
                        if !failed.is_empty() {
                            events.push(Event::Failed { members: failed });
                        }
                    }
                    Action::Stop { group } => {
                        tracing::error!(group, "too many drives of a set have failed: it stops");
                        self.state.lock().stopped = Some(group);
                        return Err(SetError::Stopped { group });
                    }
                    Action::WantSpare { member } => tracing::error!(member, "a drive has left its set"),
                    Action::Rebuild { member } => tracing::info!(member, "a drive is to be rebuilt"),
                }
            }
        }
        Ok(())
    }

    fn store(&self, stripes: &[StripeId]) -> Result<(), SetError> {
        match self.store_once(stripes) {
            failed if failed.is_empty() => Ok(()),
            failed => self.happened(Event::Failed { members: failed }, None),
        }
    }

    /// Writes the superblock everywhere, and what members that are not good have missed of late. Gives the members that failed.
    fn store_once(&self, stripes: &[StripeId]) -> Vec<usize> {
        let mut state = self.state.lock();
        let superblock = state.members.superblock().clone();
        let geometry = &superblock.geometry;
        let recent: Vec<StripeId> = state.recent.iter().chain(&state.syncing).chain(stripes).copied().collect();
        let missing = state.members.all(|state| state == MemberState::Missing);
        let in_group = |member: usize, stripe: &StripeId| geometry.group(*stripe) == geometry.group_of(member);
        for member in &missing {
            recent.iter().filter(|stripe| in_group(*member, stripe)).for_each(|stripe| state.note(*member, *stripe));
        }
        let there = state.there();
        drop(state);
        let apply = |member: &usize| {
            let mut batch = Batch::new();
            let own = Superblock { drive: superblock.members[*member].drive, ..superblock.clone() };
            batch.put(key::SUPERBLOCK, own.encode());
            for lost in missing.iter().filter(|lost| geometry.group_of(**lost) == geometry.group_of(*member)) {
                let stripes = recent.iter().filter(|stripe| in_group(*lost, stripe));
                stripes.for_each(|stripe| _ = batch.put(key::dirty(*lost, *stripe), []));
            }
            Effect::Apply { member: *member, batch, sync: true }
        };
        let replies = self.runners.run(there.iter().map(apply).collect());
        let bad = there.iter().zip(replies).filter(|(_, reply)| !matches!(reply, Reply::Done));
        bad.map(|(member, _)| *member).collect()
    }

    /// Errors that were made good are counted; a member with too many leaves.
    pub(crate) fn damaged(&self, damage: &[Damage]) -> Result<(), SetError> {
        for one in damage {
            tracing::warn!(member = one.member, object = %format!("{:032x}", one.stripe.object.0), stripe = one.stripe.number, kind = ?one.kind, "a drive returned something wrong");
            self.counters.healed.fetch_add(1, Ordering::Relaxed);
            let _alone = self.gate.write();
            self.happened(Event::Errors { member: one.member, count: 1 }, None)?;
        }
        Ok(())
    }

    fn slow(&self, mut uses: Vec<Use>) -> Vec<Use> {
        for (member, state) in uses.iter_mut().enumerate() {
            if *state == Use::Good && self.runners.avoid(member) {
                *state = Use::Slow;
            }
        }
        uses
    }

    /// Reads a range of an object. What was never written is zeros.
    pub fn read(&self, object: ObjectId, range: Range<u64>) -> Result<Vec<u8>, SetError> {
        let mut out = Vec::with_capacity(usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0));
        for part in self.volume.geometry().parts(object, range).collect::<Vec<_>>() {
            let read = {
                let _gate = self.gate.read();
                let _stripe = self.lock_of(part.stripe).lock();
                let uses = self.slow(self.state.lock().uses(part.stripe));
                self.finish(self.volume.read(&part, |member| uses[member]))?
            };
            self.counters.late.fetch_add(read.late.len() as u64, Ordering::Relaxed);
            self.damaged(&read.damage)?;
            out.extend(read.bytes);
        }
        Ok(out)
    }

    /// Writes at an offset of an object. It survives the death of the process; with [`DriveSet::sync`] also that of the machine.
    pub fn write(&self, object: ObjectId, offset: u64, bytes: &[u8]) -> Result<(), SetError> {
        let mut done = 0;
        let range = offset..offset.saturating_add(bytes.len() as u64);
        for part in self.volume.geometry().parts(object, range).collect::<Vec<_>>() {
            let piece = &bytes[done..done + part.bytes.len()];
            done += part.bytes.len();
            while !self.write_part(&part, piece)? {}
        }
        if self.state.lock().logged_bytes >= LOG_BYTES {
            self.sync()?;
        }
        Ok(())
    }

    /// One try; whether it is done.
    fn write_part(&self, part: &nyala_raid::StripePart, bytes: &[u8]) -> Result<bool, SetError> {
        let stripe = part.stripe;
        let written = {
            let _gate = self.gate.read();
            self.running()?;
            let _stripe = self.lock_of(stripe).lock();
            let (mode, uses) = {
                let mut state = self.state.lock();
                let uses = state.uses(stripe);
                state.wrote(stripe, &uses);
                (WriteMode { number: state.next(), open: state.open.contains(&stripe) }, uses)
            };
            let written = self.finish(self.volume.write(part, bytes.to_vec(), mode, |member| uses[member]));
            if let Ok(written) = &written {
                let mut state = self.state.lock();
                if written.fresh {
                    state.open.insert(stripe);
                }
                state.logged_bytes += written.logged_bytes;
            }
            written
        };
        match written {
            Ok(written) => {
                self.counters.logged_bytes.fetch_add(written.logged_bytes, Ordering::Relaxed);
                self.failed(&written.failed, Some(stripe))?;
                self.damaged(&written.damage)?;
                Ok(true)
            }
            Err(StripeError::Failed { members }) => self.failed(&members, None).map(|()| false),
            Err(StripeError::OutOfDate { .. }) => self.repair(stripe, vec![]).map(|_| false),
            Err(error) => Err(error.into()),
        }
    }

    /// Compares a stripe, and gives some members what they miss of it.
    pub(crate) fn repair(&self, stripe: StripeId, rebuild: Vec<usize>) -> Result<nyala_raid::Repaired, SetError> {
        let repaired = {
            let _gate = self.gate.read();
            self.running()?;
            let _stripe = self.lock_of(stripe).lock();
            let (number, uses) = {
                let mut state = self.state.lock();
                state.recent.insert(stripe);
                (state.next(), state.uses(stripe))
            };
            self.finish(self.volume.repair(stripe, number, rebuild, |member| uses[member]))
        };
        match repaired {
            Ok(repaired) => {
                self.counters.rebuilt_bytes.fetch_add(repaired.rebuilt_bytes, Ordering::Relaxed);
                self.failed(&repaired.failed, Some(stripe))?;
                self.damaged(&repaired.damage)?;
                Ok(repaired)
            }
            Err(StripeError::Failed { members }) => {
                self.failed(&members, None)?;
                Ok(nyala_raid::Repaired { failed: members, ..Default::default() })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Removes whole stripes of an object; all that follow if the range ends with the largest number. Durable when it returns.
    pub fn discard(&self, object: ObjectId, stripes: Range<u64>) -> Result<(), SetError> {
        loop {
            let _alone = self.gate.write();
            self.running()?;
            let (number, uses) = {
                let mut state = self.state.lock();
                state.open.retain(|stripe| stripe.object != object || !stripes.contains(&stripe.number));
                (state.next(), state.whole_uses())
            };
            let failed = match self.finish(self.volume.discard(object, stripes.clone(), number, |member| uses[member]))
            {
                Ok(failed) => (true, failed),
                Err(StripeError::Failed { members }) => (false, members),
                Err(error) => return Err(error.into()),
            };
            if !failed.1.is_empty() {
                self.happened(Event::Failed { members: failed.1 }, None)?;
            }
            if failed.0 {
                // What others have missed of it is in the tables of the good ones.
                return (0..uses.len())
                    .filter(|member| uses[*member] == Use::Stale)
                    .try_for_each(|member| self.load_missed(member));
            }
        }
    }

    /// Makes everything that was written before durable.
    pub fn sync(&self) -> Result<(), SetError> {
        let _one = self.checkpoints.lock();
        loop {
            let (numbers, number, there) = {
                let _alone = self.gate.write();
                self.running()?;
                let mut state = self.state.lock();
                state.open.clear();
                state.logged_bytes = 0;
                let recent = std::mem::take(&mut state.recent);
                state.syncing.extend(recent);
                (std::mem::take(&mut state.numbers), state.last(), state.there())
            };
            let kept = numbers.clone();
            match self.finish(self.volume.checkpoint(there, numbers, number)) {
                Ok(()) => {
                    self.state.lock().syncing.clear();
                    return Ok(());
                }
                Err(StripeError::Failed { members }) => {
                    self.state.lock().numbers.extend(kept);
                    self.failed(&members, None)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}
