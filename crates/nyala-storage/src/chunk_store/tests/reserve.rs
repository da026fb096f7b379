// SPDX-License-Identifier: Apache-2.0

//! Reserved space on a real file system, and the names of files that only have reserved space.

use super::model::{FILE, content, open, options, pattern, write_op};
use super::sim::World;
use crate::chunk_store::{ChunkError, ChunkStore, ChunkStoreOptions, ChunkWorker, OsDisk};
use std::sync::Arc;

const MIB: u64 = 1 << 20;

fn on_disk(dir: &tempfile::TempDir) -> ChunkWorker {
    let disk = Arc::new(OsDisk::open(dir.path()).unwrap());
    ChunkStore::open(World::new(1).table(), disk, &options(1)).unwrap().worker(0, 1)
}

/// Space in use, bytes. A file system may use a few blocks for itself.
fn used(worker: &mut ChunkWorker) -> u64 {
    worker.stat(FILE).unwrap().1 * 512
}

fn is_about(used: u64, wanted: u64) {
    assert!((wanted..=wanted + 16_384).contains(&used), "{used} bytes in use, not {wanted}");
}

#[test]
fn reserved_space_counts_and_is_a_hole() {
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    let mut worker = on_disk(&dir);
    worker.allocate(FILE, 0, MIB).unwrap();
    assert_eq!(worker.stat(FILE).unwrap().0, 0, "the length stays");
    is_about(used(&mut worker), MIB);
    assert_eq!(worker.seek(FILE, 0, false).unwrap(), None);
    worker.write(write_op(FILE, 3 * MIB, pattern(1, 100))).unwrap();
    is_about(used(&mut worker), MIB + 4096);
    assert_eq!(worker.seek(FILE, 0, false).unwrap(), Some(3 * MIB), "reserved is a hole");
    assert_eq!(worker.seek(FILE, 0, true).unwrap(), Some(0));
    assert!(worker.read(FILE, 0, MIB as u32, true).unwrap().data.iter().all(|byte| *byte == 0));
    worker.write(write_op(FILE, 8192, pattern(2, 4096))).unwrap();
    is_about(used(&mut worker), MIB + 4096);
    assert_eq!(worker.seek(FILE, 0, false).unwrap(), Some(8192));
    assert_eq!(worker.seek(FILE, 8192, true).unwrap(), Some(8192 + 4096));
}

#[test]
fn zeroing_a_range_keeps_its_space() {
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    let mut worker = on_disk(&dir);
    let mut model = pattern(1, MIB as usize);
    worker.write(write_op(FILE, 0, model.clone())).unwrap();
    let (offset, len) = (10_000, 500_001);
    worker.punch(FILE, offset, len).unwrap();
    model[offset as usize..(offset + len) as usize].fill(0);
    assert_eq!(content(&mut worker, FILE).unwrap(), model);
    let whole_blocks = (offset + len) / 4096 - offset.div_ceil(4096);
    is_about(used(&mut worker), MIB - whole_blocks * 4096);
    worker.allocate(FILE, offset, len).unwrap();
    is_about(used(&mut worker), MIB);
    assert_eq!(content(&mut worker, FILE).unwrap(), model);
    assert_eq!(worker.seek(FILE, 0, true).unwrap(), Some(12_288), "the edges hold zeros, whole blocks are a hole");
}

#[test]
fn space_behind_the_end_is_given_back() {
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    let mut worker = on_disk(&dir);
    worker.write(write_op(FILE, 0, pattern(1, 5000))).unwrap();
    worker.allocate(FILE, 0, 4 * MIB).unwrap();
    is_about(used(&mut worker), 4 * MIB);
    worker.truncate(FILE, MIB).unwrap();
    is_about(used(&mut worker), 8192);
    assert_eq!(content(&mut worker, FILE).unwrap(), pattern(1, 5000));
}

#[test]
fn a_sync_makes_a_reserved_file_durable() {
    for seed in 0..20 {
        let world = World::new(seed);
        let mut worker = open(&world, 1).unwrap();
        worker.allocate(FILE, 0, MIB).unwrap();
        if seed % 2 == 0 {
            // The name is not known to be durable although the write did not make the file.
            worker.write(write_op(FILE, 0, pattern(1, 9000))).unwrap();
        }
        worker.sync(FILE).unwrap();
        world.restart_machine();
        assert_eq!(world.files(), 1, "seed {seed}");
        let found = content(&mut open(&world, 2).unwrap(), FILE).unwrap();
        assert_eq!(found, if seed % 2 == 0 { pattern(1, 9000) } else { Vec::new() });
    }
}

#[test]
fn a_limit_counts_only_what_is_not_there_yet() {
    let world = World::new(1);
    let limited = ChunkStoreOptions { limit_bytes: Some(4 * 4096), ..options(1) };
    let mut worker = ChunkStore::open(world.table(), world.disk(), &limited).unwrap().worker(0, 1);
    worker.write(write_op(FILE, 0, pattern(1, 3 * 4096))).unwrap();
    worker.allocate(FILE, 0, 4 * 4096).unwrap();
    worker.allocate(FILE, 100, 2 * 4096).unwrap();
    assert!(matches!(worker.allocate(FILE, 0, 5 * 4096), Err(ChunkError::NoSpace)));
}
