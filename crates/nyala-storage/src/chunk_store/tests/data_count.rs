// SPDX-License-Identifier: Apache-2.0

//! The count of blocks that hold data, over starts, deaths and builds that do not count.

use super::super::data_count::DataCount;
use super::super::rows::tag;
use super::model::{FILE, options, pattern, write_op};
use super::sim::World;
use crate::chunk_store::{ChunkStore, ChunkStoreOptions, ChunkWorker};
use nyala_store::Batch;
use nyala_wire::storage::ChunkFileId;

fn begin(world: &World) -> ChunkStore {
    ChunkStore::open(world.table(), world.disk(), &options(1)).unwrap()
}

fn write(worker: &mut ChunkWorker, index: u16, bytes: usize) {
    worker.write(write_op(ChunkFileId { index, ..FILE }, 0, pattern(1, bytes))).unwrap();
}

#[test]
fn a_target_knows_how_much_data_it_has_after_a_start() {
    let world = World::new(1);
    let store = begin(&world);
    assert_eq!(store.data_bytes(), Some(0));
    let mut worker = store.worker(0, 1);
    write(&mut worker, 1, 5 * 4096);
    worker.truncate(ChunkFileId { index: 1, ..FILE }, 2 * 4096).unwrap();
    assert_eq!(store.data_bytes(), Some(2 * 4096));
    store.close().unwrap();
    drop((worker, store));
    let store = begin(&world);
    assert_eq!(store.data_bytes(), Some(2 * 4096), "noted when it was closed");
    write(&mut store.worker(0, 1), 2, 4096);
    assert_eq!(store.data_bytes(), Some(3 * 4096));
    // Killed: what has changed since is not in the count, and less than 64 MiB are not noted before.
    store.note_data_bytes().unwrap();
    drop(store);
    assert_eq!(begin(&world).data_bytes(), Some(2 * 4096));
}

#[test]
fn what_a_build_without_counts_wrote_is_known_after_a_whole_scrub() {
    let world = World::new(1);
    let store = begin(&world);
    write(&mut store.worker(0, 1), 1, 5 * 4096);
    store.close().unwrap();
    drop(store);
    world.table().apply(Batch::new().delete([tag::DATA_COUNT])).unwrap();
    let store = begin(&world);
    assert_eq!(store.data_bytes(), None);
    store.note_data_bytes().unwrap();
    store.scrubbed(5 * 4096);
    assert_eq!(store.data_bytes(), Some(5 * 4096));
    write(&mut store.worker(0, 1), 2, 4096);
    assert_eq!(store.data_bytes(), Some(6 * 4096));
    store.note_data_bytes().unwrap();
    drop(store);
    assert_eq!(begin(&world).data_bytes(), Some(6 * 4096), "noted at once where nothing was");
    let limited = ChunkStoreOptions { limit_bytes: Some(1 << 20), ..options(1) };
    let store = ChunkStore::open(world.table(), world.disk(), &limited).unwrap();
    store.scrubbed(1 << 30);
    assert_eq!(store.data_bytes(), Some(6 * 4096), "all rows were counted");
}

#[test]
fn a_scrub_puts_a_count_right_that_is_far_off() {
    let world = World::new(1);
    let table = world.table();
    let begin = |value: &[u8]| {
        table.apply(Batch::new().put([tag::DATA_COUNT], value)).unwrap();
        let count = DataCount::default();
        count.begin(&*table, false).unwrap();
        count
    };
    let count = begin(&1000_u64.to_le_bytes());
    count.scrubbed(1010 * 4096);
    assert_eq!(count.known_bytes(), Some(1000 * 4096), "files changed behind the scrub");
    count.scrubbed(2000 * 4096);
    assert_eq!(count.known_bytes(), Some(2000 * 4096));
    count.note_much(&*table).unwrap();
    assert_eq!(
        table.get(&[tag::DATA_COUNT]).unwrap().as_deref(),
        Some(&1000_u64.to_le_bytes()[..]),
        "less than 64 MiB"
    );
    count.account(0, 20_000);
    count.note_much(&*table).unwrap();
    assert_eq!(table.get(&[tag::DATA_COUNT]).unwrap().as_deref(), Some(&22_000_u64.to_le_bytes()[..]));
    count.account(22_001, 0);
    assert_eq!(count.known_bytes(), Some(0), "more went than was counted");
    // What nobody wrote, and what no target can have.
    assert_eq!(begin(b"short").known_bytes(), Some(0), "there are no rows");
    let absurd = begin(&u64::MAX.to_le_bytes());
    absurd.account(0, 1);
    absurd.note_all(&*table).unwrap();
    absurd.scrubbed(4096);
    assert_eq!(absurd.known_bytes(), Some(4096));
}
