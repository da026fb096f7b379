// SPDX-License-Identifier: Apache-2.0

//! What is said before something is done.

use crate::clusters::{degraded, healthy, lose, resyncing};
use nyala_web::{Action, confirmation, consequences};
use nyala_wire::map::{Consistency, MemberState};
use nyala_wire::{GroupId, TargetId};

fn declare(target: u16, consistency: Consistency) -> Action {
    Action::Declare { target: TargetId(target), consistency }
}

#[test]
fn what_may_lose_data_warns() {
    let world = degraded();
    let good = declare(101, Consistency::Good);
    let asked = consequences(&good, &world.facts(true)).unwrap();
    assert!(asked.warning.as_ref().unwrap().contains("given up"));
    let html = confirmation(&good, &asked, "c5rf");
    for said in ["Declare target 101 good?", "May lose data.", "value=\"c5rf\"", "Do nothing", "method=\"post\""] {
        assert!(html.contains(said), "{said}");
    }
    let stale = consequences(&declare(103, Consistency::NeedsResync), &world.facts(true)).unwrap();
    assert!(stale.warning.unwrap().contains("No other member is good"));
    let fine = consequences(&declare(2, Consistency::NeedsResync), &world.facts(true)).unwrap();
    assert_eq!(fine.warning, None);
}

#[test]
fn what_cannot_be_done_is_said() {
    let mut world = healthy();
    let switch = |target| Action::Switch { group: GroupId(2), target: TargetId(target) };
    let refused =
        |action: Action, world: &crate::clusters::World| consequences(&action, &world.facts(true)).unwrap_err();
    assert!(consequences(&switch(103), &world.facts(true)).is_ok());
    assert!(refused(switch(101), &world).contains("already"));
    assert!(refused(switch(105), &world).contains("no member"));
    assert!(refused(declare(999, Consistency::Good), &world).contains("no target 999"));
    assert!(refused(Action::CancelMoves, &world).contains("no slot"));
    assert!(refused(Action::StopResync { group: GroupId(77), stopped: true }, &world).contains("no mirror group 77"));
    lose(&mut world, 7);
    assert!(refused(switch(103), &world).contains("not online"));
    world.map.groups[2].states[1] = MemberState::Bad;
    let bad = Action::Switch { group: GroupId(3), target: TargetId(102) };
    assert!(refused(bad, &world).contains("bad"));
}

#[test]
fn stopping_resync_says_what_is_given_up() {
    let world = resyncing();
    let stop = Action::StopResync { group: GroupId(2), stopped: true };
    let asked = consequences(&stop, &world.facts(true)).unwrap();
    assert!(asked.will.iter().any(|will| will.contains("Resync of target 101 is given up")), "{asked:?}");
    assert!(asked.warning.is_some());
}
