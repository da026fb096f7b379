// SPDX-License-Identifier: Apache-2.0

//! Which logs and tables need a look.

use super::super::finding::About;
use super::super::tests::{map, node};
use super::*;
use nyala_wire::map::Role;
use nyala_wire::{NodeId, TargetId};

fn said(node_id: u32, counters: &[(&str, u64)]) -> Vec<Finding> {
    let counters: Vec<_> = counters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let mut map = map(false);
    map.nodes.push(node(9, Role::Mgmt));
    let probe = Probe { node: NodeId(node_id), stores: StoreCondition::among(&counters), ..Probe::default() };
    let mut all = Vec::new();
    check(&map, &[probe], &mut all);
    all
}

#[test]
fn a_full_disk_a_checkpoint_without_room_and_a_log_that_stopped_are_said() {
    let well = [("store.1.free_bytes", 5 << 20), ("store.1.total_bytes", 64 << 20), ("store.1.must_not_grow", 0)];
    let storage = [("store.101.free_bytes", 5 << 20), ("store.101.total_bytes", 64 << 20)];
    assert_eq!(said(2, &storage), [], "little room is what the limits of storage targets are about");
    let little = said(1, &well);
    assert!(little.len() == 1 && little[0].what.contains("of meta target 1 (t1) is nearly full (5 MiB are free)"));
    assert!(little[0].advice.ends_with("before new names are refused."), "{}", little[0].advice);
    for (counter, words) in [
        ("store.1.must_not_grow", "the disk of the log and tables of meta target 1 (t1) is full (5 MiB are free)"),
        ("store.1.checkpoint_fails", "checkpoints of the tables of meta target 1 (t1) find no room (5 MiB are free)"),
        ("store.1.damaged_places", "the tables of meta target 1 (t1) are damaged in 1 place"),
        ("store.1.stopped", "the log of meta target 1 (t1) has stopped after a write or sync that failed"),
    ] {
        let all = said(1, &[well[0], well[1], (counter, 1)]);
        assert_eq!((all.len(), all[0].about, all[0].what.as_str()), (1, About::Target(TargetId(1)), words));
        assert!(all[0].advice.contains("10.0.0.1") && all[0].advice.ends_with('.'), "{}", all[0].advice);
    }
}

#[test]
fn the_directory_of_a_management_node_is_said_before_it_is_full() {
    let with = |free: u64, total: u64| said(9, &[("store.own.free_bytes", free), ("store.own.total_bytes", total)]);
    assert_eq!((with(7 << 20, 64 << 20), with(600 << 20, 1 << 40)), (vec![], vec![]));
    for (free, total) in [(6 << 20, 64 << 20), (500 << 20, 1 << 40)] {
        let all = with(free, total);
        assert_eq!((all.len(), all[0].about), (1, About::Node(NodeId(9))));
        assert!(all[0].what.contains("of mgmt node n9 [ID: 9] is nearly full"), "{}", all[0].what);
    }
    assert_eq!(said(9, &[("store.own.free_bytes.odd", 0), ("store.x.free_bytes", 0), ("store.own", 1)]), []);
}
