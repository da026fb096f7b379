// SPDX-License-Identifier: Apache-2.0

//! Damage by the disk, by the network, and by people.

use super::model::{FILE, SOURCE, content, copy, open, pattern, write_op};
use super::sim::World;
use crate::chunk_store::{ChunkError, ChunkWorker, MAX_CHUNK_FILE_BYTES};
use nyala_wire::checksum::crc32c_zero_padded;
use nyala_wire::storage::ChunkFileId;

fn filled() -> (World, ChunkWorker) {
    let world = World::new(1);
    let mut worker = open(&world, 1).unwrap();
    worker.write(write_op(FILE, 0, pattern(1, 20_000))).unwrap();
    worker.sync(FILE).unwrap();
    (world, worker)
}

fn is_checksum_at<T: std::fmt::Debug>(result: Result<T, ChunkError>, at: u64) {
    assert!(matches!(result, Err(ChunkError::Checksum { offset, .. }) if offset == at), "{result:?}");
}

#[test]
fn a_flipped_byte_is_found_and_never_laundered() {
    let (world, mut worker) = filled();
    world.tamper(FILE, |content| content[5000] ^= 1);
    is_checksum_at(worker.read(FILE, 0, 20_000, true), 4096);
    let unverified = worker.read(FILE, 4096, 4096, false).unwrap();
    assert_ne!(crc32c_zero_padded(&unverified.data), unverified.crcs[0], "the client finds it");
    is_checksum_at(worker.write(write_op(FILE, 4200, vec![1; 10])), 4096);
    is_checksum_at(worker.truncate(FILE, 4200), 4096);
    is_checksum_at(worker.punch(FILE, 4200, 10), 4096);
    // Another process of the same machine, and another start of the machine: the file was synced and idle.
    let mut job = worker.begin_idle_sync(std::time::Instant::now(), std::time::Duration::ZERO, 9).unwrap();
    job.run();
    worker.end_sync(job).unwrap();
    for boot in [1, 2] {
        is_checksum_at(open(&world, boot).unwrap().read(FILE, 0, 20_000, true), 4096);
    }
    worker.write(write_op(FILE, 4096, pattern(2, 4096))).expect("a whole new block heals it");
    assert_eq!(content(&mut worker, FILE).unwrap()[4096..8192], pattern(2, 4096));
}

#[test]
fn a_file_cut_from_outside_is_damage() {
    for len in [0, 4096, 8192] {
        let (world, mut worker) = filled();
        world.tamper(FILE, |content| content.truncate(len));
        is_checksum_at(worker.read(FILE, 0, 20_000, false), len as u64);
        is_checksum_at(worker.write(write_op(FILE, len as u64 + 5, vec![1])), len as u64);
    }
    let (world, mut worker) = filled();
    world.tamper(FILE, |content| content.truncate(5000));
    is_checksum_at(worker.read(FILE, 0, 5000, true), 4096);
}

#[test]
fn data_damaged_on_the_way_is_refused() {
    let (_, mut worker) = filled();
    let mut op = write_op(FILE, 4000, pattern(3, 5000));
    op.crcs[1] ^= 1;
    assert!(matches!(worker.write(op), Err(ChunkError::Damaged { piece: 1 })));
    assert_eq!(content(&mut worker, FILE).unwrap(), pattern(1, 20_000));
}

#[test]
fn requests_that_contradict_themselves_are_refused() {
    let (_, mut worker) = filled();
    let mut op = write_op(FILE, 0, pattern(3, 5000));
    op.crcs.pop();
    assert!(matches!(worker.write(op), Err(ChunkError::Invalid(_))));
    for offset in [MAX_CHUNK_FILE_BYTES, u64::MAX - 3] {
        let mut op = write_op(FILE, 0, vec![1; 10]);
        op.offset = offset;
        assert!(matches!(worker.write(op), Err(ChunkError::TooBig)));
        assert!(matches!(worker.allocate(FILE, offset, 10), Err(ChunkError::TooBig)));
        worker.punch(FILE, offset, u64::MAX).unwrap();
        worker.truncate(FILE, offset).unwrap();
        assert_eq!(worker.seek(FILE, offset, false).unwrap(), None);
    }
    assert!(matches!(worker.read(FILE, u64::MAX - 3, 10, false), Err(ChunkError::TooBig)));
    for offset in [MAX_CHUNK_FILE_BYTES, i64::MAX as u64 - 10] {
        assert_eq!(worker.read(FILE, offset, 10, false).unwrap().data.len(), 0, "nothing is there");
    }
    assert!(matches!(worker.read(FILE, 0, u32::MAX, false), Err(ChunkError::Invalid(_))));
}

#[test]
fn damage_is_not_copied() {
    let (world, mut worker) = filled();
    worker.write(write_op(SOURCE, 0, pattern(2, 9000))).unwrap();
    copy(&mut worker, (SOURCE, 100), 5000, 5000).unwrap();
    assert_eq!(content(&mut worker, FILE).unwrap()[5000..10_000], pattern(2, 9000)[100..5100]);
    copy(&mut worker, (SOURCE, 8000), 0, 4096).unwrap();
    let behind_the_end = content(&mut worker, FILE).unwrap();
    assert_eq!((&behind_the_end[..1000], &behind_the_end[1000..4096]), (&pattern(2, 9000)[8000..], &[0; 3096][..]));
    copy(&mut worker, (ChunkFileId { index: 99, ..FILE }, 7), 0, 4096).unwrap();
    assert_eq!(content(&mut worker, FILE).unwrap()[..4096], [0; 4096], "no source is zeros");
    world.tamper(SOURCE, |content| content[5000] ^= 1);
    is_checksum_at(copy(&mut worker, (SOURCE, 0), 0, 9000), 4096);
    assert_eq!(content(&mut worker, FILE).unwrap()[..4096], [0; 4096]);
    worker.unlink(SOURCE, 1).unwrap();
    let removed = copy(&mut worker, (SOURCE, 0), 0, 10);
    assert!(matches!(removed, Err(ChunkError::Stale(SOURCE))), "{removed:?}");
}

#[test]
fn leftovers_without_checksum_never_show() {
    let world = World::new(1);
    let mut worker = open(&world, 1).unwrap();
    worker.write(write_op(FILE, 0, pattern(1, 100))).unwrap();
    world.tamper(FILE, |content| content.resize(9000, 9));
    // The first block's checksum says that the bytes behind its 100th are zero.
    is_checksum_at(worker.read(FILE, 0, 100, true), 0);
    assert_eq!(worker.read(FILE, 4096, 4096, true).unwrap().data[..], [0; 4096]);
    worker.write(write_op(FILE, 8200, pattern(2, 10))).unwrap();
    let block = worker.read(FILE, 8192, 4096, true).unwrap().data;
    assert_eq!((&block[..8], &block[8..18], &block[18..]), (&[0; 8][..], &pattern(2, 10)[..], &[0; 790][..]));
}
