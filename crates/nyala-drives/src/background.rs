// SPDX-License-Identifier: Apache-2.0

//! Rebuild and scrub, a few stripes at a time: how often is for the caller to say.

use crate::drive::Drive;
use crate::error::SetError;
use crate::set::DriveSet;
use nyala_raid::members::Event;
use nyala_raid::superblock::{DriveId, MemberState};
use nyala_raid::walk::Scrub;
use nyala_raid::{Effect, Reply, StripeError, StripeId, key};
use nyala_store::Batch;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Missed stripes among which those are looked for that several members have missed.
const LOOK_AT: usize = 4096;

/// What a few stripes came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Stripes that were looked at.
    pub stripes: u64,
    /// Bytes that were read or written for it, about.
    pub bytes: u64,
    /// Stripes that cannot be read any more.
    pub lost: u64,
    /// Nothing is left.
    pub done: bool,
}

impl DriveSet {
    /// An empty drive takes the place of a member, which leaves the set if it has not yet.
    pub fn replace(&self, member: usize, drive: Drive, id: DriveId) -> Result<(), SetError> {
        let geometry = self.geometry().clone();
        let refuse = |why| SetError::Replace { member, why };
        if member >= geometry.drives() {
            return Err(refuse("the set has no member of this number"));
        }
        if drive.superblock()?.is_some() {
            return Err(refuse("the new drive is of a set already: give an empty one"));
        }
        let others = self.good_of_group(member).into_iter().filter(|other| *other != member).count();
        if others < geometry.data() {
            return Err(refuse("the others of its group cannot do without it"));
        }
        self.failed(&[member], None)?;
        let _alone = self.gate.write();
        let place = drive.place().to_owned();
        self.runners.set(member, Some(drive)).map_err(|error| SetError::Directory { place, error })?;
        self.happened(Event::Replaced { member, drive: id }, None)
    }

    /// Rebuilds up to `most` stripes of the member whose group has lost most.
    pub fn rebuild_some(&self, most: usize) -> Result<Progress, SetError> {
        let waiting = self.state.lock().members.by_risk();
        let Some(member) = waiting.first().copied() else { return Ok(Progress { done: true, ..Progress::default() }) };
        let missed = self.missed_of(member, most);
        let (stripes, walking) = match missed.is_empty() {
            false => (missed.iter().map(|(stripe, _)| *stripe).collect(), false),
            true => (self.rows_behind(member, most)?, true),
        };
        let mut progress = Progress::default();
        for stripe in &stripes {
            match self.repair(*stripe, vec![member]) {
                Ok(repaired) if !repaired.failed.is_empty() => return Ok(progress),
                Ok(repaired) => progress.bytes += repaired.read_bytes + repaired.rebuilt_bytes,
                Err(SetError::Stripe(StripeError::Lost { stripe })) => {
                    tracing::error!(object = %format!("{:032x}", stripe.object.0), stripe = stripe.number, "cannot be rebuilt");
                    progress.lost += 1;
                }
                Err(error) => return Err(error),
            }
            progress.stripes += 1;
        }
        let sync = vec![Effect::SyncFiles { member }, Effect::Apply { member, batch: Batch::new(), sync: true }];
        if !self.runners.run(sync).iter().all(|reply| matches!(reply, Reply::Done)) {
            self.failed(&[member], None)?;
            return Ok(progress);
        }
        let _alone = self.gate.write();
        self.caught_up(member, &missed)?;
        if let (true, Some(behind)) = (walking, stripes.last().copied()) {
            self.happened(Event::Progress { member, behind }, None)?;
        }
        let nothing_missed = self.state.lock().missed[member].is_empty();
        let state = self.state.lock().members.state(member);
        let walked = walking && stripes.len() < most;
        if nothing_missed && (walked || state == MemberState::CatchingUp) {
            self.happened(Event::Complete { member }, None)?;
        }
        progress.done = self.state.lock().members.by_risk().is_empty();
        Ok(progress)
    }

    /// Stripes that a member has missed and when that was noted, those first that other members have missed as well.
    fn missed_of(&self, member: usize, most: usize) -> Vec<(StripeId, u64)> {
        let state = self.state.lock();
        let some = state.missed[member].iter().take(LOOK_AT);
        let mut some: Vec<(StripeId, u64)> = some.map(|(stripe, note)| (*stripe, *note)).collect();
        let risk = |stripe: &StripeId| state.missed.iter().filter(|missed| missed.contains_key(stripe)).count();
        some.sort_by_cached_key(|(stripe, _)| (Reverse(risk(stripe)), *stripe));
        some.truncate(most);
        some
    }

    /// The next stripes that a new member does not have yet.
    fn rows_behind(&self, member: usize, most: usize) -> Result<Vec<StripeId>, SetError> {
        let MemberState::Rebuilding { behind } = self.state.lock().members.state(member) else { return Ok(Vec::new()) };
        let from = behind.map_or_else(|| b"R".to_vec(), |behind| key::next(&key::row(behind)));
        self.rows(self.geometry().group_of(member), from, most)
    }

    /// Stripes of a group that have rows, from a key on. All good members have the same; one that lost some is not believed alone.
    fn rows(&self, group: usize, from: Vec<u8>, most: usize) -> Result<Vec<StripeId>, SetError> {
        let good = self.good_of_group(self.geometry().members(group).start);
        let mut found = BTreeSet::new();
        for member in good.into_iter().take(self.geometry().parity() + 1) {
            let scan = Effect::Scan { member, from: from.clone(), to: key::behind(b"R"), limit: most };
            match self.runners.run(vec![scan]).pop() {
                Some(Reply::Pairs(pairs)) => {
                    found.extend(pairs.iter().filter_map(|(at, _)| key::stripe_of(at, b"R")));
                }
                _ => return Err(StripeError::Failed { members: vec![member] }.into()),
            }
        }
        Ok(found.into_iter().take(most).collect())
    }

    /// Forgets that a member has missed stripes, unless they were written again since. The caller has the gate alone.
    fn caught_up(&self, member: usize, stripes: &[(StripeId, u64)]) -> Result<(), SetError> {
        let mut batch = Batch::new();
        {
            let mut state = self.state.lock();
            for (stripe, note) in stripes {
                if state.missed[member].get(stripe) == Some(note) {
                    state.missed[member].remove(stripe);
                    batch.delete(key::dirty(member, *stripe));
                }
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        let good = self.good_of_group(member);
        let apply = |member: &usize| Effect::Apply { member: *member, batch: batch.clone(), sync: false };
        let replies = self.runners.run(good.iter().map(apply).collect());
        let bad = good.iter().zip(replies).filter(|(_, reply)| !matches!(reply, Reply::Done));
        let members: Vec<usize> = bad.map(|(member, _)| *member).collect();
        if members.is_empty() { Ok(()) } else { self.happened(Event::Failed { members }, None) }
    }

    /// Where the scrub is.
    pub fn scrub(&self) -> Scrub {
        self.state.lock().scrub
    }

    /// Begins a scrub from the start.
    pub fn begin_scrub(&self, now_s: u64) {
        let mut state = self.state.lock();
        state.scrub = state.scrub.begin(now_s);
    }

    /// Compares up to `most` stripes behind those of before, and heals what is wrong.
    pub fn scrub_some(&self, most: usize, now_s: u64) -> Result<Progress, SetError> {
        let mut scrub = self.scrub();
        let mut stripes = BTreeSet::new();
        for group in 0..self.geometry().groups() {
            stripes.extend(self.rows(group, scrub.from(), most)?);
        }
        let mut progress = Progress { done: stripes.is_empty(), ..Progress::default() };
        for stripe in stripes.into_iter().take(most) {
            let (healed, lost) = match self.repair(stripe, vec![]) {
                Ok(repaired) => {
                    progress.bytes += repaired.read_bytes;
                    (repaired.damage.len() as u64, false)
                }
                Err(SetError::Stripe(StripeError::Lost { .. })) => (0, true),
                Err(error) => return Err(error),
            };
            scrub.looked_at(stripe, healed, lost);
            progress.stripes += 1;
            progress.lost += u64::from(lost);
        }
        if progress.done {
            scrub.end(now_s);
        }
        self.state.lock().scrub = scrub;
        let mut batch = Batch::new();
        batch.put(key::SCRUB, scrub.encode());
        let good = self.state.lock().members.all(|state| state == MemberState::Good);
        // If it is lost, some stripes are looked at again.
        self.runners.run(
            good.iter().map(|member| Effect::Apply { member: *member, batch: batch.clone(), sync: false }).collect(),
        );
        Ok(progress)
    }

    /// The scrub that was under way when the set was closed.
    pub(crate) fn scrub_found(&self) -> Scrub {
        let good = self.state.lock().members.all(|state| state == MemberState::Good);
        let get = |member: &usize| Effect::Get { member: *member, key: key::SCRUB.to_vec() };
        let replies = self.runners.run(good.iter().map(get).collect());
        let found = replies.into_iter().filter_map(|reply| match reply {
            Reply::Value(Some(value)) => Scrub::decode(&value),
            _ => None,
        });
        found.max_by_key(|scrub| (scrub.began_s, scrub.stripes)).unwrap_or_default()
    }
}
