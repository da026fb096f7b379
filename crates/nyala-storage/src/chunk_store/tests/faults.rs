// SPDX-License-Identifier: Apache-2.0

//! Failing, short and half-done writes at every step, and a full target.

use super::model::{FILE, Op, apply_to_model, content, open, options, pattern, run_op, write_op};
use super::sim::{Event, World};
use crate::chunk_store::{ChunkError, ChunkStore, ChunkStoreOptions};
use nyala_wire::storage::ChunkFileId;
use std::time::{Duration, Instant};

fn ops() -> Vec<Op> {
    let write = |offset, len, seed| Op::Write { offset, len, seed };
    vec![
        write(0, 9000, 1),
        write(100, 50, 2),
        Op::Sync,
        write(64 * 4096 - 5000, 9000, 3),
        Op::Punch { offset: 1000, len: 7000 },
        Op::Truncate { len: 64 * 4096 + 7 },
        write(4096, 4096, 4),
    ]
}

fn fail_everywhere(event: Event) {
    let world = World::new(1);
    let mut worker = open(&world, 1).unwrap();
    world.at(None);
    ops().iter().for_each(|op| run_op(&mut worker, op).unwrap());
    let steps = world.steps();
    for step in 1..=steps {
        let world = World::new(1);
        let mut worker = open(&world, 1).unwrap();
        world.at(Some((step, event)));
        let mut model: Vec<u8> = Vec::new();
        for op in ops() {
            let before = model.clone();
            apply_to_model(&mut model, &op);
            let Err(error) = run_op(&mut worker, &op) else { continue };
            let when = format!("{event:?} at step {step} in {op:?}: {error}");
            assert!(!matches!(error, ChunkError::Checksum { .. } | ChunkError::Damaged { .. }), "{when}");
            // The failed change happened, or did not, byte by byte; nothing else has changed.
            let found = content(&mut worker, FILE).unwrap_or_else(|e| panic!("{when}: then {e}"));
            for at in 0..found.len().max(before.len()).max(model.len()) {
                let byte = |content: &[u8]| content.get(at).copied().unwrap_or(0);
                assert!([byte(&before), byte(&model)].contains(&byte(&found)), "{when}: byte {at}");
            }
            model = found;
        }
        assert_eq!(content(&mut worker, FILE).unwrap(), model, "{event:?} at step {step}");
        let mut again = open(&world, 1).unwrap();
        assert_eq!(content(&mut again, FILE).unwrap(), model, "{event:?} at step {step}, opened again");
    }
}

#[test]
fn failures_change_nothing_else() {
    for errno in [libc::ENOSPC, libc::EIO] {
        fail_everywhere(Event::Fail(errno));
        fail_everywhere(Event::HalfThenFail(errno));
    }
}

#[test]
fn short_writes_go_on() {
    fail_everywhere(Event::Short);
}

#[test]
fn a_failed_sync_is_remembered() {
    let world = World::new(1);
    let mut worker = open(&world, 1).unwrap();
    worker.write(write_op(FILE, 0, pattern(1, 100))).unwrap();
    world.at(Some((1, Event::Fail(libc::EIO))));
    assert!(worker.sync(FILE).is_err());
    assert!(worker.sync(FILE).is_err(), "the kernel would say yes now; the data may be lost");
}

#[test]
fn a_failed_sync_is_remembered_by_the_next_process() {
    let lost = |again: bool| {
        let world = World::new(1);
        let mut worker = open(&world, 1).unwrap();
        worker.write(write_op(FILE, 0, pattern(1, 100))).unwrap();
        world.at(Some((1, Event::Fail(libc::EIO))));
        assert!(worker.sync(FILE).is_err());
        if again {
            // The page went, and with it what the disk never had.
            let file = world.disk().open(FILE, false).unwrap().unwrap().file;
            file.write_at(&[0; 100], 0).unwrap();
        }
        drop(worker);
        open(&world, 1).unwrap().sync(FILE)
    };
    assert!(lost(true).is_err(), "data is lost, and the kernel would say yes");
    lost(false).expect("all of it was there, and is on disk now");
}

#[test]
fn a_crash_of_the_machine_counts_as_a_loss_unless_all_was_synced_and_closed() {
    let world = World::new(1);
    let begin = |boot| ChunkStore::open(world.table(), world.disk(), &options(boot)).unwrap();
    let store = begin(1);
    assert_eq!(store.losses(), 0);
    store.worker(0, 1).write(write_op(FILE, 0, pattern(1, 100))).unwrap();
    drop(store);
    let store = begin(1);
    assert_eq!(store.losses(), 0, "another process finds all of it");
    store.close().unwrap();
    assert_eq!(begin(2).losses(), 1, "closed with something that was not synced");
    let store = begin(2);
    let mut worker = store.worker(0, 1);
    let mut job = worker.begin_idle_sync(Instant::now(), Duration::ZERO, usize::MAX).unwrap();
    job.run();
    worker.end_sync(job).unwrap();
    store.close().unwrap();
    let store = begin(3);
    assert_eq!(store.losses(), 1, "nothing was unsynced when it was closed");
    drop(store);
    assert_eq!(begin(4).losses(), 2, "what was unsynced is not known: its flag may be lost too");
}

#[test]
fn a_limited_target_says_so_and_recovers() {
    let world = World::new(1);
    let limited = ChunkStoreOptions { limit_bytes: Some(4 * 4096), ..options(1) };
    let store = ChunkStore::open(world.table(), world.disk(), &limited).unwrap();
    let mut worker = store.worker(0, 1);
    worker.write(write_op(FILE, 0, pattern(1, 3 * 4096))).unwrap();
    let other = ChunkFileId { index: 8, ..FILE };
    let full = worker.write(write_op(other, 0, pattern(2, 2 * 4096)));
    assert!(matches!(full, Err(ChunkError::NoSpace)), "{full:?}");
    assert_eq!(store.used_bytes(), 3 * 4096);
    worker.write(write_op(FILE, 4096, pattern(3, 4096))).expect("overwriting needs no room");
    worker.write(write_op(other, 0, pattern(2, 4096))).unwrap();
    worker.truncate(FILE, 1).unwrap();
    assert_eq!(store.used_bytes(), 2 * 4096);
    drop((worker, store));
    let store = ChunkStore::open(world.table(), world.disk(), &limited).unwrap();
    assert_eq!(store.used_bytes(), 2 * 4096, "counted again at the start");
}

#[test]
fn full_tables_refuse_new_blocks_and_let_the_rest_through() {
    let world = World::new(1);
    let store = ChunkStore::open(world.table(), world.disk(), &options(1)).unwrap();
    let mut worker = store.worker(0, 1);
    worker.write(write_op(FILE, 0, pattern(1, 3 * 4096))).unwrap();
    world.keep_for_removals(true);
    let other = ChunkFileId { index: 8, ..FILE };
    let full = worker.write(write_op(other, 0, pattern(2, 4096)));
    assert!(matches!(full, Err(ChunkError::NoSpace)), "{full:?}");
    assert!(matches!(worker.allocate(FILE, 0, 5 * 4096), Err(ChunkError::NoSpace)));
    worker.write(write_op(FILE, 4096, pattern(3, 4096))).expect("overwriting adds no rows");
    worker.sync(FILE).unwrap();
    worker.truncate(FILE, 4096).unwrap();
    assert_eq!(content(&mut worker, FILE).unwrap(), pattern(1, 4096));
    worker.unlink(FILE, 100).unwrap();
    store.remover().remove(FILE).unwrap();
    world.keep_for_removals(false);
    worker.write(write_op(other, 0, pattern(2, 4096))).unwrap();
    assert_eq!(store.used_bytes(), 4096);
}
