// SPDX-License-Identifier: Apache-2.0

//! What all parts of a running set share.

use crate::error::SetError;
use crate::run::Runners;
use crate::state::{State, Stopped};
use nyala_raid::Recovered;
use nyala_raid::member::MemberState;
use nyala_raid::{Effect, Operation, Reply, StripeError, StripeId, Volume, key};
use parking_lot::{Mutex, RwLock};
use std::sync::atomic::AtomicU64;
use std::time::Instant;

/// Locks of stripes; each stripe belongs to one.
pub(crate) const LOCKS: usize = 256;
/// Rows and records that are looked at together.
const PAGE: usize = 256;

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

/// A running set.
pub(crate) struct Core {
    pub volume: Volume,
    pub runners: Runners,
    pub state: Mutex<State>,
    /// Operations share it; what must not overlap with any has it alone.
    pub gate: RwLock<()>,
    pub locks: Vec<Mutex<()>>,
    pub checkpoints: Mutex<()>,
    /// What it has counted.
    pub counters: Counters,
    pub began: Instant,
    /// What the recovery did when the set was opened.
    pub recovered: Recovered,
}

impl Core {
    /// Good members of a member's group.
    pub fn good_of_group(&self, member: usize) -> Vec<usize> {
        let geometry = self.volume.geometry();
        let group = geometry.members(geometry.group_of(member));
        let state = self.state.lock();
        group.filter(|other| state.members.state(*other) == MemberState::Good).collect()
    }

    /// Goes through a part of a member's table.
    pub fn scan(
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

    /// Runs an operation to its end.
    pub fn finish<T>(&self, operation: Operation<T>) -> T {
        operation.finish(|effects| self.runners.run(effects))
    }

    /// Since the set was opened, milliseconds.
    pub fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// What operations on a stripe take turns by.
    pub fn lock_of(&self, stripe: StripeId) -> &Mutex<()> {
        let hash = (stripe.object.0 as u64 ^ (stripe.object.0 >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.locks[(hash.wrapping_add(stripe.number) % LOCKS as u64) as usize]
    }

    /// Whether anything may be written.
    pub fn running(&self) -> Result<(), SetError> {
        match self.state.lock().stopped {
            None => Ok(()),
            Some(Stopped::Short { group }) => Err(SetError::Stopped { group }),
            Some(Stopped::Taken) => Err(SetError::Taken),
        }
    }

    /// Whether anything may be read: what somebody else writes may be newer.
    pub fn readable(&self) -> Result<(), SetError> {
        match self.state.lock().stopped {
            Some(Stopped::Taken) => Err(SetError::Taken),
            _ => Ok(()),
        }
    }
}
