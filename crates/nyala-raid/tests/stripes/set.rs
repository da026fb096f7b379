// SPDX-License-Identifier: Apache-2.0

//! A set on such drives, driven as a shell would, beside a plain array of bytes.

use crate::drives::{Down, Drives};
use bytes::Bytes;
use nyala_kv::Batch;
use nyala_raid::Recovered;
use nyala_raid::effect::Effect;
use nyala_raid::{Geometry, ObjectId, Operation, Step, StripeError, StripeId, Use, Volume, WriteMode, Written, key};
use std::collections::BTreeSet;
use std::ops::Range;

pub const OBJECT: ObjectId = ObjectId(0x1234_0007);

pub struct Set {
    pub volume: Volume,
    pub io: Drives,
    /// By member.
    pub uses: Vec<Use>,
    number: u64,
    numbers: Vec<u64>,
    open: BTreeSet<StripeId>,
    pub logged_bytes: u64,
    pub damage: usize,
    /// What is there, what is there for certain after a power cut, and what was written since.
    pub now: Vec<u8>,
    synced: Vec<u8>,
    since: Vec<(usize, Vec<u8>)>,
}

pub enum Stop {
    Down,
    Lost(StripeError),
    TooMany,
}

impl std::fmt::Debug for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stop::Down => f.write_str("the machine is down"),
            Stop::Lost(error) => write!(f, "{error}"),
            Stop::TooMany => f.write_str("too many members are missing"),
        }
    }
}

impl From<Down> for Stop {
    fn from(_: Down) -> Stop {
        Stop::Down
    }
}

pub fn finish<T>(io: &mut Drives, mut operation: Operation<T>) -> Result<T, Down> {
    let mut replies = Vec::new();
    loop {
        match operation.step(replies) {
            Step::Run(effects) => replies = io.run(effects)?,
            Step::Done(outcome) => return Ok(outcome),
        }
    }
}

impl Set {
    pub fn new(geometry: Geometry, seed: u64, stripes: usize) -> Set {
        let len = geometry.stripe_bytes() * stripes;
        let io = Drives::new(geometry.drives(), seed);
        let uses = vec![Use::Good; geometry.drives()];
        let volume = Volume::new(geometry).unwrap();
        let (now, synced) = (vec![0; len], vec![0; len]);
        let (numbers, open, since) = (Vec::new(), BTreeSet::new(), Vec::new());
        Set { volume, io, uses, number: 0, numbers, open, logged_bytes: 0, damage: 0, now, synced, since }
    }

    pub fn geometry(&self) -> Geometry {
        self.volume.geometry().clone()
    }

    fn next(&mut self) -> u64 {
        self.number += 1;
        self.numbers.push(self.number);
        self.number
    }

    pub fn use_of(&self) -> impl Fn(usize) -> Use + use<> {
        let uses = self.uses.clone();
        move |member| uses[member]
    }

    /// Members leave; what they have missed of a stripe is remembered by the others.
    fn leave(&mut self, members: &[usize], stripe: Option<StripeId>) -> Result<(), Stop> {
        for member in members {
            self.uses[*member] = Use::Stale;
            let group = self.volume.geometry().members(self.volume.geometry().group_of(*member));
            if group.clone().filter(|other| self.uses[*other] == Use::Stale).count() > self.volume.geometry().parity() {
                return Err(Stop::TooMany);
            }
            let mut batch = Batch::new();
            stripe.iter().for_each(|stripe| _ = batch.put(key::dirty(*member, *stripe), []));
            let others: Vec<_> = group.filter(|other| self.uses[*other] != Use::Stale).collect();
            let note = |other| Effect::Apply { member: other, batch: batch.clone(), sync: true };
            self.io.run(others.into_iter().map(note).collect())?;
        }
        Ok(())
    }

    pub fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<(), Stop> {
        // What is under way may be there or not.
        self.since.push((offset, bytes.to_vec()));
        let range = offset as u64..(offset + bytes.len()) as u64;
        let parts: Vec<_> = self.volume.geometry().parts(OBJECT, range).collect();
        let mut done = 0;
        for part in parts {
            let piece = Bytes::copy_from_slice(&bytes[done..done + part.bytes.len()]);
            done += part.bytes.len();
            loop {
                let mode = WriteMode { number: self.next(), open: self.open.contains(&part.stripe) };
                let operation = self.volume.write(&part, piece.clone(), mode, self.use_of());
                match finish(&mut self.io, operation)? {
                    Ok(written) => {
                        self.written(part.stripe, written)?;
                        break;
                    }
                    Err(StripeError::Failed { members }) => self.leave(&members, None)?,
                    Err(StripeError::OutOfDate { .. }) => self.repair(part.stripe, vec![])?,
                    Err(error) => return Err(Stop::Lost(error)),
                }
            }
        }
        self.now[offset..offset + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn written(&mut self, stripe: StripeId, written: Written) -> Result<(), Stop> {
        if written.fresh {
            self.open.insert(stripe);
        }
        self.logged_bytes += written.logged_bytes;
        self.damage += written.damage.len();
        self.leave(&written.failed, Some(stripe))
    }

    pub fn repair(&mut self, stripe: StripeId, rebuild: Vec<usize>) -> Result<(), Stop> {
        let number = self.next();
        let operation = self.volume.repair(stripe, number, rebuild, self.use_of());
        match finish(&mut self.io, operation)? {
            Ok(repaired) => {
                self.damage += repaired.damage.len();
                self.leave(&repaired.failed, Some(stripe))
            }
            Err(StripeError::Failed { members }) => self.leave(&members, None),
            Err(error) => Err(Stop::Lost(error)),
        }
    }

    pub fn discard(&mut self, from: u64) -> Result<(), Stop> {
        let start = from as usize * self.volume.geometry().stripe_bytes();
        let zeros = vec![0; self.now.len() - start];
        self.since.push((start, zeros.clone()));
        let number = self.next();
        self.open.retain(|stripe| stripe.number < from);
        loop {
            let operation = self.volume.discard(OBJECT, from..u64::MAX, number, self.use_of());
            match finish(&mut self.io, operation)? {
                Ok(failed) => {
                    self.leave(&failed, None)?;
                    break;
                }
                Err(StripeError::Failed { members }) => self.leave(&members, None)?,
                Err(error) => return Err(Stop::Lost(error)),
            }
        }
        self.now[start..].copy_from_slice(&zeros);
        Ok(())
    }

    fn good(&self) -> Vec<usize> {
        (0..self.uses.len()).filter(|member| self.uses[*member] != Use::Stale).collect()
    }

    pub fn checkpoint(&mut self) -> Result<(), Stop> {
        self.open.clear();
        let numbers = std::mem::take(&mut self.numbers);
        loop {
            let operation = self.volume.checkpoint(self.good(), numbers.clone(), self.number);
            match finish(&mut self.io, operation)? {
                Ok(()) => break,
                Err(StripeError::Failed { members }) => self.leave(&members, None)?,
                Err(error) => return Err(Stop::Lost(error)),
            }
        }
        self.synced = self.now.clone();
        self.since.clear();
        Ok(())
    }

    pub fn read_with(&mut self, range: Range<usize>, uses: &[Use]) -> Result<Vec<u8>, StripeError> {
        let parts: Vec<_> = self.volume.geometry().parts(OBJECT, range.start as u64..range.end as u64).collect();
        let mut out = Vec::new();
        for part in parts {
            let read = finish(&mut self.io, self.volume.read(&part, |member| uses[member])).unwrap()?;
            self.damage += read.damage.len();
            out.extend(read.bytes);
        }
        Ok(out)
    }

    pub fn read(&mut self, range: Range<usize>) -> Result<Vec<u8>, StripeError> {
        let uses = self.uses.clone();
        self.read_with(range, &uses)
    }

    /// Starts again.
    pub fn recover(&mut self) -> Result<Recovered, StripeError> {
        self.io.left = None;
        let operation = self.volume.recover(vec![], self.use_of());
        let recovered = finish(&mut self.io, operation).unwrap()?;
        (self.number, self.numbers) = (recovered.number, Vec::new());
        self.open.clear();
        Ok(recovered)
    }

    /// After a power cut: each byte is what was synced, or something that was written since. That is the content from now on.
    pub fn adopt(&mut self, context: &str) {
        let content = self.read(0..self.now.len()).unwrap_or_else(|error| panic!("{context}: {error}"));
        for (at, byte) in content.iter().enumerate() {
            let written =
                |(offset, bytes): &(usize, Vec<u8>)| at.checked_sub(*offset).and_then(|at| bytes.get(at)) == Some(byte);
            let right = *byte == self.synced[at] || self.since.iter().any(written);
            assert!(right, "{context}: byte {at} is {byte}, was synced as {}", self.synced[at]);
        }
        (self.now, self.synced) = (content.clone(), content);
        self.since.clear();
    }

    /// What was being written when the machine went down.
    pub fn under_way(&self) -> Option<(usize, Vec<u8>)> {
        self.since.last().cloned()
    }

    /// A member that was away comes back with a log of its own: stripes in it may be other than what the others have.
    pub fn come_back(&mut self, member: usize) -> Result<(), Stop> {
        let operation = self.volume.recover(vec![member], self.use_of());
        let recovered = finish(&mut self.io, operation)?;
        self.number = recovered.map_err(Stop::Lost)?.number;
        self.rebuild(member, false)
    }

    /// Every pattern of losses that the set must bear, beside those that are lost already.
    pub fn loss_patterns(&self) -> Vec<Vec<Use>> {
        let geometry = self.volume.geometry();
        let mut patterns: Vec<Vec<usize>> = vec![vec![]];
        for group in 0..geometry.groups() {
            let members = geometry.members(group);
            let lost = members.clone().filter(|member| self.uses[*member] == Use::Stale).count();
            let within = subsets(members, geometry.parity() - lost);
            let both = patterns.iter().flat_map(|one| within.iter().map(move |two| [one.as_slice(), two].concat()));
            patterns = both.collect();
        }
        let with = |lost: Vec<usize>| {
            let mut uses = self.uses.clone();
            lost.into_iter().for_each(|member| uses[member] = Use::Stale);
            uses
        };
        patterns.into_iter().map(with).collect()
    }

    pub fn assert_readable_with_any_loss(&mut self, context: &str) {
        let patterns = self.loss_patterns();
        self.assert_readable(patterns, context);
    }

    /// With four patterns of as many losses as can be borne, by chance.
    pub fn assert_readable_with_some_losses(&mut self, context: &str) {
        let lost = |uses: &[Use]| uses.iter().filter(|one| **one == Use::Stale).count();
        let mut patterns = self.loss_patterns();
        let most = patterns.iter().map(|uses| lost(uses)).max().unwrap();
        patterns.retain(|uses| lost(uses) == most);
        let some = (0..4).map(|_| patterns[self.io.random.below(patterns.len() as u64) as usize].clone()).collect();
        self.assert_readable(some, context);
    }

    fn assert_readable(&mut self, patterns: Vec<Vec<Use>>, context: &str) {
        for uses in patterns {
            let content = self.read_with(0..self.now.len(), &uses);
            let content = content.unwrap_or_else(|error| panic!("{context}, with {uses:?}: {error}"));
            let wrong = content.iter().zip(&self.now).position(|(one, other)| one != other);
            assert_eq!(wrong, None, "{context}: first wrong byte with {uses:?}");
        }
    }

    /// Gives a member that was away, or that is new and empty, what it has missed.
    pub fn rebuild(&mut self, member: usize, replaced: bool) -> Result<(), Stop> {
        let group = self.volume.geometry().members(self.volume.geometry().group_of(member));
        let others: Vec<usize> = group.filter(|other| self.uses[*other] != Use::Stale).collect();
        let dirty = |set: &Set| -> BTreeSet<Vec<u8>> {
            let prefix = key::dirty_prefix(member);
            others.iter().flat_map(|other| set.io.drives[*other].keys(&prefix)).collect()
        };
        let mut stripes: BTreeSet<StripeId> =
            dirty(self).iter().filter_map(|at| key::stripe_of(at, &key::dirty_prefix(member))).collect();
        if replaced {
            let rows = others.iter().flat_map(|other| self.io.drives[*other].keys(b"R"));
            stripes.extend(rows.filter_map(|at| key::stripe_of(&at, b"R")));
        }
        for stripe in stripes {
            self.repair(stripe, vec![member])?;
        }
        self.io.run(vec![Effect::SyncFiles { member }, Effect::Apply { member, batch: Batch::new(), sync: true }])?;
        let mut clean = Batch::new();
        dirty(self).iter().for_each(|at| _ = clean.delete(at));
        let forget = |other: &usize| Effect::Apply { member: *other, batch: clean.clone(), sync: false };
        self.io.run(others.iter().map(forget).collect())?;
        self.uses[member] = Use::Good;
        Ok(())
    }
}

/// All sets of at most `most` of some members.
fn subsets(members: Range<usize>, most: usize) -> Vec<Vec<usize>> {
    let mut out: Vec<Vec<usize>> = vec![vec![]];
    for member in members {
        let with: Vec<_> =
            out.iter().filter(|set| set.len() < most).map(|set| [set.as_slice(), &[member]].concat()).collect();
        out.extend(with);
    }
    out
}

pub const STRIP: usize = 2 * nyala_raid::BLOCK_BYTES;
