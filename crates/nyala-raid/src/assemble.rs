// SPDX-License-Identifier: Apache-2.0

//! Which drives are a set, and whether it may start.
//!
//! A member that is not there may have gone on without those that are, and be newer than all of them: only if those that are missing could have run by
//! themselves, and the newest superblock does not say that they were left behind. Then an operator has to say that the set is to start without them.
//!
//! A member may be there with an older superblock than the newest that has it as good: it went while the others wrote down that one before it had gone. Nothing that follows from a change of state is acknowledged before all good members have it on disk ([`crate::members`]), so such a member
//! has everything that was ever acknowledged. Which superblock holds is [`crate::newest`].

use crate::geometry::Geometry;
use crate::member::{DriveId, Member, MemberState, SetId};
use crate::newest::newest;
use crate::superblock::Superblock;
use std::ops::Range;

/// A start that changes something leaves out so many generations. A crash cuts off a few changes at most, which only drives have that are away now: they are older then, and
/// may come back to the running set.
pub const START_STEP: u64 = 64;

/// Why a set does not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// No drive has a superblock.
    #[error("none of the drives has a superblock that can be read: is this a set?")]
    Nothing,
    /// Drives of several sets.
    #[error("drives of two sets were given, {:x} and {:x}", .one.0, .other.0)]
    TwoSets {
        /// One set.
        one: SetId,
        /// The other.
        other: SetId,
    },
    /// Superblocks of one generation that differ, or of one drive twice.
    #[error("two drives claim to be {:x}, or differ about generation {generation}: one is a copy of the other, or the set was started in two parts", .drive.0)]
    Conflict {
        /// The drive.
        drive: DriveId,
        /// The generation.
        generation: u64,
    },
    /// Too many members of a group are missing or out of date.
    #[error("group {group} has only {there} of the {needed} up-to-date members that it needs; missing are {missing:?}")]
    TooFew {
        /// The group.
        group: usize,
        /// Members that are up to date.
        there: usize,
        /// Members that are needed.
        needed: usize,
        /// Numbers of members that are missing or out of date.
        missing: Vec<usize>,
    },
    /// The missing members could be newer.
    #[error(
        "members {missing:?} are missing and could have gone on without these: bring them, or, if they never come back, say so with nyala raid start"
    )]
    MayBeOlder {
        /// Numbers of members.
        missing: Vec<usize>,
    },
}

/// A set that may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembled {
    /// The newest superblock, with members that are missing now marked so. If that changed anything, or a good member has an older one, its generation is a new one, and it
    /// has to be on disk on all good members before anything else.
    pub superblock: Superblock,
    /// It differs from the newest on the drives, or a good member does not have that yet.
    pub changed: bool,
    /// Members that are there, out of date, and can catch up.
    pub outdated: Vec<usize>,
    /// Drives that are of the set and not members any more: they were replaced.
    pub strangers: Vec<DriveId>,
}

/// What the superblocks of the drives that are there come to.
pub fn assemble(found: &[Superblock], force: bool) -> Result<Assembled, AssembleError> {
    for (at, one) in found.iter().enumerate() {
        if one.set != found[0].set {
            return Err(AssembleError::TwoSets { one: found[0].set, other: one.set });
        }
        if found[..at].iter().any(|other| other.drive == one.drive) {
            return Err(conflict(one));
        }
    }
    let newest = newest(found).map_err(conflict)?.ok_or(AssembleError::Nothing)?;
    let there = |member: &Member| found.iter().find(|superblock| superblock.drive == member.drive);
    let mut next = newest.clone();
    let (mut outdated, mut behind) = (Vec::new(), false);
    for (number, member) in next.members.iter_mut().enumerate() {
        let current = there(member).is_some_and(|superblock| {
            (superblock.generation, &superblock.members) == (newest.generation, &newest.members)
        });
        let own = there(member).map(|superblock| superblock.members.get(number).map(|own| own.state));
        member.state = match (member.state, own) {
            (MemberState::Good, Some(Some(MemberState::Good))) => MemberState::Good,
            (MemberState::CatchingUp | MemberState::Rebuilding { .. }, Some(_)) if current => member.state,
            (_, Some(own)) => own.map_or(MemberState::CatchingUp, MemberState::on_return),
            (_, None) => MemberState::Missing,
        };
        match (own.is_some(), member.state) {
            (true, MemberState::Good) => behind |= !current,
            (true, _) => outdated.push(number),
            (false, _) => {}
        }
    }
    let geometry = &newest.geometry;
    for group in 0..geometry.groups() {
        check_group(geometry, newest, &next, group, force)?;
    }
    let known = |drive: DriveId| newest.members.iter().any(|member| member.drive == drive);
    let strangers = found.iter().map(|one| one.drive).filter(|drive| !known(*drive)).collect();
    // A generation that some drive has for something else is not given again; also not by a drive that is away.
    let last = found.iter().map(|superblock| superblock.generation).fold(newest.generation, u64::max);
    let changed = behind || last > newest.generation || next.members != newest.members;
    next.generation = last + if changed { START_STEP } else { 0 };
    Ok(Assembled { superblock: next, changed, outdated, strangers })
}

fn conflict(one: &Superblock) -> AssembleError {
    AssembleError::Conflict { drive: one.drive, generation: one.generation }
}

fn check_group(
    geometry: &Geometry,
    newest: &Superblock,
    next: &Superblock,
    group: usize,
    force: bool,
) -> Result<(), AssembleError> {
    let members: Range<usize> = geometry.members(group);
    let good = |superblock: &Superblock, member: usize| superblock.members[member].state == MemberState::Good;
    let missing: Vec<usize> = members.clone().filter(|member| !good(next, *member)).collect();
    let there = members.len() - missing.len();
    if there < geometry.data() {
        return Err(AssembleError::TooFew { group, there, needed: geometry.data(), missing });
    }
    // Those that the newest superblock has as good, and that are not there.
    let absent: Vec<usize> = missing
        .into_iter()
        .filter(|member| good(newest, *member) && next.members[*member].state == MemberState::Missing)
        .collect();
    if absent.len() >= geometry.data() && !force {
        return Err(AssembleError::MayBeOlder { missing: absent });
    }
    Ok(())
}
