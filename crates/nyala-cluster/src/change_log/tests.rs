// SPDX-License-Identifier: Apache-2.0

//! What is noted of changes.

use super::*;
use crate::{NewTarget, RegisterNode};
use nyala_wire::map::{Reachability, Role, Settings, TargetKind};
use nyala_wire::{ClusterId, GroupId, TargetId};

/// Applies and notes.
fn apply(state: &mut ClusterState, log: &mut ChangeLog, at_ms: u64, command: Command) {
    let before = state.clone();
    let events = state.apply(command.clone()).unwrap();
    log.note(Some(at_ms), &before, &command, &events, state);
}

fn register(n: u8) -> Command {
    let target = NewTarget {
        uuid: ClusterId([100 + n; 16]),
        id: TargetId(100 + u16::from(n)),
        alias: String::new(),
        kind: TargetKind::Storage,
        losses: 0,
        spare: false,
    };
    Command::RegisterNode(RegisterNode {
        cluster: ClusterId([1; 16]),
        role: Role::Storage,
        uuid: ClusterId([n; 16]),
        alias: format!("s{n}"),
        addresses: vec![([10, 0, 0, n], 8003).into()],
        incarnation: 7,
        targets: vec![target],
    })
}

fn cluster() -> (ClusterState, ChangeLog) {
    let (mut state, mut log) = (ClusterState::default(), ChangeLog::default());
    apply(&mut state, &mut log, 1, Command::Init { cluster: ClusterId([1; 16]), settings: Settings::default() });
    [11, 12].into_iter().for_each(|n| apply(&mut state, &mut log, 2, register(n)));
    let members = vec![TargetId(111), TargetId(112)];
    let create = Command::CreateGroup { group: GroupId(0), kind: TargetKind::Storage, members };
    apply(&mut state, &mut log, 3, create);
    (state, log)
}

fn newest(log: &ChangeLog, count: usize) -> Vec<(Mood, &str, &str)> {
    log.newest().take(count).map(|change| (change.mood, change.what.as_str(), change.why.as_str())).collect()
}

#[test]
fn a_failover_says_who_is_primary_and_why() {
    let (mut state, mut log) = cluster();
    let node = state.target(TargetId(111)).unwrap().node;
    let lost = Command::SetReachability { node, incarnation: 7, reachability: Reachability::Offline };
    apply(&mut state, &mut log, 9, lost);
    let said = newest(&log, 3);
    let name = format!("storage node s11 ({node})");
    let why = format!("the lease of {name} ended: it stopped, crashed or was not heard");
    let primary = said.iter().find(|(_, what, _)| what.contains("primary")).unwrap();
    assert!(primary.1.ends_with("is primary of mirror group 1, after 111"), "{said:?}");
    assert_eq!(primary.2, why);
    assert!(said.iter().any(|(mood, what, _)| *mood == Mood::Worse && *what == format!("{name} is offline")));
    assert!(log.newest().next().unwrap().at_ms == Some(9));
}

#[test]
fn what_changes_nothing_is_not_noted_and_the_list_is_bounded() {
    let (mut state, mut log) = cluster();
    let count = log.newest().count();
    let node = state.target(TargetId(111)).unwrap().node;
    let set = |reachability| Command::SetReachability { node, incarnation: 7, reachability };
    apply(&mut state, &mut log, 4, set(Reachability::Online));
    assert_eq!(log.newest().count(), count);
    for n in 0..MOST_CHANGES as u64 {
        apply(&mut state, &mut log, n, set(Reachability::ProbablyOffline));
        apply(&mut state, &mut log, n, set(Reachability::Online));
    }
    assert_eq!(log.newest().count(), MOST_CHANGES);
}
