// SPDX-License-Identifier: Apache-2.0

//! Which of the superblocks on the drives of a set holds.
//!
//! **Failure model.** A change of state is written to all good members at once, and a crash may leave it on some of them only, even several changes one after the other.
//! If those are away when the set starts again, the others do not know of it, go on from what was before, and give the same generations to something else. So the
//! largest generation alone does not say who is right: one that good members never got was never complete, and if the others went on without all who have it, it does not hold.
//! A set that was started in two parts, each without the other, has two truths: then nobody but an operator can choose.

use crate::member::{DriveId, MemberState};
use crate::superblock::Superblock;

/// What a superblock says of its set, on whatever drive it lies.
fn same(one: &Superblock, other: &Superblock) -> bool {
    (one.generation, &one.members, &one.geometry) == (other.generation, &other.members, &other.geometry)
}

fn state(superblock: &Superblock, drive: DriveId) -> Option<MemberState> {
    superblock.members.iter().find(|member| member.drive == drive).map(|member| member.state)
}

/// The drives that say the same as `one`.
fn holders<'a>(found: &'a [Superblock], one: &'a Superblock) -> impl Iterator<Item = DriveId> + 'a {
    found.iter().filter(move |other| same(one, other)).map(|other| other.drive)
}

/// Whether a set went on to `other` without all drives that have `one`, which was never complete: a drive that should have it did not get it.
fn is_superseded(found: &[Superblock], one: &Superblock, other: &Superblock) -> bool {
    let good = |superblock: &Superblock, drive| state(superblock, drive) == Some(MemberState::Good);
    one.generation >= other.generation
        && !same(one, other)
        && holders(found, one).all(|drive| !good(other, drive))
        && holders(found, other).any(|drive| good(one, drive))
}

/// Whether each of two was written without all who have the other.
fn are_apart(found: &[Superblock], one: &Superblock, other: &Superblock) -> bool {
    let without = |superblock: &Superblock, of: &Superblock| {
        holders(found, of).all(|drive| state(superblock, drive) == Some(MemberState::Missing))
    };
    !same(one, other) && without(one, other) && without(other, one)
}

/// The superblock that holds, of those that were found on drives of one set; none if there are none. An error is one that cannot be told from another one.
pub(crate) fn newest(found: &[Superblock]) -> Result<Option<&Superblock>, &Superblock> {
    let superseded = |one: &Superblock| found.iter().any(|other| is_superseded(found, one, other));
    let Some(newest) = found.iter().filter(|one| !superseded(one)).max_by_key(|one| one.generation) else {
        return found.first().map_or(Ok(None), Err);
    };
    let differs = |one: &&Superblock| one.generation == newest.generation && !same(one, newest) && !superseded(one);
    match found.iter().find(|one| differs(one) || are_apart(found, one, newest)) {
        Some(one) => Err(one),
        None => Ok(Some(newest)),
    }
}
