// SPDX-License-Identifier: Apache-2.0

//! The members of a running set, and what follows from what happens to them.
//!
//! | A member | because | becomes |
//! |---|---|---|
//! | good | a write or its table failed, or it made too many errors in a while | missing; a spare is asked for |
//! | missing | its drive is back | catching up; rebuilding, if it was |
//! | missing | another drive takes its place | rebuilding |
//! | catching up, rebuilding | it has everything, durably | good |
//! | catching up, rebuilding | it failed | missing |
//!
//! A change of state is on disk on all good members before anything is acknowledged that follows from it: the largest generation tells the truth.

use crate::error_counts::ErrorCounts;
use crate::event::{Action, ErrorLimit, Event};
use crate::ids::StripeId;
use crate::member::{MemberState, Missed};
use crate::stripe::outcome::Use;
use crate::superblock::Superblock;

/// The members of a set.
#[derive(Clone, Debug)]
pub struct Members {
    superblock: Superblock,
    pub(crate) errors: ErrorCounts,
    stopped: bool,
}

impl Members {
    /// Of a set that was assembled.
    pub fn new(superblock: Superblock, limit: ErrorLimit) -> Members {
        let errors = ErrorCounts::new(superblock.members.len(), limit);
        Members { superblock, errors, stopped: false }
    }

    /// What is to be on every member; the drive is for each its own.
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Whether a group has too few members.
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// The state of a member.
    pub fn state(&self, member: usize) -> MemberState {
        self.superblock.members[member].state
    }

    /// Members in some state.
    pub fn all(&self, which: impl Fn(MemberState) -> bool) -> Vec<usize> {
        (0..self.superblock.members.len()).filter(|member| which(self.state(*member))).collect()
    }

    /// What a member is good for, for one stripe. `missed` says what is remembered of that.
    pub fn use_of(&self, member: usize, stripe: StripeId, missed: Missed) -> Use {
        let has = match self.state(member) {
            MemberState::Good => true,
            MemberState::Missing => false,
            MemberState::CatchingUp => missed != Missed::Writes,
            MemberState::Rebuilding { behind } => match missed {
                Missed::Nothing => behind.is_some_and(|behind| stripe <= behind),
                Missed::Given => true,
                Missed::Writes => false,
            },
        };
        if has { Use::Good } else { Use::Stale }
    }

    /// Something happened at `now_ms`, of a clock that does not go back.
    pub fn handle(&mut self, now_ms: u64, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        match event {
            Event::Failed { members } => {
                let there: Vec<usize> =
                    members.into_iter().filter(|member| self.state(*member) != MemberState::Missing).collect();
                there.iter().for_each(|member| self.set(*member, MemberState::Missing));
                actions.extend(there.iter().map(|member| Action::WantSpare { member: *member }));
            }
            Event::Errors { member, count } => return self.errors(now_ms, member, count),
            Event::Returned { member, had } if self.state(member) == MemberState::Missing => {
                self.set(member, had.on_return());
                actions.push(Action::Rebuild { member });
            }
            Event::Replaced { member, drive } if self.state(member) == MemberState::Missing => {
                self.superblock.members[member].drive = drive;
                self.errors.forget(member, now_ms);
                self.set(member, MemberState::Rebuilding { behind: None });
                actions.push(Action::Rebuild { member });
            }
            Event::Progress { member, behind } => {
                if let MemberState::Rebuilding { behind: before } = self.state(member)
                    && before.is_none_or(|before| before < behind)
                {
                    self.set(member, MemberState::Rebuilding { behind: Some(behind) });
                }
            }
            Event::Complete { member } if !matches!(self.state(member), MemberState::Missing | MemberState::Good) => {
                self.set(member, MemberState::Good);
            }
            Event::Returned { .. } | Event::Replaced { .. } | Event::Complete { .. } => {}
        }
        self.finish(actions)
    }

    fn set(&mut self, member: usize, state: MemberState) {
        if self.state(member) != state {
            self.superblock.members[member].state = state;
            self.superblock.generation += 1;
            self.stopped |= self.short_group().is_some();
        }
    }

    fn finish(&self, mut actions: Vec<Action>) -> Vec<Action> {
        match self.short_group() {
            // What nobody may rely on is not written down: with all drives back the set starts as it was.
            Some(group) => vec![Action::Stop { group }],
            None => {
                actions.insert(0, Action::Store);
                actions
            }
        }
    }

    fn errors(&mut self, now_ms: u64, member: usize, count: u32) -> Vec<Action> {
        let too_many = self.errors.count(now_ms, member, count);
        // A drive with errors is better than none.
        if !too_many || self.state(member) != MemberState::Good || !self.can_do_without(member) {
            return Vec::new();
        }
        self.handle(now_ms, Event::Failed { members: vec![member] })
    }

    /// Good members of a group.
    pub fn good_in(&self, group: usize) -> usize {
        self.superblock.geometry.members(group).filter(|member| self.state(*member) == MemberState::Good).count()
    }

    fn can_do_without(&self, member: usize) -> bool {
        self.good_in(self.superblock.geometry.group_of(member)) > self.superblock.geometry.data()
    }

    fn short_group(&self) -> Option<usize> {
        let geometry = &self.superblock.geometry;
        (0..geometry.groups()).find(|group| self.good_in(*group) < geometry.data())
    }
}
