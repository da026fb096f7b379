// SPDX-License-Identifier: Apache-2.0

//! Whatever two members have: when all regions of one were taken in by the other, both have the same.

use super::model::{FILE, content, options, pattern, write_op};
use super::sim::World;
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
