// SPDX-License-Identifier: Apache-2.0

//! Automatic groups, by what may be in the way of them.

use super::*;
use crate::{Command, NewTarget, RegisterNode, Trigger};
use nyala_wire::map::{Role, Settings};
use nyala_wire::{ClusterId, GroupId};
use proptest::prelude::*;

/// A cluster whose nodes have targets of these sizes; ids are 101, 102, … in this order.
fn cluster(nodes: &[Vec<u64>]) -> (ClusterState, BTreeMap<TargetId, u64>) {
    let mut state = ClusterState::default();
    state.apply(Command::Init { cluster: ClusterId([9; 16]), settings: Settings::default() }).unwrap();
    let (mut sizes, mut next) = (BTreeMap::new(), 101_u16);
    for (at, targets) in nodes.iter().enumerate().filter(|(_, targets)| !targets.is_empty()) {
        let mut new = Vec::new();
        for bytes in targets {
            sizes.insert(TargetId(next), *bytes);
            let uuid = ClusterId([next as u8; 16]);
            new.push(NewTarget {
                uuid,
                id: TargetId(next),
                alias: String::new(),
                kind: TargetKind::Storage,
                losses: 0,
                spare: false,
            });
            next += 1;
        }
        let register = RegisterNode {
            cluster: ClusterId::UNKNOWN,
            role: Role::Storage,
            uuid: ClusterId([200 + at as u8; 16]),
            alias: String::new(),
            addresses: vec![([10, 0, 0, at as u8], 8003).into()],
            incarnation: 1,
            targets: new,
        };
        state.apply(Command::RegisterNode(register)).unwrap();
    }
    (state, sizes)
}

const REQUEST: GroupRequest =
    GroupRequest { kind: TargetKind::Storage, members: 2, ignore_space: false, ignore_uneven: false };

fn ids(groups: &[Vec<TargetId>]) -> Vec<Vec<u16>> {
    groups.iter().map(|group| group.iter().map(|t| t.0).collect()).collect()
}

fn refused(nodes: &[Vec<u64>], request: GroupRequest) -> String {
    let (state, sizes) = cluster(nodes);
    plan_groups(&state, &request, &sizes).unwrap_err().to_string()
}

#[test]
fn members_are_on_different_nodes_and_primaries_dealt_out() {
    let (state, sizes) = cluster(&[vec![100; 2], vec![100; 2]]);
    assert_eq!(ids(&plan_groups(&state, &REQUEST, &sizes).unwrap()), [[101, 103], [104, 102]]);
    let (state, sizes) = cluster(&[vec![100], vec![100], vec![100]]);
    let three = GroupRequest { members: 3, ..REQUEST };
    assert_eq!(ids(&plan_groups(&state, &three, &sizes).unwrap()), [[101, 102, 103]]);
}

#[test]
fn sizes_find_each_other() {
    let (state, sizes) = cluster(&[vec![500, 100], vec![100, 500]]);
    assert_eq!(ids(&plan_groups(&state, &REQUEST, &sizes).unwrap()), [[101, 104], [103, 102]]);
    assert!(refused(&[vec![100], vec![200]], REQUEST).contains("differ in size"));
    let (state, sizes) = cluster(&[vec![100], vec![200]]);
    let careless = GroupRequest { ignore_space: true, ..REQUEST };
    assert_eq!(plan_groups(&state, &careless, &sizes).unwrap().len(), 1);
    assert_eq!(plan_groups(&state, &careless, &BTreeMap::new()).unwrap().len(), 1, "then nobody has to know them");
    assert!(plan_groups(&state, &REQUEST, &BTreeMap::new()).unwrap_err().to_string().contains("not known yet"));
}

#[test]
fn what_is_left_over_is_said() {
    assert!(refused(&[vec![1, 1, 1], vec![1]], REQUEST).contains("do not make whole groups"));
    assert!(refused(&[vec![1], vec![1], vec![1]], REQUEST).contains("do not make whole groups"));
    assert!(refused(&[], REQUEST).contains("no free"));
    assert!(refused(&[vec![1], vec![1]], GroupRequest { members: 1, ..REQUEST }).contains("2 to 4"));
    let (state, sizes) = cluster(&[vec![1, 9, 9], vec![9]]);
    let groups = plan_groups(&state, &GroupRequest { ignore_uneven: true, ..REQUEST }, &sizes).unwrap();
    assert_eq!(ids(&groups), [[102, 104]], "the largest that have partners");
}

#[test]
fn targets_in_groups_stay_there_and_bad_ones_are_named() {
    let (mut state, sizes) = cluster(&[vec![9; 2], vec![9; 2]]);
    let members = vec![TargetId(101), TargetId(103)];
    state.apply(Command::CreateGroup { group: GroupId(0), kind: TargetKind::Storage, members }).unwrap();
    assert_eq!(ids(&plan_groups(&state, &REQUEST, &sizes).unwrap()), [[104, 102]], "node 1 has a primary already");
    state.apply(Command::SetConsistency { target: TargetId(104), trigger: Trigger::DeclaredBad }).unwrap();
    assert!(plan_groups(&state, &REQUEST, &sizes).unwrap_err().to_string().contains("target 104"));
}

proptest! {
    /// Whatever there is: groups are whole, of different nodes, no target twice, none left over unless allowed.
    #[test]
    fn groups_are_sound(
        counts in prop::collection::vec(prop::collection::vec(1_u64..4, 0..6), 1..7),
        members in 2_usize..=4,
        ignore_uneven: bool,
    ) {
        let (state, sizes) = cluster(&counts);
        let request = GroupRequest { members, ignore_uneven, ignore_space: true, ..REQUEST };
        let total: usize = counts.iter().map(Vec::len).sum();
        let fullest = counts.iter().map(Vec::len).max().unwrap_or(0);
        let even = total > 0 && total.is_multiple_of(members) && fullest <= total / members;
        match plan_groups(&state, &request, &sizes) {
            Ok(groups) => {
                let mut all: Vec<TargetId> = groups.concat();
                prop_assert!(even || ignore_uneven);
                prop_assert!(!even || all.len() == total, "nothing is left over needlessly");
                for group in &groups {
                    let mut nodes: Vec<_> = group.iter().map(|t| state.target(*t).unwrap().node).collect();
                    nodes.sort_unstable();
                    nodes.dedup();
                    prop_assert_eq!(nodes.len(), members);
                }
                all.sort_unstable();
                all.dedup();
                prop_assert_eq!(all.len(), groups.len() * members);
            }
            Err(_) => prop_assert!(!even),
        }
    }
}
