// SPDX-License-Identifier: Apache-2.0

//! Servers join, leave, flap and are drained; leaders change; operators have the last word.

use super::super::LeaderState;
use super::*;
use crate::{NewTarget, RegisterNode};
use nyala_wire::map::{Reachability, Role, Settings, TargetKind};
use nyala_wire::mgmt::{Capacity, Heartbeat, TargetCapacity};
use nyala_wire::{ClusterId, NodeId};

const SETTLE: u64 = 60_000;
const A: TargetId = TargetId(1);
const B: TargetId = TargetId(2);
const C: TargetId = TargetId(3);

/// A cluster and its leader, at a time.
struct World {
    state: ClusterState,
    leader: LeaderState,
    now_ms: u64,
}

impl World {
    fn new() -> World {
        let cluster = ClusterId([5; 16]);
        let mut state = ClusterState::default();
        state.apply(Command::Init { cluster, settings: Settings::default() }).unwrap();
        World { state, leader: LeaderState::new(1, 0), now_ms: 0 }
    }

    /// One server with files, which the leader has noted, and a second one.
    fn joined() -> World {
        let mut world = World::new();
        world.register(1);
        world.has(A, 64_000);
        assert_eq!(world.look(), [Command::PlanMoves { to: A, slots: Vec::new() }]);
        world.register(2);
        world.has(B, 0);
        world
    }

    /// The same, with the plan made: half of what the first one has, but for the root.
    fn planned() -> World {
        let mut world = World::joined();
        world.now_ms += SETTLE;
        world.look();
        world.pass(SETTLE);
        assert_eq!(world.plan(B).len(), 32);
        world
    }

    fn register(&mut self, number: u8) {
        let target = NewTarget {
            uuid: ClusterId([100 + number; 16]),
            id: TargetId(0),
            alias: String::new(),
            kind: TargetKind::Meta,
            losses: 0,
            spare: false,
        };
        let register = RegisterNode {
            cluster: self.state.cluster,
            role: Role::Meta,
            uuid: ClusterId([number; 16]),
            alias: String::new(),
            addresses: vec![([10, 0, 0, number], 8005).into()],
            incarnation: 1,
            targets: vec![target],
        };
        self.state.apply(Command::RegisterNode(register)).unwrap();
    }

    fn has(&mut self, target: TargetId, inodes: u64) {
        let capacity = TargetCapacity { inodes: Some(inodes), ..TargetCapacity::new(target, Capacity::default()) };
        let (node, map_version) = (self.state.target(target).unwrap().node, self.state.version);
        let beat = Heartbeat { node, incarnation: 1, map_version, capacities: vec![capacity] };
        self.leader.heartbeat(&self.state, &beat, 1, self.now_ms);
    }

    fn is(&mut self, node: u32, reachability: Reachability) {
        self.apply(Command::SetReachability { node: NodeId(node), incarnation: 1, reachability });
    }

    fn apply(&mut self, command: Command) {
        self.state.apply(command).unwrap();
    }

    /// What the leader does now; it is applied.
    fn look(&mut self) -> Vec<Command> {
        let due = self.leader.rebalance(&self.state, self.now_ms);
        due.iter().for_each(|command| self.apply(command.clone()));
        due
    }

    /// Lets time pass, with looks in between; what was done.
    fn pass(&mut self, ms: u64) -> Vec<Command> {
        let until_ms = self.now_ms + ms;
        let mut done = Vec::new();
        while self.now_ms < until_ms {
            self.now_ms = until_ms.min(self.now_ms + 100);
            done.extend(self.look());
        }
        done
    }

    fn plan(&self, to: TargetId) -> Vec<Slot> {
        self.state.planned.iter().filter(|plan| plan.to == to).flat_map(|plan| plan.slots.clone()).collect()
    }

    /// What is on its way arrives.
    fn arrive(&mut self) {
        for moving in self.state.moves.clone() {
            self.apply(Command::BeginMove { slot: moving.slot, after: moving.attempt, run: 1 });
            let attempt = self.state.last_move;
            self.apply(Command::CompleteMove { slot: moving.slot, attempt });
        }
    }

    fn slots(&self, server: TargetId) -> u32 {
        self.state.slots.iter().filter(|range| range.target == server).map(|range| u32::from(range.count)).sum()
    }
}

#[test]
fn a_server_that_joins_gets_its_share_once_and_slowly() {
    let mut world = World::joined();
    assert_eq!(world.pass(SETTLE - 100), []);
    let done = world.pass(200);
    assert!(
        matches!(&done[..], [Command::PlanMoves { to: B, slots }] if slots.len() == 32 && !slots.contains(&Slot(0)))
    );
    let mut turns = 0;
    while !world.state.planned.is_empty() {
        let done = world.pass(1000);
        assert!(matches!(&done[..], [Command::ReleaseMoves { to: B, slots }] if slots.len() == 1), "{done:?}");
        assert_eq!(world.pass(5000), [], "one at a time");
        world.arrive();
        assert!(world.pass(900).is_empty(), "a pause");
        turns += 1;
    }
    assert_eq!((turns, world.slots(A), world.slots(B)), (32, 32, 96));
    // Whatever happens to its share afterwards.
    world.has(A, 1_000_000);
    assert_eq!(world.pass(10 * SETTLE), []);
}

#[test]
fn several_set_out_together_if_that_is_set() {
    let mut world = World::planned();
    let mut settings = world.state.settings.clone();
    settings.rebalance.at_once = 5;
    world.apply(Command::SetSettings(settings.clone()));
    world.pass(2000);
    assert_eq!(world.state.moves.len(), 5);
    settings.rebalance.at_once = 0;
    assert!(world.state.apply(Command::SetSettings(settings)).is_err());
}

#[test]
fn one_that_flaps_is_not_filled_and_a_plan_waits_for_its_server() {
    let mut world = World::joined();
    for _ in 0..5 {
        assert_eq!(world.pass(SETTLE - 1000), []);
        world.is(2, Reachability::Offline);
        world.pass(100);
        world.is(2, Reachability::Online);
    }
    world.pass(SETTLE + 200);
    assert!(!world.state.planned.is_empty());
    world.is(2, Reachability::Offline);
    let before = world.state.moves.clone();
    world.pass(SETTLE);
    assert_eq!(world.state.moves, before);
    world.is(2, Reachability::Online);
    world.arrive();
    assert!(!world.pass(1100).is_empty());
}

#[test]
fn a_new_leader_waits_again_and_goes_on_with_a_plan() {
    let mut world = World::joined();
    world.pass(SETTLE - 1000);
    world.leader = LeaderState::new(2, world.now_ms);
    assert_eq!(world.pass(2 * SETTLE), [], "it has heard nobody");
    world.has(A, 64_000);
    assert_eq!(world.pass(SETTLE), [], "nobody says what the new one has");
    world.has(B, 0);
    assert_eq!(world.pass(100).len(), 1);
    world.leader = LeaderState::new(3, world.now_ms);
    let due = world.pass(2000);
    assert!(matches!(&due[..], [Command::ReleaseMoves { to: B, .. }]), "{due:?}");
}

#[test]
fn what_is_on_its_way_and_what_is_off_comes_first() {
    let mut world = World::joined();
    let mut off = world.state.settings.clone();
    off.rebalance.automatic = false;
    let on = world.state.settings.clone();
    world.apply(Command::SetSettings(off.clone()));
    assert_eq!(world.pass(2 * SETTLE), []);
    world.apply(Command::SetSettings(on.clone()));
    assert_eq!(world.pass(100).len(), 1, "it has been good for long");
    world.apply(Command::SetSettings(off));
    assert_eq!(world.pass(SETTLE), []);
    world.apply(Command::SetSettings(on));
    assert_eq!(world.pass(100).len(), 1);

    let mut world = World::joined();
    world.register(3);
    world.has(C, 0);
    world.apply(Command::MoveSlots { slots: vec![Slot(5)], to: C });
    assert_eq!(world.pass(2 * SETTLE), [], "an operator's move is on its way");
    world.arrive();
    assert_eq!(world.pass(SETTLE - 100), []);
    let done = world.pass(200);
    assert!(matches!(&done[..], [Command::PlanMoves { to: B, .. }, ..]), "the operator saw to the third one: {done:?}");
}

#[test]
fn what_an_operator_cancels_is_not_begun_again_until_another_server_joins() {
    let mut world = World::planned();
    world.pass(1000);
    assert_eq!(world.state.moves.len(), 1);
    world.apply(Command::CancelMoves { slots: Vec::new() });
    assert!(world.state.moves.is_empty() && world.state.planned.is_empty());
    assert_eq!(world.pass(5 * SETTLE), []);
    world.register(3);
    world.has(C, 0);
    world.pass(SETTLE + 200);
    assert!(world.plan(B).is_empty() && !world.plan(C).is_empty());

    // Also before anything was planned.
    let mut world = World::joined();
    world.apply(Command::CancelMoves { slots: Vec::new() });
    assert_eq!(world.pass(5 * SETTLE), []);
    // And one of many.
    let mut world = World::planned();
    world.pass(1000);
    let slot = world.state.moves[0].slot;
    world.apply(Command::CancelMoves { slots: vec![slot] });
    assert!(world.state.planned.is_empty() && world.state.moves.is_empty());
}

#[test]
fn a_server_that_is_drained_is_never_filled() {
    let own = || (64..128).map(Slot).collect::<Vec<_>>();
    for (settle, begun) in [(0, false), (SETTLE, false), (SETTLE, true)] {
        let mut world = World::joined();
        world.pass(settle + 100);
        if begun {
            world.pass(1000);
            assert_eq!(world.state.moves.len(), 1);
        }
        world.apply(Command::MoveSlots { slots: own(), to: A });
        assert!(world.state.planned.is_empty() && world.state.moves.iter().all(|moving| moving.to == A));
        assert_eq!(world.pass(2 * SETTLE), []);
        world.arrive();
        assert_eq!((&world.state.emptied[..], world.slots(B)), (&[B][..], 0));
        assert_eq!(world.pass(5 * SETTLE), []);
        // A third one gets its share from the first one alone.
        world.register(3);
        world.has(C, 0);
        world.pass(SETTLE + 200);
        assert!(!world.plan(C).is_empty() && world.plan(B).is_empty());
    }
}

#[test]
fn servers_of_a_young_or_an_even_cluster_are_left_alone() {
    let mut world = World::new();
    (1..=3).for_each(|number| world.register(number));
    [A, B, C].into_iter().for_each(|server| world.has(server, 900));
    world.has(B, 0);
    assert_eq!(world.pass(5 * SETTLE), []);
    [A, B, C].into_iter().for_each(|server| world.has(server, 5000));
    world.has(B, 2600);
    assert_eq!(world.pass(100).len(), 3, "each has its share");
    world.has(B, 0);
    assert_eq!(world.pass(5 * SETTLE), [], "what was removed is no reason to move anything");
}

#[test]
fn a_removed_server_takes_its_plan_along_and_what_went_elsewhere_stays_there() {
    let mut world = World::planned();
    let slots = world.plan(B);
    world.register(3);
    world.apply(Command::MoveSlots { slots: slots[..2].to_vec(), to: C });
    assert_eq!(world.plan(B).len(), 30);
    // A late release of another leader.
    world.apply(Command::ReleaseMoves { to: B, slots: slots[..3].to_vec() });
    assert!(world.state.moves.iter().filter(|moving| moving.to == B).all(|moving| moving.slot == slots[2]));
    assert!(world.state.apply(Command::PlanMoves { to: B, slots }).unwrap().is_empty(), "one plan in its life");
    assert!(world.state.apply(Command::PlanMoves { to: TargetId(9), slots: Vec::new() }).is_err());
}
