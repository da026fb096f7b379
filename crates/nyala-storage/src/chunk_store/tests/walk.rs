// SPDX-License-Identifier: Apache-2.0

//! Walks: order, cursor, what is damaged, and what goes meanwhile.

use super::model::{FILE, SOURCE, open, pattern, write_op};
use super::sim::World;
use crate::chunk_store::ChunkWorker;
use crate::chunk_store::list::files_from;
use nyala_wire::checksum::crc32c_zero_padded;
use nyala_wire::storage::ChunkFileId;
use nyala_wire::walk::{PIECE_BYTES, WalkAt, WalkPiece};

const LAST: ChunkFileId = ChunkFileId { index: u16::MAX, ..SOURCE };

/// Three chunk files: one of 20,000 bytes, one with a block in its third piece, one with a byte.
fn filled() -> (World, ChunkWorker) {
    let world = World::new(1);
    let mut worker = open(&world, 1).unwrap();
    worker.write(write_op(SOURCE, 2 * PIECE_BYTES, pattern(2, 4096))).unwrap();
    worker.write(write_op(LAST, 0, vec![9])).unwrap();
    worker.write(write_op(FILE, 0, pattern(1, 20_000))).unwrap();
    (world, worker)
}

fn pieces(worker: &ChunkWorker, from: WalkAt, most: usize) -> Vec<(ChunkFileId, u64)> {
    worker.pieces_from(from, most).unwrap().into_iter().map(|at| (at.file, at.offset / PIECE_BYTES)).collect()
}

fn at(file: ChunkFileId, offset: u64) -> WalkAt {
    WalkAt { file, offset }
}

#[test]
fn everything_once_and_in_order() {
    let (_, worker) = filled();
    let all = [(FILE, 0), (SOURCE, 2), (LAST, 0)];
    assert_eq!(pieces(&worker, WalkAt::default(), 99), all);
    assert_eq!(pieces(&worker, WalkAt::default(), 2), all[..2]);
    assert_eq!(pieces(&worker, at(FILE, PIECE_BYTES), 99), all[1..]);
    assert_eq!(pieces(&worker, at(SOURCE, 2 * PIECE_BYTES + 4096), 99), all[1..], "within a piece is that piece");
    assert_eq!(pieces(&worker, at(SOURCE, u64::MAX), 99), all[2..], "an offset that cannot be is behind the file");
    assert_eq!(pieces(&worker, at(LAST, PIECE_BYTES), 99), []);
}

#[test]
fn a_piece_is_what_was_written() {
    let (_, mut worker) = filled();
    worker.punch(FILE, 4096, 4096).unwrap();
    let content = pattern(1, 20_000);
    let crc = |block: usize| crc32c_zero_padded(&content[block * 4096..content.len().min(block * 4096 + 4096)]);
    let checksums = [0, 2, 3, 4].map(crc).to_vec();
    for verify in [false, true] {
        let piece = worker.piece(at(FILE, 0), verify).unwrap();
        assert_eq!(piece, Some(WalkPiece { at: at(FILE, 0), present: 0b11101, checksums: checksums.clone(), bad: 0 }));
    }
    assert_eq!(worker.piece(at(SOURCE, 0), true).unwrap(), None, "only holes");
}

#[test]
fn damage_is_told_and_does_not_end_the_walk() {
    let (world, mut worker) = filled();
    let bad = |worker: &mut ChunkWorker, verify| worker.piece(at(FILE, 0), verify).unwrap().unwrap().bad;
    world.tamper(FILE, |content| content[5000] ^= 1);
    assert_eq!((bad(&mut worker, true), bad(&mut worker, false)), (0b10, 0), "only who looks sees it");
    world.tamper(FILE, |content| content.truncate(9000));
    assert_eq!(bad(&mut worker, true), 0b11110, "what is behind the end is lost");
    assert_eq!(worker.piece(at(SOURCE, 2 * PIECE_BYTES), true).unwrap().unwrap().bad, 0);
    worker.write(write_op(FILE, 4096, pattern(3, 16_384))).unwrap();
    assert_eq!(bad(&mut worker, true), 0);
}

#[test]
fn what_is_gone_is_no_piece() {
    let (world, mut worker) = filled();
    worker.unlink(FILE, 1).unwrap();
    assert_eq!(worker.piece(at(FILE, 0), true).unwrap(), None);
    worker.truncate(SOURCE, 0).unwrap();
    assert_eq!(worker.piece(at(SOURCE, 2 * PIECE_BYTES), true).unwrap(), None);
    // Removed by somebody else: that is damage.
    world.tamper(LAST, Vec::clear);
    assert_eq!(worker.piece(at(LAST, 0), true).unwrap().unwrap().bad, 1);
}

#[test]
fn what_the_disk_cannot_read_is_bad_and_nothing_else() {
    let (world, mut worker) = filled();
    world.lose(FILE, 2 * 4096 + 77);
    assert_eq!(worker.piece(at(FILE, 0), true).unwrap().unwrap().bad, 0b100);
    assert_eq!(worker.piece(at(SOURCE, 2 * PIECE_BYTES), true).unwrap().unwrap().bad, 0);
}

#[test]
fn files_are_listed_with_the_length_that_they_need() {
    let (world, mut worker) = filled();
    let files = |worker: &ChunkWorker, from, most| files_from(worker, from, most).unwrap();
    let all = [(FILE, 16_385), (SOURCE, 2 * PIECE_BYTES + 1), (LAST, 1)];
    assert_eq!(files(&worker, ChunkFileId::default(), 99), all);
    assert_eq!(files(&worker, ChunkFileId::default(), 2), all[..2]);
    assert_eq!(files(&worker, SOURCE, 99), all[1..]);
    // The last row of many is found.
    for piece in [3, 5, 8, 13, 40_000] {
        worker.write(write_op(SOURCE, piece * PIECE_BYTES + 4096, vec![1])).unwrap();
        assert_eq!(files(&worker, SOURCE, 1), [(SOURCE, piece * PIECE_BYTES + 4097)]);
    }
    // Gone from the disk, it is still listed; removed, it is not.
    world.tamper(LAST, Vec::clear);
    worker.unlink(FILE, 1).unwrap();
    assert_eq!(files(&worker, ChunkFileId::default(), 99), [(SOURCE, 40_000 * PIECE_BYTES + 4097), (LAST, 1)]);
}
