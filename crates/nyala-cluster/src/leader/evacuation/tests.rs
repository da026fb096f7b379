// SPDX-License-Identifier: Apache-2.0

//! When a target is called failing, and how a mirror group gets rid of a member whose disk fails.

use super::*;
use crate::{NewTarget, RegisterNode};
use nyala_wire::map::{Role, Settings};
use nyala_wire::{ClusterId, GroupId, PoolId};

const TB: u64 = 1 << 40;
const BAD: TargetId = TargetId(101);

fn cluster(nodes: u8) -> ClusterState {
    let cluster = ClusterId([5; 16]);
    let mut state = ClusterState::default();
    state.apply(Command::Init { cluster, settings: Settings::default() }).unwrap();
    for n in 1..=nodes {
        let target = NewTarget {
            uuid: ClusterId([100 + n; 16]),
            id: TargetId(0),
            alias: String::new(),
            kind: TargetKind::Storage,
            losses: 0,
            spare: false,
        };
        let register = RegisterNode {
            cluster,
            role: Role::Storage,
            uuid: ClusterId([n; 16]),
            alias: String::new(),
            addresses: vec![([10, 0, 0, n], 8003).into()],
            incarnation: 1,
            targets: vec![target],
        };
        state.apply(Command::RegisterNode(register)).unwrap();
    }
    state
}

/// Targets 101 and 102 mirror each other.
fn mirrored(nodes: u8) -> ClusterState {
    let mut state = cluster(nodes);
    let members = vec![BAD, TargetId(102)];
    state.apply(Command::CreateGroup { group: GroupId(0), kind: TargetKind::Storage, members }).unwrap();
    state.apply(Command::CallFailing { target: BAD, errors: 70 }).unwrap();
    state
}

/// All targets have said what they hold.
struct Heard(Evacuation, BTreeMap<TargetId, Capacity>);

impl Heard {
    /// Those beyond 102 hold nothing.
    fn of(state: &ClusterState) -> Heard {
        let mut heard = Heard(Evacuation::default(), BTreeMap::new());
        for target in &state.targets {
            let data_bytes = if target.id.0 > 102 { 0 } else { TB / 2 };
            heard.says(target.id, TB, data_bytes);
        }
        heard
    }

    fn says(&mut self, target: TargetId, free_bytes: u64, data_bytes: u64) {
        let capacity = Capacity { total_bytes: 2 * TB, free_bytes, ..Capacity::default() };
        self.0.reported(&TargetCapacity { data_bytes: Some(data_bytes), ..TargetCapacity::new(target, capacity) });
        self.1.insert(target, capacity);
    }

    fn due(&self, state: &ClusterState) -> Vec<Command> {
        self.0.due(state, &self.1)
    }
}

fn errors(total: u64, recent: u64, limit: u64) -> TargetCapacity {
    let errors = Some(DiskErrors { total, recent, limit });
    TargetCapacity { errors, ..TargetCapacity::new(BAD, Capacity::default()) }
}

#[test]
fn a_target_fails_when_recent_errors_that_nobody_forgave_reach_the_limit() {
    let mut state = cluster(1);
    let due = |state: &ClusterState, total, recent, limit| {
        let mut heard = Evacuation::default();
        heard.reported(&errors(total, recent, limit));
        heard.due(state, &BTreeMap::new())
    };
    let call = |errors| vec![Command::CallFailing { target: BAD, errors }];
    assert_eq!((due(&state, 63, 63, 64), due(&state, 99, 63, 64)), (vec![], vec![]), "old ones do not count");
    assert_eq!((due(&state, 64, 64, 64), due(&state, 64, 64, 0)), (call(64), vec![]), "0: never");
    state.apply(Command::CallFailing { target: BAD, errors: 64 }).unwrap();
    assert_eq!(due(&state, 99, 99, 64), [], "once");
    state.apply(Command::Forgive { target: BAD, errors: 99 }).unwrap();
    assert_eq!((due(&state, 162, 162, 64), due(&state, 163, 163, 64)), (vec![], call(163)), "new ones count");
    let gone = ClusterState { targets: Vec::new(), ..state };
    assert_eq!(due(&gone, 999, 999, 64), []);
}

#[test]
fn a_member_leaves_its_group_when_another_target_holds_everything() {
    let mut state = mirrored(3);
    let heard = Heard::of(&state);
    let (group, by) = (GroupId(1), TargetId(103));
    let step = |expected: fn(&Command) -> bool, state: &mut ClusterState| {
        let due = heard.due(state);
        assert!(due.len() == 1 && expected(&due[0]), "{due:?}");
        state.apply(due[0].clone()).unwrap();
    };
    step(|command| matches!(command, Command::Failover(to) if to.target.0 == 102), &mut state);
    step(|command| matches!(command, Command::ReplaceFailing { by: TargetId(103), .. }), &mut state);
    assert_eq!((heard.due(&state), state.failing(BAD).unwrap().replacement), (vec![], Some(by)), "it is filled");
    let at = |state: &ClusterState, target| MemberAt { group, epoch: state.group(group).unwrap().epoch, target };
    state.apply(Command::Fenced(at(&state, BAD))).unwrap();
    state.apply(Command::StartResync(at(&state, by))).unwrap();
    assert_eq!((heard.due(&state), state.group(group).unwrap().state(BAD)), (vec![], Some(MemberState::Good)));
    state.apply(Command::MemberResynced(at(&state, by))).unwrap();
    step(
        |command| matches!(command, Command::SetConsistency { target: BAD, trigger: Trigger::DeclaredStale }),
        &mut state,
    );
    assert_eq!(heard.due(&state), [], "it does not know yet that it has lost its rights");
    assert!(state.apply(Command::StartResync(at(&state, BAD))).is_err(), "it is not filled again");
    state.apply(Command::Fenced(at(&state, BAD))).unwrap();
    assert!(state.apply(Command::StartResync(at(&state, BAD))).is_err());
    step(|command| matches!(command, Command::RemoveMember { target: BAD, .. }), &mut state);
    assert_eq!((heard.due(&state), state.group(group).unwrap().members.clone()), (vec![], vec![TargetId(102), by]));
    assert_eq!(state.target(BAD).unwrap().state.consistency, Consistency::Good, "its other files are read from it");
}

#[test]
fn the_last_good_member_stays_until_it_is_copied() {
    let mut state = mirrored(3);
    let epoch = state.group(GroupId(1)).unwrap().epoch;
    let lost = MemberAt { group: GroupId(1), epoch, target: TargetId(102) };
    state.apply(Command::MarkNeedsResync { member: lost, by: BAD }).unwrap();
    let due = Heard::of(&state).due(&state);
    assert_eq!(due, [Command::ReplaceFailing { group: GroupId(1), target: BAD, by: TargetId(103) }]);
    state.apply(due[0].clone()).unwrap();
    assert_eq!(Heard::of(&state).due(&state), []);
}

#[test]
fn only_an_empty_target_elsewhere_with_room_takes_the_place() {
    let mut state = mirrored(5);
    state.apply(Heard::of(&state).due(&state)[0].clone()).unwrap();
    let by = |state: &ClusterState, heard: &Heard| match heard.due(state).as_slice() {
        [Command::ReplaceFailing { by, .. }] => Some(by.0),
        [] => None,
        other => panic!("{other:?}"),
    };
    let mut heard = Heard::of(&state);
    assert_eq!(by(&state, &heard), Some(103));
    heard.says(TargetId(104), 2 * TB, 0);
    assert_eq!(by(&state, &heard), Some(104), "most room");
    heard.says(TargetId(104), 2 * TB, 4096);
    assert_eq!(by(&state, &heard), Some(103), "without data");
    heard.says(TargetId(103), TB / 2, 0);
    assert_eq!(by(&state, &heard), Some(105), "with room");
    let record = |state: &ClusterState, change: fn(&mut TargetRecord)| {
        let mut changed = state.clone();
        change(changed.target_mut(TargetId(105)).unwrap());
        changed
    };
    let unfit: [fn(&mut TargetRecord); 5] = [
        |target| target.pool = PoolId(9),
        |target| target.state.reachability = Reachability::ProbablyOffline,
        |target| target.state.consistency = Consistency::NeedsResync,
        |target| target.capacity_pool = CapacityPool::Emergency,
        |target| target.node = nyala_wire::NodeId(2),
    ];
    unfit.iter().for_each(|change| assert_eq!(by(&record(&state, *change), &heard), None));
    assert_eq!(by(&record(&state, |target| target.node = nyala_wire::NodeId(1)), &heard), Some(105), "its own host");
    assert_eq!(by(&state, &Heard(Evacuation::default(), heard.1.clone())), None, "nobody said that it is empty");
    state.apply(Command::CallFailing { target: TargetId(105), errors: 9 }).unwrap();
    assert_eq!(by(&state, &heard), None);
}
