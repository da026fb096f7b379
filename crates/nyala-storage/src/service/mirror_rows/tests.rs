// SPDX-License-Identifier: Apache-2.0

//! Rows that wait for room.

use super::*;
use nyala_replica::Runs;
use nyala_store::Options;
use nyala_store::testing::Machine;
use nyala_wire::InodeId;
use nyala_wire::storage::ChunkFileId;
use std::time::Duration;

fn row(inode: u64) -> Vec<Row> {
    let file = ChunkFileId { inode: InodeId(inode), index: 0 };
    vec![Row { key: RowKey::Intent(file), runs: Some(Runs::default()) }]
}

/// Rows that wait for room, and what happens meanwhile. Returns when there is room again.
fn waits_for_room(meanwhile: impl FnOnce(&RowLog)) -> (Option<Persisted>, RowLog) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let machine = Machine::new(1);
        let options = Options { memory_hard_bytes: 10_000, memory_soft_bytes: 5_000, ..Options::default() };
        let (store, _) = Store::open_with(machine.disk(), machine.ordered(), options).unwrap();
        machine.set_ordered_full(true);
        for number in 0..4_u8 {
            store.apply(Batch::new().put(vec![number], vec![1; 4_000])).unwrap();
        }
        let rows = RowLog::new(GroupId(1));
        rows.push(Job(1), row(1), true);
        let mut write = Box::pin(rows.write(&store));
        assert!(tokio::time::timeout(Duration::from_millis(50), &mut write).await.is_err(), "there is room");
        meanwhile(&rows);
        machine.set_ordered_full(false);
        let written = tokio::time::timeout(Duration::from_secs(60), write).await.expect("there is room again");
        (written, rows)
    })
}

#[test]
fn what_comes_while_there_is_no_room_is_part_of_the_record() {
    let (written, _) = waits_for_room(|rows| rows.push(Job(2), row(2), false));
    assert_eq!(written, Some((vec![Job(1), Job(2)], Ok(()))));
}

#[test]
fn whoever_closes_it_waits_for_no_room_and_nothing_is_written_then() {
    let ended = &mut false;
    let (written, rows) = waits_for_room(|rows| {
        rows.close();
        *ended = rows.has_ended();
    });
    assert!(*ended, "nothing is being written");
    assert_eq!((written, rows.has_ended()), (None, true));
}
