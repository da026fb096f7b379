// SPDX-License-Identifier: Apache-2.0

//! Slots change hands as the rules say, and the ranges stay whole.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const A: TargetId = TargetId(1);
const B: TargetId = TargetId(2);
const C: TargetId = TargetId(3);

fn range(first: u16, count: u16, target: TargetId) -> SlotRange {
    SlotRange { first: Slot(first), count, target }
}

fn cluster() -> ClusterState {
    ClusterState { slots: vec![range(0, 4, A), range(4, 4, B), range(8, 4, C)], ..ClusterState::default() }
}

fn owners(state: &ClusterState) -> BTreeMap<u16, TargetId> {
    let each = |range: &SlotRange| (0..range.count).map(|at| (range.first.0 + at, range.target)).collect::<Vec<_>>();
    state.slots.iter().flat_map(each).collect()
}

fn move_now(state: &mut ClusterState, slot: u16) {
    let ordered = state.moves.iter().find(|moving| moving.slot == Slot(slot)).unwrap().attempt;
    begin_move(state, Slot(slot), ordered, 1).unwrap();
    let attempt = state.last_move;
    complete_move(state, Slot(slot), attempt).unwrap();
}

#[test]
fn a_slot_changes_hands_only_at_the_end_of_its_present_attempt() {
    let mut state = cluster();
    move_slots(&mut state, &[Slot(1)], B).unwrap();
    assert!(move_slots(&mut state, &[Slot(1)], B).unwrap().is_empty(), "repeated");
    assert!(move_slots(&mut state, &[Slot(1)], C).is_err(), "on its way elsewhere");
    assert!(complete_move(&mut state, Slot(1), 1).is_err(), "not begun");
    begin_move(&mut state, Slot(1), 1, 7).unwrap();
    assert!(begin_move(&mut state, Slot(1), 1, 7).is_err(), "repeated, late");
    begin_move(&mut state, Slot(1), 2, 9).unwrap();
    assert!(complete_move(&mut state, Slot(1), 2).is_err(), "what the replaced run copied");
    assert!(begin_move(&mut state, Slot(1), 3, 7).is_err(), "the replaced run");
    assert_eq!(owners(&state)[&1], A);
    complete_move(&mut state, Slot(1), 3).unwrap();
    assert_eq!(state.slots, [range(0, 1, A), range(1, 1, B), range(2, 2, A), range(4, 4, B), range(8, 4, C)]);
    assert!(state.moves.is_empty() && complete_move(&mut state, Slot(1), 3).is_err());
    move_slots(&mut state, &[Slot(1)], A).unwrap();
    assert!(begin_move(&mut state, Slot(1), 1, 9).is_err(), "of the move before");
    move_now(&mut state, 1);
    assert_eq!(state.slots, cluster().slots, "back, and the ranges are joined");
}

#[test]
fn a_server_without_slots_is_remembered_until_it_is_removed_or_gets_some() {
    let mut state = cluster();
    move_slots(&mut state, &[4, 5, 6, 7].map(Slot), A).unwrap();
    let staying = |server| super::staying(&state.slots, &state.moves, server);
    assert_eq!((staying(B), staying(A)), (vec![], vec![range(0, 4, A)]));
    for slot in 4..8 {
        move_now(&mut state, slot);
    }
    assert_eq!((&state.slots[..], &state.emptied[..]), (&[range(0, 8, A), range(8, 4, C)][..], &[B][..]));
    assert!(
        move_slots(&mut state, &[Slot(99)], A).is_err() && move_slots(&mut state, &[Slot(0)], TargetId(9)).is_err()
    );
    move_slots(&mut state, &[Slot(0), Slot(5)], B).unwrap();
    cancel_moves(&mut state, &[Slot(5)]).unwrap();
    let last = state.last_move;
    assert!(begin_move(&mut state, Slot(5), last, 1).is_err(), "given up");
    move_now(&mut state, 0);
    assert!(state.emptied.is_empty());
}

proptest! {
    /// Whatever is ordered: ranges are in order and without overlap, no slot is lost, and only the one that was moved changes.
    #[test]
    fn ranges_stay_whole(steps in prop::collection::vec((0_u16..12, 1_u16..=3), 1..60)) {
        let mut state = cluster();
        for (slot, to) in steps {
            let mut expected = owners(&state);
            expected.insert(slot, TargetId(to));
            if move_slots(&mut state, &[Slot(slot)], TargetId(to)).unwrap().is_empty() {
                continue;
            }
            move_now(&mut state, slot);
            prop_assert_eq!(owners(&state), expected);
            let ends = |pair: &[SlotRange]| {
                pair[0].first.0 + pair[0].count <= pair[1].first.0 && (pair[0].target != pair[1].target || pair[0].first.0 + pair[0].count < pair[1].first.0)
            };
            prop_assert!(state.slots.windows(2).all(ends), "{:?}", state.slots);
        }
    }
}
