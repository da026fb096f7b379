// SPDX-License-Identifier: Apache-2.0

//! Rows of a slot that is on its way here say nothing of what is to be done: the server that serves the slot does it.

use crate::machine::{Machine, map_of};
use nyala_kv::Batch;
use nyala_namespace::keys;
use nyala_namespace::records::{TakenRecord, TruncateRecord};
use nyala_namespace::server::io::{Input, Tables};
use nyala_namespace::server::memory::MemTables;
use nyala_namespace::view::View;
use nyala_wire::map::ClusterMap;
use nyala_wire::*;
use std::sync::Arc;

const ME: TargetId = TargetId(1);
const OTHERS: InodeId = InodeId(1 << 48 | 5);

fn truncation(batch: &mut Batch) {
    let layout =
        Layout { pattern: Pattern::Raid0, chunk_bytes: 65_536, targets: vec![TargetId(101)], moves: 0, code: None };
    let record = TruncateRecord { layout, size: 0, session: None, sequence: None };
    batch.put(keys::truncate(OTHERS), codec::encode(&record));
}

/// What a server finds that lost power in the middle of a move: a truncation that has not been confirmed yet, in a slot of the other server.
fn half_moved() -> Machine {
    let tables = MemTables::default();
    let mut batch = Batch::new();
    truncation(&mut batch);
    let taken = TakenRecord { attempt: 3, map: MapVersion(1), next: 1, ..TakenRecord::default() };
    batch.put(keys::taken(OTHERS.slot()), codec::encode(&taken));
    tables.apply(&batch).unwrap();
    Machine::on(tables, ME, map_of(2), 2)
}

/// The map in which all slots are served here.
fn all_here() -> Arc<ClusterMap> {
    let mut map = map_of(2);
    map.version = MapVersion(9);
    map.slots.iter_mut().for_each(|range| range.target = ME);
    Arc::new(map)
}

fn taken_whole(machine: &Machine, with_truncation: bool) {
    let mut batch = Batch::new();
    let taken = TakenRecord { attempt: 4, map: MapVersion(8), next: 1, whole: true, ..TakenRecord::default() };
    batch.put(keys::taken(OTHERS.slot()), codec::encode(&taken));
    if !with_truncation {
        batch.delete(keys::truncate(OTHERS));
    }
    machine.tables.apply(&batch).unwrap();
}

#[test]
fn a_truncation_of_another_servers_slot_is_not_gone_on_with() {
    let mut machine = half_moved();
    machine.later(10_000);
    assert_eq!(
        machine.truncated,
        [],
        "whoever serves the slot has ended it long ago, and the file may have been written since"
    );
    assert!(machine.tables.get(&keys::truncate(OTHERS)).unwrap().is_some());
}

#[test]
fn it_is_gone_on_with_when_a_newer_map_says_that_the_slot_is_here() {
    let mut machine = half_moved();
    taken_whole(&machine, true);
    machine.feed(Input::Map(all_here()));
    let cut: Vec<u64> = machine.truncated.iter().map(|(_, len)| *len).collect();
    assert_eq!(cut, [0]);
    assert!(machine.tables.get(&keys::truncate(OTHERS)).unwrap().is_none(), "over");
}

#[test]
fn one_that_came_with_an_earlier_attempt_is_forgotten() {
    let mut machine = half_moved();
    taken_whole(&machine, false);
    machine.feed(Input::Map(all_here()));
    assert_eq!(machine.truncated, []);
}
