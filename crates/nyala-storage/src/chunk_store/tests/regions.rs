// SPDX-License-Identifier: Apache-2.0

//! Whatever two members have: when all regions of one were taken in by the other, both have the same.

use super::model::{FILE, content, options, pattern, write_op};
use super::sim::World;
use crate::chunk_store::bad_blocks::export_as_is;
use crate::chunk_store::{ChunkStore, ChunkWorker, OsDisk};
use proptest::prelude::*;
use std::sync::Arc;

const REGION: u64 = 64 << 10;

fn worker(dir: &tempfile::TempDir) -> ChunkWorker {
    let disk = Arc::new(OsDisk::open(dir.path()).unwrap());
    ChunkStore::open(World::new(1).table(), disk, &options(1)).unwrap().worker(0, 1)
}

/// What happens to a chunk file: what, where, how much.
fn happen(worker: &mut ChunkWorker, (what, at, len): (u8, u64, u64)) {
    match what {
        // A removed one takes none.
        0..=4 => drop(worker.write(write_op(FILE, at, pattern(what, len as usize)))),
        5 => worker.truncate(FILE, at).unwrap(),
        6 => worker.punch(FILE, at, len).unwrap(),
        _ => drop(worker.unlink(FILE, 100).unwrap()),
    }
}

fn copy_all(from: &mut ChunkWorker, to: &mut ChunkWorker) {
    let end = from.stat(FILE).unwrap().0.max(to.stat(FILE).unwrap().0);
    let mut start = 0;
    loop {
        let region = from.export(FILE, start, start + REGION).unwrap();
        region.check().unwrap();
        let last = region.header.len <= start + REGION && start + REGION >= end;
        to.import(FILE, &region, if last { u64::MAX } else { start + REGION }, 200).unwrap();
        if last {
            return;
        }
        start += REGION;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn copies_are_equal(
        ours in proptest::collection::vec((0_u8..8, 0_u64..300_000, 1_u64..100_000), 0..8),
        theirs in proptest::collection::vec((0_u8..8, 0_u64..300_000, 1_u64..100_000), 0..8),
    ) {
        let (one, other) = (tempfile::tempdir_in("/tmp").unwrap(), tempfile::tempdir_in("/tmp").unwrap());
        let (mut from, mut to) = (worker(&one), worker(&other));
        ours.into_iter().for_each(|op| happen(&mut from, op));
        theirs.into_iter().for_each(|op| happen(&mut to, op));
        copy_all(&mut from, &mut to);
        prop_assert_eq!(from.stat(FILE).unwrap().0, to.stat(FILE).unwrap().0);
        // One that was removed stays so where the other never had it.
        prop_assert_eq!(content(&mut from, FILE).unwrap_or_default(), content(&mut to, FILE).unwrap_or_default());
        // Data that is a hole there is one here.
        for offset in (0..400_000).step_by(4096) {
            prop_assert_eq!(from.seek(FILE, offset, false).unwrap(), to.seek(FILE, offset, false).unwrap());
        }
    }
}

#[test]
fn damage_does_not_spread_and_is_overwritten() {
    let (one, other) = (tempfile::tempdir_in("/tmp").unwrap(), tempfile::tempdir_in("/tmp").unwrap());
    let (mut good, mut bad) = (worker(&one), worker(&other));
    for worker in [&mut good, &mut bad] {
        worker.write(write_op(FILE, 0, pattern(1, 50_000))).unwrap();
    }
    let path = other.path().join(crate::chunk_store::path_of(FILE));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[20_000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert!(bad.export(FILE, 0, REGION).is_err(), "what does not match its checksum goes nowhere");
    let region = good.export(FILE, 16_384, 24_576).unwrap();
    bad.import(FILE, &region, 24_576, 200).unwrap();
    assert_eq!(content(&mut bad, FILE).unwrap(), pattern(1, 50_000));
    let mut wrong = good.export(FILE, 0, REGION).unwrap();
    wrong.data = wrong.data.slice(1..);
    assert!(wrong.check().is_err());
}

/// Flips a bit of a chunk file in a worker's directory.
fn flip(dir: &tempfile::TempDir, offset: usize) {
    let path = dir.path().join(crate::chunk_store::path_of(FILE));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[offset] ^= 1;
    std::fs::write(&path, bytes).unwrap();
}

fn copy_as_is(from: &mut ChunkWorker, to: &mut ChunkWorker, end: u64) {
    for start in (0..end).step_by(REGION as usize) {
        let region = export_as_is(from, FILE, start, start + REGION).unwrap();
        region.check().unwrap();
        let last = start + REGION >= end;
        to.import(FILE, &region, if last { u64::MAX } else { start + REGION }, 200).unwrap();
    }
}

#[test]
fn what_nobody_can_read_is_copied_as_such_and_all_else_as_it_is() {
    let (one, other) = (tempfile::tempdir_in("/tmp").unwrap(), tempfile::tempdir_in("/tmp").unwrap());
    let (mut from, mut to) = (worker(&one), worker(&other));
    let (whole, bytes) = (pattern(1, 150_001), 150_001_u64);
    from.write(write_op(FILE, 0, whole.clone())).unwrap();
    // What the other one has is older, but for one block.
    to.write(write_op(FILE, 0, pattern(2, 180_000))).unwrap();
    to.write(write_op(FILE, 8192, whole[8192..12_288].to_vec())).unwrap();
    [9000, 20_000, 66_000, 150_000].iter().for_each(|at| flip(&one, *at));
    copy_as_is(&mut from, &mut to, 180_000);
    assert_eq!(to.stat(FILE).unwrap().0, bytes);
    for block in 0..bytes.div_ceil(4096) {
        let (offset, len) = (block * 4096, (bytes - block * 4096).min(4096));
        let read = to.read(FILE, offset, len as u32, true);
        if [20_000, 66_000, 150_000].iter().any(|at| at / 4096 == block) {
            assert!(matches!(read, Err(crate::chunk_store::ChunkError::Checksum { .. })), "block {block}: {read:?}");
        } else {
            assert_eq!(
                &read.unwrap().data[..len as usize],
                &whole[offset as usize..(offset + len) as usize],
                "block {block}"
            );
        }
    }
    // What had it right is where the other one is repaired from.
    let region = to.export(FILE, 8192, 12_288).unwrap();
    from.import(FILE, &region, 12_288, 200).unwrap();
    from.read(FILE, 8192, 4096, true).unwrap();
    // Both refuse alike what needs the old content, and take what does not.
    for worker in [&mut from, &mut to] {
        let refused = worker.write(write_op(FILE, 20_001, pattern(3, 10))).unwrap_err();
        assert!(matches!(refused, crate::chunk_store::ChunkError::BadBlock { offset: 16_384, .. }), "{refused:?}");
        let refused = worker.truncate(FILE, 66_001).unwrap_err();
        assert!(matches!(refused, crate::chunk_store::ChunkError::BadBlock { offset: 65_536, .. }), "{refused:?}");
        worker.write(write_op(FILE, 16_384, pattern(3, 4096))).unwrap();
        worker.write(write_op(FILE, 20_001, pattern(3, 10))).unwrap();
        worker.truncate(FILE, 65_536).unwrap();
    }
    assert_eq!(content(&mut from, FILE).unwrap(), content(&mut to, FILE).unwrap());
}

#[test]
fn a_bad_block_stays_one_when_the_machine_dies() {
    let (one, other) = (tempfile::tempdir_in("/tmp").unwrap(), tempfile::tempdir_in("/tmp").unwrap());
    let (mut from, tables) = (worker(&one), World::new(1));
    from.write(write_op(FILE, 0, pattern(1, 20_000))).unwrap();
    flip(&one, 5000);
    let open = |boot| {
        let disk = Arc::new(OsDisk::open(other.path()).unwrap());
        ChunkStore::open(tables.table(), disk, &options(boot)).unwrap().worker(0, 1)
    };
    copy_as_is(&mut from, &mut open(1), 20_000);
    let mut worker = open(2);
    assert!(worker.read(FILE, 4096, 4096, true).is_err(), "what is there in place of the data must not pass for it");
    worker.read(FILE, 8192, 4096, true).unwrap();
    // A whole block in its place is data again, and what the machine loses of that is what it loses of any.
    worker.write(write_op(FILE, 4096, pattern(5, 4096))).unwrap();
    flip(&other, 5000);
    drop(worker);
    open(3).read(FILE, 4096, 4096, true).unwrap();
}

#[test]
fn a_member_with_damage_at_the_end_of_a_file_takes_a_shorter_one() {
    for len in [1000, 30_001, 65_536, 70_000] {
        let (one, other) = (tempfile::tempdir_in("/tmp").unwrap(), tempfile::tempdir_in("/tmp").unwrap());
        let (mut from, mut to) = (worker(&one), worker(&other));
        from.write(write_op(FILE, 0, pattern(1, len))).unwrap();
        to.write(write_op(FILE, 0, pattern(2, 100_000))).unwrap();
        [500, len - 1, 70_000, 99_000].iter().for_each(|at| flip(&other, *at));
        for start in [REGION, 0] {
            let region = export_as_is(&mut from, FILE, start, start + REGION).unwrap();
            to.import(FILE, &region, if start == 0 { REGION } else { u64::MAX }, 200).unwrap();
        }
        assert_eq!(content(&mut to, FILE).unwrap(), pattern(1, len), "{len} bytes");
    }
}

#[test]
fn a_file_that_somebody_cut_is_damaged_and_not_shorter() {
    let (one, other) = (tempfile::tempdir_in("/tmp").unwrap(), tempfile::tempdir_in("/tmp").unwrap());
    let (mut from, mut to) = (worker(&one), worker(&other));
    from.write(write_op(FILE, 0, pattern(1, 100_000))).unwrap();
    let path = one.path().join(crate::chunk_store::path_of(FILE));
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(10_000).unwrap();
    assert!(from.export(FILE, 0, REGION).is_err() && from.export(FILE, REGION, 2 * REGION).is_err());
    copy_as_is(&mut from, &mut to, 100_000);
    to.read(FILE, 0, 8192, true).unwrap();
    for block in 2..25 {
        assert!(to.read(FILE, block * 4096, 4096, true).is_err(), "block {block} has no data");
    }
}

#[test]
fn damage_that_was_found_stays_damage_when_the_machine_dies_while_the_file_is_written() {
    let (dir, tables) = (tempfile::tempdir_in("/tmp").unwrap(), World::new(1));
    let open = |boot| {
        let disk = Arc::new(OsDisk::open(dir.path()).unwrap());
        ChunkStore::open(tables.table(), disk, &options(boot)).unwrap().worker(0, 1)
    };
    let mut worker = open(1);
    worker.write(write_op(FILE, 0, pattern(1, 20_000))).unwrap();
    worker.sync(FILE).unwrap();
    flip(&dir, 5000);
    assert!(worker.read(FILE, 4096, 4096, true).is_err());
    worker.write(write_op(FILE, 8192, pattern(2, 4096))).unwrap();
    drop(worker);
    let mut worker = open(2);
    assert!(worker.read(FILE, 4096, 4096, true).is_err(), "a block that was damaged before is good after a start");
    worker.write(write_op(FILE, 4096, pattern(3, 4096))).unwrap();
    worker.read(FILE, 0, 20_000, true).unwrap();
}
