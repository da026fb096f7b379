// SPDX-License-Identifier: Apache-2.0

//! Which drives make a set, and what becomes of it.

use nyala_raid::assemble::{AssembleError, START_STEP, assemble};
use nyala_raid::event::{Action, ErrorLimit, Event};
use nyala_raid::member::{DriveId, Member, MemberState, Missed, SetId};
use nyala_raid::members::Members;
use nyala_raid::risk::by_risk;
use nyala_raid::superblock::Superblock;
use nyala_raid::{Geometry, Level, ObjectId, StripeId, Use};

fn set(level: Level, drives: usize) -> Superblock {
    let geometry = Geometry::new(level, drives, 4096).unwrap();
    let member = |at| Member { drive: DriveId(at as u128 + 100), state: MemberState::Good };
    let members = (0..drives).map(member).collect();
    Superblock { set: SetId(1), generation: 5, geometry, members, drive: DriveId(0) }
}

fn on(superblock: &Superblock, members: &[usize]) -> Vec<Superblock> {
    members.iter().map(|at| Superblock { drive: superblock.members[*at].drive, ..superblock.clone() }).collect()
}

#[test]
fn a_whole_set_starts_as_it_was() {
    let set = set(Level::Raid6, 5);
    let assembled = assemble(&on(&set, &[4, 2, 0, 1, 3]), false).unwrap();
    assert!(!assembled.changed && assembled.outdated.is_empty());
    assert_eq!(assembled.superblock.members, set.members);
}

#[test]
fn who_is_missing_is_marked_so_and_catches_up_later() {
    let set = set(Level::Raid6, 5);
    let assembled = assemble(&on(&set, &[0, 1, 3]), false).unwrap();
    let states: Vec<_> = assembled.superblock.members.iter().map(|member| member.state).collect();
    let missing = MemberState::Missing;
    assert_eq!(states, [MemberState::Good, MemberState::Good, missing, MemberState::Good, missing]);
    assert_eq!((assembled.changed, assembled.superblock.generation), (true, 5 + START_STEP));
    let mut found = on(&assembled.superblock, &[0, 1, 3]);
    found.extend(on(&set, &[2]));
    let again = assemble(&found, false).unwrap();
    assert_eq!((again.outdated, again.superblock.members[2].state), (vec![2], MemberState::CatchingUp));
    let too_few = assemble(&on(&set, &[0, 1]), false);
    assert!(matches!(too_few, Err(AssembleError::TooFew { there: 2, needed: 3, .. })), "{too_few:?}");
}

/// Drives went one after the other: 1 first, and then 0 and 2 while the others wrote that down.
#[test]
fn a_good_member_that_went_before_it_heard_of_the_last_change_is_good() {
    let set = set(Level::NPlusM { parity: 2 }, 6);
    let mut next = Superblock { generation: 6, ..set.clone() };
    next.members[1].state = MemberState::Missing;
    let mut found = on(&set, &[0, 1, 2]);
    found.extend(on(&next, &[3, 4, 5]));
    let assembled = assemble(&found, false).unwrap();
    // Those that have not heard of it are told before anything else.
    assert_eq!(
        (assembled.changed, assembled.superblock.generation, assembled.outdated),
        (true, 6 + START_STEP, vec![1])
    );
    let good = |at: &usize| assembled.superblock.members[*at].state == MemberState::Good;
    assert!([0, 2, 3, 4, 5].iter().all(good));
    // One that knew itself to be behind is so still, whatever the others wrote last.
    let mut behind = set.clone();
    behind.members[2].state = MemberState::CatchingUp;
    found[2] = on(&behind, &[2]).remove(0);
    assert_eq!(assemble(&found, false).unwrap().outdated, [1, 2]);
}

#[test]
fn half_a_mirror_starts_alone_only_if_it_is_known_to_be_the_newer_half() {
    let set = set(Level::Raid1, 2);
    let alone = assemble(&on(&set, &[1]), false);
    assert_eq!(alone, Err(AssembleError::MayBeOlder { missing: vec![0] }));
    let forced = assemble(&on(&set, &[1]), true).unwrap().superblock;
    // From now on it is known.
    assert!(assemble(&on(&forced, &[1]), false).is_ok());
    // The other half alone still believes in both, and is refused; both together know who is newer.
    assert!(assemble(&on(&set, &[0]), false).is_err());
    let both = assemble(&[on(&forced, &[1]), on(&set, &[0])].concat(), false).unwrap();
    assert_eq!(both.outdated, [0]);
}

#[test]
fn foreign_and_copied_drives_are_refused() {
    let one = set(Level::Raid5, 3);
    let other = Superblock { set: SetId(2), ..one.clone() };
    let mixed = assemble(&[on(&one, &[0, 1]), on(&other, &[2])].concat(), false);
    assert!(matches!(mixed, Err(AssembleError::TwoSets { .. })), "{mixed:?}");
    let twice = assemble(&on(&one, &[0, 1, 1]), false);
    assert!(matches!(twice, Err(AssembleError::Conflict { .. })), "{twice:?}");
    assert_eq!(assemble(&[], false), Err(AssembleError::Nothing));
    // Two halves that were both forced differ about the same generation.
    let mirror = set(Level::Raid1, 2);
    let halves = [0, 1].map(|at| on(&assemble(&on(&mirror, &[at]), true).unwrap().superblock, &[at]));
    let differ = assemble(&halves.concat(), false);
    assert!(matches!(differ, Err(AssembleError::Conflict { generation, .. }) if generation == 5 + START_STEP));
}

/// A change was written to one drive only when the power went; that drive was away when the others started again, and they gave its generation to something else.
#[test]
fn a_change_that_only_one_drive_got_does_not_hold_when_the_others_went_on() {
    let set = set(Level::Raid6, 5);
    for ahead in [1, 2, START_STEP, START_STEP + 1, 1000] {
        let mut cut = Superblock { generation: 5 + ahead, ..set.clone() };
        cut.members[1].state = MemberState::Missing;
        let cut = on(&cut, &[4]);
        let without = assemble(&on(&set, &[0, 1, 2, 3]), false).unwrap().superblock;
        assert_eq!(without.generation, 5 + START_STEP);
        let found = [on(&without, &[0, 1, 2, 3]), cut.clone()].concat();
        let assembled = assemble(&found, false).unwrap();
        assert_eq!(assembled.outdated, [4], "ahead by {ahead}");
        let good = |at: &usize| assembled.superblock.members[*at].state == MemberState::Good;
        assert!([0, 1, 2, 3].iter().all(good) && assembled.changed, "ahead by {ahead}");
        assert!(assembled.superblock.generation > 5 + ahead, "ahead by {ahead}");
        // If they did not go on without it, it holds as before.
        let together = assemble(&[on(&set, &[0, 1, 2, 3]), cut].concat(), false).unwrap();
        assert_eq!((together.outdated, together.superblock.generation), (vec![1], 5 + ahead + START_STEP));
    }
}

#[test]
fn two_parts_that_were_started_alone_are_refused_whichever_went_on_longer() {
    let mirror = set(Level::Raid1, 2);
    let part = |at| assemble(&on(&mirror, &[at]), true).unwrap().superblock;
    let (one, mut other) = (part(0), part(1));
    other.generation += 7;
    let both = assemble(&[on(&one, &[0]), on(&other, &[1])].concat(), false);
    assert!(matches!(both, Err(AssembleError::Conflict { .. })), "{both:?}");
}

#[test]
fn failed_members_are_written_down_first_and_too_many_stop_the_set() {
    let mut members = Members::new(set(Level::Raid5, 3), ErrorLimit::default());
    let actions = members.handle(0, Event::Failed { members: vec![1] });
    assert_eq!(actions, [Action::Store, Action::WantSpare { member: 1 }]);
    assert_eq!(members.superblock().generation, 6);
    assert_eq!(members.handle(0, Event::Failed { members: vec![2] }), [Action::Stop { group: 0 }]);
    assert!(members.is_stopped());
}

#[test]
fn errors_up_to_a_limit_are_borne_and_the_last_drive_is_kept() {
    let limit = ErrorLimit { errors: 3, within_ms: 100 };
    let mut members = Members::new(set(Level::Raid1, 2), limit);
    let errors = |member, count| Event::Errors { member, count };
    assert_eq!(members.handle(0, errors(0, 2)), []);
    assert_eq!(members.handle(200, errors(0, 2)), [], "those of long ago are forgotten");
    assert_eq!(members.handle(201, errors(0, 1)).first(), Some(&Action::Store));
    assert_eq!(members.state(0), MemberState::Missing);
    assert_eq!(members.handle(202, errors(1, 1000)), []);
    assert_eq!(members.state(1), MemberState::Good);
}

#[test]
fn a_new_drive_is_used_up_to_where_it_is_rebuilt() {
    let mut members = Members::new(set(Level::Raid6, 4), ErrorLimit::default());
    let stripe = |number| StripeId { object: ObjectId(1), number };
    members.handle(0, Event::Failed { members: vec![2] });
    assert_eq!(members.use_of(2, stripe(0), Missed::Nothing), Use::Stale);
    let actions = members.handle(0, Event::Replaced { member: 2, drive: DriveId(9) });
    assert_eq!(actions, [Action::Store, Action::Rebuild { member: 2 }]);
    assert_eq!(members.superblock().members[2].drive, DriveId(9));
    members.handle(0, Event::Progress { member: 2, behind: stripe(7) });
    assert_eq!(members.use_of(2, stripe(7), Missed::Nothing), Use::Good);
    assert_eq!(members.use_of(2, stripe(7), Missed::Writes), Use::Stale);
    assert_eq!(members.use_of(2, stripe(8), Missed::Nothing), Use::Stale);
    assert_eq!(members.use_of(2, stripe(8), Missed::Given), Use::Good);
    members.handle(0, Event::Complete { member: 2 });
    assert_eq!(members.use_of(2, stripe(8), Missed::Nothing), Use::Good);
    let unchanged = members.superblock().clone();
    members.handle(0, Event::Returned { member: 2, had: MemberState::Good });
    assert_eq!(*members.superblock(), unchanged, "it is not missing");
}

#[test]
fn a_half_rebuilt_drive_that_was_away_is_half_rebuilt() {
    let mut members = Members::new(set(Level::Raid6, 4), ErrorLimit::default());
    let half = MemberState::Rebuilding { behind: Some(StripeId { object: ObjectId(1), number: 3 }) };
    members.handle(0, Event::Failed { members: vec![2] });
    members.handle(0, Event::Replaced { member: 2, drive: DriveId(9) });
    members.handle(0, Event::Progress { member: 2, behind: StripeId { object: ObjectId(1), number: 3 } });
    let heard = members.superblock().clone();
    members.handle(0, Event::Failed { members: vec![2] });
    let newest = members.superblock().clone();
    let found = [on(&newest, &[0, 1, 3]), on(&heard, &[2])].concat();
    assert_eq!(assemble(&found, false).unwrap().superblock.members[2].state, half);
    members.handle(0, Event::Returned { member: 2, had: half });
    assert_eq!(members.state(2), half);
    // Nor does it count as one if it is not there at a start.
    let without = assemble(&on(&heard, &[0, 1, 3]), false).unwrap();
    assert_eq!(without.superblock.members[2].state, MemberState::Missing);
}

#[test]
fn the_group_that_has_lost_most_is_rebuilt_first() {
    let mut members = Members::new(set(Level::Raid60 { groups: 2 }, 8), ErrorLimit::default());
    for member in [0, 5, 6] {
        members.handle(0, Event::Failed { members: vec![member] });
    }
    members.handle(0, Event::Replaced { member: 5, drive: DriveId(8) });
    members.handle(0, Event::Returned { member: 0, had: MemberState::Good });
    members.handle(0, Event::Returned { member: 6, had: MemberState::Missing });
    assert_eq!(by_risk(&members), [6, 5, 0]);
}
