// SPDX-License-Identifier: Apache-2.0

//! Random operations against a plain vector, on the simulated and on a real file system.

use super::sim::World;
use crate::chunk_store::{Author, Written, copy_write, pad_copy};
use crate::chunk_store::{ChunkDisk, ChunkError, ChunkStore, ChunkStoreOptions, ChunkWorker, OsDisk, Table, WriteOp};
use bytes::Bytes;
use nyala_wire::checksum::{crc32c, crc32c_zero_padded};
use nyala_wire::storage::{ChunkFileId, Stamp, block_pieces};
use nyala_wire::{InodeId, SessionId};
use proptest::prelude::*;
use std::sync::Arc;

/// The chunk file of most tests.
pub const FILE: ChunkFileId = ChunkFileId { inode: InodeId(1 << 48 | 77), index: 3 };

/// The session of most writes.
pub const SESSION: SessionId = SessionId(41);
/// Where copies come from.
pub const SOURCE: ChunkFileId = ChunkFileId { inode: InodeId(1 << 48 | 78), index: 3 };

/// What is done to [`FILE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    Write {
        offset: u64,
        len: usize,
        seed: u8,
    },
    Truncate {
        len: u64,
    },
    Punch {
        offset: u64,
        len: u64,
    },
    /// Within the file.
    Copy {
        from: u64,
        offset: u64,
        len: u32,
    },
    Sync,
    Idle,
    Reopen,
}

/// Offsets around the borders of blocks and of the first group.
pub fn any_offset() -> impl Strategy<Value = u64> {
    let base = prop_oneof![Just(0_u64), Just(4096), Just(8192), Just(65 * 4096 - 8192)];
    (base, prop_oneof![Just(0_u64), 0_u64..4200]).prop_map(|(base, more)| base + more)
}

pub fn any_op() -> impl Strategy<Value = Op> {
    let len = prop_oneof![Just(4096_usize), 1_usize..300, 1_usize..13_000];
    prop_oneof![
        6 => (any_offset(), len, 1_u8..8).prop_map(|(offset, len, seed)| Op::Write { offset, len, seed }),
        1 => any_offset().prop_map(|len| Op::Truncate { len }),
        1 => (any_offset(), 1_u64..13_000).prop_map(|(offset, len)| Op::Punch { offset, len }),
        1 => (any_offset(), any_offset(), 1_u32..13_000).prop_map(|(from, offset, len)| Op::Copy { from, offset, len }),
        2 => Just(Op::Sync),
        1 => Just(Op::Idle),
        1 => Just(Op::Reopen),
    ]
}

/// Bytes 1 to 7 in a pattern that `seed` gives.
pub fn pattern(seed: u8, len: usize) -> Vec<u8> {
    (0..len).map(|i| ((i / 7 + i / 512 * 3 + usize::from(seed)) % 7 + 1) as u8).collect()
}

pub fn write_op(file: ChunkFileId, offset: u64, data: Vec<u8>) -> WriteOp {
    let mut at = 0;
    let piece = |len: usize| {
        at += len;
        crc32c(&data[at - len..at])
    };
    let crcs = block_pieces(offset, data.len() as u64).map(piece).collect();
    WriteOp { session: SESSION, file, offset, data: Bytes::from(data), crcs, compared: false, stamp: Stamp::default() }
}

pub fn options(boot: u32) -> ChunkStoreOptions {
    ChunkStoreOptions { label: "7".into(), boot_id: format!("boot {boot}"), limit_bytes: None }
}

pub fn open(world: &World, boot: u32) -> Result<ChunkWorker, ChunkError> {
    Ok(ChunkStore::open(world.table(), world.disk(), &options(boot))?.worker(0, 1))
}

/// What the operation makes of the content.
pub fn apply_to_model(model: &mut Vec<u8>, op: &Op) {
    match op {
        Op::Write { offset, len, seed } => {
            let end = *offset as usize + len;
            model.resize(model.len().max(end), 0);
            model[*offset as usize..end].copy_from_slice(&pattern(*seed, *len));
        }
        Op::Truncate { len } => model.truncate(*len as usize),
        Op::Punch { offset, len } => {
            let end = ((offset + len) as usize).min(model.len());
            model[(*offset as usize).min(end)..end].fill(0);
        }
        Op::Copy { from, offset, len } => {
            let (from, offset, len) = (*from as usize, *offset as usize, *len as usize);
            let mut copied = model.get(from..model.len().min(from + len)).unwrap_or(&[]).to_vec();
            copied.resize(len, 0);
            model.resize(model.len().max(offset + len), 0);
            model[offset..offset + len].copy_from_slice(&copied);
        }
        Op::Sync | Op::Idle | Op::Reopen => {}
    }
}

pub fn run_op(worker: &mut ChunkWorker, op: &Op) -> Result<(), ChunkError> {
    match op {
        Op::Write { offset, len, seed } => write(worker, write_op(FILE, *offset, pattern(*seed, *len))),
        Op::Truncate { len } => truncate(worker, *len),
        Op::Punch { offset, len } => worker.punch(FILE, *offset, *len),
        Op::Copy { from, offset, len } => copy(worker, (FILE, *from), *offset, *len),
        Op::Sync => worker.sync(FILE),
        Op::Idle => match worker.begin_idle_sync(std::time::Instant::now(), std::time::Duration::ZERO, 100) {
            Some(mut job) => {
                job.run();
                worker.end_sync(job).map(drop)
            }
            None => Ok(()),
        },
        Op::Reopen => Ok(()),
    }
}

/// Writes as the service does it: at once if possible.
pub fn write(worker: &mut ChunkWorker, op: WriteOp) -> Result<(), ChunkError> {
    match worker.write_optimistically(vec![op]).pop() {
        Some(Written::Done(result)) => result,
        Some(Written::NotYet(op)) => worker.write(op),
        None => panic!("one write has one result"),
    }
}

/// Cuts [`FILE`], as the service does it before it answers.
pub fn truncate(worker: &mut ChunkWorker, len: u64) -> Result<(), ChunkError> {
    worker.truncate(FILE, len)?;
    match worker.begin_cut_sync(FILE)? {
        Some(mut job) => {
            job.run();
            worker.end_sync(job).map(drop)
        }
        None => Ok(()),
    }
}

/// Copies to [`FILE`], as the service does it.
pub fn copy(worker: &mut ChunkWorker, from: (ChunkFileId, u64), offset: u64, len: u32) -> Result<(), ChunkError> {
    let mut read = worker.read(from.0, from.1, len, true)?;
    let start = pad_copy(&mut read, from.1, len);
    worker.write(copy_write(Author::OWN, FILE, offset, Bytes::from_owner(read.data).slice(start..)))
}

/// The whole content, with every checksum compared both here and there.
pub fn content(worker: &mut ChunkWorker, file: ChunkFileId) -> Result<Vec<u8>, ChunkError> {
    let (len, _) = worker.stat(file)?;
    let out = worker.read(file, 0, len.next_multiple_of(4096).max(1 << 20) as u32, true)?;
    assert_eq!((out.start, out.data.len() as u64), (0, len));
    for (block, crc) in out.data.chunks(4096).zip(&out.crcs) {
        assert_eq!(crc32c_zero_padded(block), *crc, "a client would see a mismatch");
    }
    Ok(out.data.to_vec())
}

fn check_queries(worker: &mut ChunkWorker, model: &[u8]) {
    for offset in [0, 1, 4096, 9000, 64 * 4096, model.len() as u64] {
        let data = worker.seek(FILE, offset, false).unwrap();
        let skipped = offset as usize..data.map_or(model.len(), |at| at as usize).max(offset as usize);
        let skipped = model.get(skipped.start.min(model.len())..skipped.end).unwrap_or(&[]);
        assert!(skipped.iter().all(|byte| *byte == 0), "seek skipped data after {offset}");
        let hole = worker.seek(FILE, offset, true).unwrap().unwrap();
        assert!(hole >= offset && (hole as usize) <= model.len().max(offset as usize));
    }
    if let Some(loose) = worker.optimistic_read(FILE, 5000, 3000) {
        let mut data = loose.buffer();
        let n = loose.handle().map_or(0, |handle| handle.read_at(&mut data, loose.start()).unwrap());
        data.truncate(n);
        let (loose, whole) = (loose.finish(data).unwrap(), worker.read(FILE, 5000, 3000, true).unwrap());
        assert_eq!((loose.start, &loose.data[..], loose.crcs), (whole.start, &whole.data[..], whole.crcs));
    }
    let part = worker.read(FILE, 5000, 3000, false).unwrap();
    let expected = model.get(4096..model.len().min(8192)).unwrap_or(&[]);
    assert_eq!((part.start, &part.data[..]), (4096, expected));
}

fn run_against_model(ops: &[Op], disk: Arc<dyn ChunkDisk>, table: Arc<dyn Table>) {
    let open = || ChunkStore::open(table.clone(), disk.clone(), &options(1)).unwrap().worker(0, 1);
    let (mut worker, mut model) = (open(), Vec::new());
    for op in ops {
        if *op == Op::Reopen {
            worker = open();
        }
        run_op(&mut worker, op).unwrap();
        apply_to_model(&mut model, op);
        assert_eq!(content(&mut worker, FILE).unwrap(), model, "after {op:?}");
        check_queries(&mut worker, &model);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn behaves_like_a_vector(ops in prop::collection::vec(any_op(), 1..25)) {
        let world = World::new(1);
        run_against_model(&ops, world.disk(), world.table());
    }

    #[test]
    fn behaves_like_a_vector_on_a_real_file_system(ops in prop::collection::vec(any_op(), 1..25)) {
        let dir = tempfile::tempdir().unwrap();
        run_against_model(&ops, Arc::new(OsDisk::open(dir.path()).unwrap()), World::new(1).table());
    }
}

#[test]
fn batches_are_as_one_after_the_other() {
    let world = World::new(1);
    let mut worker = open(&world, 1).unwrap();
    let other = ChunkFileId { index: 9, ..FILE };
    let group = 64 * 4096;
    let writes = [
        (FILE, 0, 1, 5000),
        (FILE, 4000, 2, 300),
        (other, 7, 3, 9000),
        (FILE, group, 4, 4096),
        (FILE, group + 5, 5, 9),
    ];
    let ops: Vec<_> = writes.map(|(file, at, seed, len)| write_op(file, at, pattern(seed, len))).into();
    assert!(worker.write_many(&ops).iter().all(Result::is_ok));
    let mut model = Vec::new();
    for (_, offset, seed, len) in writes.iter().filter(|(file, ..)| *file == FILE) {
        apply_to_model(&mut model, &Op::Write { offset: *offset, len: *len, seed: *seed });
    }
    assert_eq!(content(&mut worker, FILE).unwrap(), model);
    assert_eq!(content(&mut worker, other).unwrap()[7..], pattern(3, 9000));
}
