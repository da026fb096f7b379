// SPDX-License-Identifier: Apache-2.0

//! What a running set remembers.

use crate::behind::Behind;
use nyala_raid::member::MemberState;
use nyala_raid::members::Members;
use nyala_raid::options::SetOptions;
use nyala_raid::walk::Scrub;
use nyala_raid::{StripeId, Use};
use std::collections::BTreeSet;

/// Why a set does not go on.
#[derive(Clone, Copy)]
pub(crate) enum Stopped {
    /// A group has lost too many members.
    Short { group: usize },
    /// Somebody else has it.
    Taken,
}

pub(crate) struct State {
    pub members: Members,
    /// The last operation's number.
    number: u64,
    /// Operations since the last checkpoint: they have records in the logs.
    pub numbers: Vec<u64>,
    /// Stripes that were first written since the last checkpoint began.
    pub open: BTreeSet<StripeId>,
    /// Stripes that were written since the last checkpoint ended: a drive that leaves may lose what it has of them.
    pub recent: BTreeSet<StripeId>,
    /// Those of before the checkpoint that is under way.
    pub syncing: BTreeSet<StripeId>,
    /// Bytes in the logs since the last checkpoint.
    pub logged_bytes: u64,
    /// By member: what it has missed.
    pub behind: Vec<Behind>,
    /// By member: what it returned that was wrong.
    pub errors: Vec<u64>,
    pub scrub: Scrub,
    pub options: SetOptions,
    pub stopped: Option<Stopped>,
}

impl State {
    pub fn new(members: Members, number: u64, scrub: Scrub) -> State {
        let count = members.superblock().members.len();
        let (behind, errors) = ((0..count).map(|_| Behind::default()).collect(), vec![0; count]);
        State {
            members,
            number,
            numbers: Vec::new(),
            open: BTreeSet::new(),
            recent: BTreeSet::new(),
            syncing: BTreeSet::new(),
            logged_bytes: 0,
            behind,
            errors,
            scrub,
            options: SetOptions::default(),
            stopped: None,
        }
    }

    /// The number of the next operation.
    pub fn next(&mut self) -> u64 {
        self.number += 1;
        self.numbers.push(self.number);
        self.number
    }

    /// A drive had operations up to this number.
    pub fn number_at_least(&mut self, number: u64) {
        self.number = self.number.max(number);
    }

    pub fn last(&self) -> u64 {
        self.number
    }

    /// What every member is good for, for a stripe.
    pub fn uses(&self, stripe: StripeId) -> Vec<Use> {
        let of = |member: usize| self.members.use_of(member, stripe, self.behind[member].of(stripe));
        (0..self.behind.len()).map(of).collect()
    }

    /// What every member is good for as a whole.
    pub fn whole_uses(&self) -> Vec<Use> {
        let of = |member| if self.members.state(member) == MemberState::Good { Use::Good } else { Use::Stale };
        (0..self.behind.len()).map(of).collect()
    }

    /// A stripe was written with these uses, or may have been.
    pub fn note_write(&mut self, stripe: StripeId, uses: &[Use]) {
        self.recent.insert(stripe);
        let geometry = &self.members.superblock().geometry;
        let group = geometry.members(geometry.group(stripe));
        for member in group.filter(|member| uses[*member] == Use::Stale) {
            self.behind[member].note(stripe);
        }
    }

    /// Members that take part in writes, wholly or in part.
    pub fn there(&self) -> Vec<usize> {
        self.members.all(|state| state != MemberState::Missing)
    }
}
