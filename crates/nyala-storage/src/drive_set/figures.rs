// SPDX-License-Identifier: Apache-2.0

//! What monitoring gets of a set.

use super::describe::state_name;
use nyala_drives::DriveSet;
use nyala_raid::member::MemberState;
use std::sync::atomic::Ordering;

/// States of drives, each of which is counted, also if no drive is in it.
const STATES: [MemberState; 4] =
    [MemberState::Good, MemberState::Missing, MemberState::CatchingUp, MemberState::Rebuilding { behind: None }];

/// What is counted of a set; what grows does so since it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetFigures {
    /// Drives in each state.
    pub states: Vec<(&'static str, u64)>,
    /// What each drive returned that was wrong, by number.
    pub errors: Vec<u64>,
    /// Stripes of which each drive misses writes.
    pub missed: Vec<u64>,
    /// It has lost more drives than it can do without.
    pub stopped: bool,
    /// What was wrong and was made good.
    pub healed: u64,
    /// Stripes that the check could not read.
    pub lost: u64,
    /// Bytes given to drives that had missed them.
    pub rebuilt_bytes: u64,
    /// Reads around drives that were late.
    pub late: u64,
    /// Spares that nobody has.
    pub spares: u64,
}

impl SetFigures {
    pub(super) fn of(set: &DriveSet, spares: u64) -> SetFigures {
        let (members, counters) = (set.members(), set.counters());
        let count = |state: &str| members.iter().filter(|member| state_name(member.state) == state).count() as u64;
        SetFigures {
            states: STATES.map(state_name).into_iter().map(|name| (name, count(name))).collect(),
            errors: members.iter().map(|member| member.errors).collect(),
            missed: members.iter().map(|member| member.missed).collect(),
            stopped: set.stopped().is_some(),
            healed: counters.healed.load(Ordering::Relaxed),
            lost: set.scrub().lost,
            rebuilt_bytes: counters.rebuilt_bytes.load(Ordering::Relaxed),
            late: counters.late.load(Ordering::Relaxed),
            spares,
        }
    }
}
