// SPDX-License-Identifier: Apache-2.0

//! What is done at once, what is not, and reads that are overtaken by changes. That both ways of writing give the same is
//! what the other tests of this module show, which write at once where they can.

use super::model::{FILE, SESSION, SOURCE, content, open, pattern, write_op};
use super::sim::World;
use crate::chunk_store::{ChunkDisk, ChunkError, ChunkWorker, OptimisticRead, OsDisk, WriteOp, Written};
use nyala_transport::buffers::Buffer;
use nyala_wire::SessionId;

fn filled() -> (World, ChunkWorker) {
    let world = World::new(1);
    let mut worker = open(&world, 1).unwrap();
    worker.write(write_op(FILE, 0, pattern(1, 20_000))).unwrap();
    (world, worker)
}

fn data_of(read: &OptimisticRead) -> Buffer {
    let mut data = read.buffer();
    let n = read.handle().unwrap().read_at(&mut data, read.start()).unwrap();
    data.truncate(n);
    data
}

#[test]
fn a_read_notices_every_kind_of_change() {
    let changes: [fn(&mut ChunkWorker); 4] = [
        |worker| worker.write(write_op(FILE, 0, pattern(2, 4096))).unwrap(),
        |worker| worker.truncate(FILE, 5000).unwrap(),
        |worker| worker.punch(FILE, 0, 4096).unwrap(),
        |worker| assert!(worker.unlink(FILE, 1).is_ok()),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        for late in [false, true] {
            let (_, mut worker) = filled();
            let read = worker.optimistic_read(FILE, 0, 20_000).unwrap();
            let early = data_of(&read);
            change(&mut worker);
            let data = if late { data_of(&read) } else { early };
            assert!(read.finish(data).is_none(), "change {number}, data read late: {late}");
        }
    }
    let (_, mut worker) = filled();
    let read = worker.optimistic_read(FILE, 0, 20_000).unwrap();
    let out = read.finish(data_of(&worker.optimistic_read(FILE, 0, 20_000).unwrap())).expect("nothing has changed");
    assert_eq!(&out.data[..], pattern(1, 20_000));
}

#[test]
fn a_short_read_and_a_cut_file_are_left_to_the_worker() {
    let (world, mut worker) = filled();
    let read = worker.optimistic_read(FILE, 0, 20_000).unwrap();
    let mut data = data_of(&read);
    data.truncate(8192);
    assert!(read.finish(data).is_none());
    world.tamper(FILE, |content| content.truncate(9000));
    for (offset, len) in [(12_288, 4096), (4096, 12_000), (0, 20_000)] {
        let read = worker.optimistic_read(FILE, offset, len).unwrap();
        let data = data_of(&read);
        assert!(read.finish(data).is_none(), "the worker has to say that it is damaged");
    }
    let mut read = worker.optimistic_read(FILE, 0, 8192).unwrap();
    assert!(read.plan.ends_with(&worker.shared, 8192) && !read.plan.ends_with(&worker.shared, 8191));
    assert!(worker.optimistic_read(FILE, u64::MAX - 3, 4096).is_none(), "refused");
    assert!(worker.optimistic_read(SOURCE, 0, 4096).is_none(), "not open");
}

#[test]
fn what_is_in_memory_is_there_at_once() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let file = OsDisk::open(dir.path()).unwrap().open(FILE, true).unwrap().unwrap().file;
    file.write_at(&pattern(1, 6000), 0).unwrap();
    let mut data = vec![0; 4096];
    assert_eq!(file.read_cached(&mut data, 4096).unwrap(), Some(1904));
    assert_eq!(data[..1904], pattern(1, 6000)[4096..]);
}

fn try_write(worker: &mut ChunkWorker, op: WriteOp) -> Option<Result<(), ChunkError>> {
    match worker.write_optimistically(vec![op]).pop() {
        Some(Written::Done(result)) => Some(result),
        _ => None,
    }
}

#[test]
fn what_would_wait_is_not_done() {
    let (world, mut worker) = filled();
    let steps = world.steps();
    assert!(try_write(&mut worker, write_op(SOURCE, 0, vec![1])).is_none(), "not open");
    assert!(try_write(&mut worker, write_op(FILE, 0, pattern(1, 1 << 20))).is_none(), "large");
    assert_eq!(world.steps(), steps, "nothing was touched");
    assert!(matches!(try_write(&mut worker, write_op(FILE, 100, pattern(2, 50))), Some(Ok(()))));
    let mut wrong = write_op(FILE, 0, vec![1]);
    wrong.crcs[0] ^= 1;
    assert!(matches!(try_write(&mut worker, wrong), Some(Err(ChunkError::Damaged { .. }))));
    // Synced and idle: the flag has to be on disk before the next change, which takes a sync of the log.
    let mut job = worker.begin_idle_sync(std::time::Instant::now(), std::time::Duration::ZERO, 9).unwrap();
    job.run();
    worker.end_sync(job).unwrap();
    assert!(try_write(&mut worker, write_op(FILE, 0, pattern(2, 50))).is_none());
    worker.write(write_op(FILE, 0, pattern(2, 50))).unwrap();
    assert!(matches!(try_write(&mut worker, write_op(FILE, 50, pattern(3, 50))), Some(Ok(()))));
    worker.fence(SESSION).unwrap();
    assert!(matches!(try_write(&mut worker, write_op(FILE, 0, vec![1])), Some(Err(ChunkError::Fenced))));
    assert_eq!(content(&mut worker, FILE).unwrap()[..50], pattern(2, 50));
}

#[test]
fn results_stay_with_their_writes() {
    let (_, mut worker) = filled();
    worker.fence(SessionId(9)).unwrap();
    let ops = vec![
        write_op(SOURCE, 0, vec![1]),
        write_op(FILE, 0, pattern(2, 4096)),
        WriteOp { session: SessionId(9), ..write_op(FILE, 4096, pattern(3, 4096)) },
        write_op(SOURCE, 7, vec![1]),
        write_op(FILE, 8192, pattern(4, 4096)),
    ];
    let written = worker.write_optimistically(ops);
    assert!(matches!(
        &written[..],
        [
            Written::NotYet(WriteOp { offset: 0, .. }),
            Written::Done(Ok(())),
            Written::Done(Err(ChunkError::Fenced)),
            Written::NotYet(WriteOp { offset: 7, .. }),
            Written::Done(Ok(()))
        ]
    ));
    let found = content(&mut worker, FILE).unwrap();
    assert_eq!((&found[..4096], &found[8192..12_288]), (&pattern(2, 4096)[..], &pattern(4, 4096)[..]));
    assert_eq!(found[4096..8192], pattern(1, 20_000)[4096..8192]);
}
