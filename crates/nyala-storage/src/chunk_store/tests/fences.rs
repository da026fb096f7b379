// SPDX-License-Identifier: Apache-2.0

//! Fenced sessions: crashes at every step of fencing, writes under way, and the bound.

use super::model::{FILE, SESSION, SOURCE, content, open, options, pattern, write_op};
use super::sim::{Event, World};
use crate::chunk_store::rows::tag;
use crate::chunk_store::{ChunkError, ChunkStore, ChunkWorker, Region, WriteOp};
use bytes::Bytes;
use nyala_wire::SessionId;

fn of(session: u64) -> WriteOp {
    WriteOp { session: SessionId(session), ..write_op(FILE, 0, pattern(2, 100)) }
}

fn is_fenced(worker: &mut ChunkWorker, session: u64) -> bool {
    match worker.write(of(session)) {
        Ok(()) => false,
        Err(ChunkError::Fenced) => true,
        Err(other) => panic!("session {session}: {other}"),
    }
}

#[test]
fn an_answered_fence_survives_any_crash() {
    let (mut acknowledgements, mut crashes) = (0, 0);
    for step in 1..8 {
        for machine in [false, true] {
            let world = World::new(step);
            let mut worker = open(&world, 1).unwrap();
            worker.write(write_op(FILE, 0, pattern(1, 9000))).unwrap();
            world.at(Some((step, Event::Crash)));
            let acknowledged = worker.fence(SESSION).is_ok() && world.table().sync().is_ok();
            acknowledgements += u32::from(acknowledged);
            crashes += u32::from(world.crashed());
            if machine {
                world.restart_machine()
            } else {
                world.restart_process()
            }
            let mut worker = open(&world, if machine { 2 } else { 1 }).unwrap();
            if acknowledged {
                assert!(is_fenced(&mut worker, SESSION.0), "step {step}, machine {machine}");
                assert_eq!(content(&mut worker, FILE).map(|found| found.len() <= 9000).ok(), Some(true), "reads go on");
            } else {
                is_fenced(&mut worker, SESSION.0);
            }
            assert!(!is_fenced(&mut worker, 7), "others are not");
        }
    }
    assert!(acknowledgements > 0 && crashes > 0, "both happened");
}

#[test]
fn a_refused_write_changes_nothing_and_spares_its_neighbours() {
    let world = World::new(1);
    let mut worker = open(&world, 1).unwrap();
    worker.write(write_op(FILE, 0, pattern(1, 9000))).unwrap();
    worker.fence(SESSION).unwrap();
    worker.fence(SESSION).expect("again is fine");
    assert!(matches!(worker.fence(ChunkWorker::OWN), Err(ChunkError::Invalid(_))));
    let fenced = write_op(FILE, 4096, pattern(3, 4096));
    let good = WriteOp { session: SessionId(7), ..write_op(SOURCE, 0, pattern(4, 10)) };
    let results = worker.write_many(&[fenced, good]);
    assert!(matches!(&results[..], [Err(ChunkError::Fenced), Ok(())]), "{results:?}");
    assert_eq!(content(&mut worker, FILE).unwrap(), pattern(1, 9000));
    assert_eq!(world.keys(tag::INTENT), 0);
    worker.punch(FILE, 10, 100).expect("what the target writes itself has no session");
}

#[test]
fn a_failed_log_does_not_fence() {
    let world = World::new(1);
    let mut worker = open(&world, 1).unwrap();
    world.at(Some((1, Event::Fail(libc::ENOSPC))));
    assert!(matches!(worker.fence(SESSION), Err(ChunkError::NoSpace)));
    assert!(!is_fenced(&mut worker, SESSION.0), "nobody was told that it is");
}

#[test]
fn the_newest_are_kept() {
    let world = World::new(1);
    let store = || ChunkStore::open(world.table(), world.disk(), &options(1)).unwrap();
    let mut worker = store().worker(0, 1);
    for session in [1, 2, 3, 1, 4] {
        worker.shared.fence_of(SessionId(session), 3).unwrap();
    }
    for again in [false, true] {
        let fenced: Vec<u64> = (1..6).filter(|session| is_fenced(&mut worker, *session)).collect();
        assert_eq!(fenced, [1, 3, 4], "fenced longest ago goes first; opened again: {again}");
        assert_eq!(world.keys(tag::FENCE), 3);
        worker = store().worker(0, 1);
    }
    worker.shared.fence_of(SessionId(5), 3).unwrap();
    assert!(!is_fenced(&mut worker, 3) && is_fenced(&mut worker, 1), "the order is that of before");
}

#[test]
fn nothing_is_under_way_when_a_fence_is_answered() {
    for round in 0..20 {
        let world = World::new(round);
        let store = ChunkStore::open(world.table(), world.disk(), &options(1)).unwrap();
        let mut fencing = store.worker(0, 2);
        let mut writing = store.worker(1, 2);
        let writer = std::thread::spawn(move || {
            let mut done = 0;
            while writing.write(write_op(FILE, 0, pattern(1, 9000))).is_ok() {
                done += 1;
            }
            done
        });
        while world.steps() < 40 {
            std::thread::yield_now();
        }
        fencing.fence(SESSION).unwrap();
        let steps = world.steps();
        assert!(writer.join().unwrap() > 0);
        assert_eq!(world.steps(), steps, "something was written after the fence");
    }
}

#[test]
fn a_list_of_another_member_adds_and_never_takes_away() {
    let (one, other) = (World::new(1), World::new(2));
    let (mut from, mut to) = (open(&one, 1).unwrap(), open(&other, 1).unwrap());
    for session in [5, 3, 4] {
        from.fence(SessionId(session)).unwrap();
    }
    for session in [4, 9] {
        to.fence(SessionId(session)).unwrap();
    }
    let list = from.fence_list();
    list.check().unwrap();
    to.take_fences(&list).unwrap();
    to.take_fences(&list).expect("again is fine");
    assert_eq!([3, 4, 5, 9, 7].map(|session| is_fenced(&mut to, session)), [true, true, true, true, false]);
    let sessions = |numbers: [u64; 3]| numbers.into_iter().map(SessionId);
    to.shared.take_fences(sessions([3, 1, 2]), 4).unwrap();
    assert_eq!([1, 2, 3, 5, 4, 9].map(|session| is_fenced(&mut to, session)), [true, true, true, true, false, false]);
    let odd = Region { data: Bytes::from(vec![1; 9]), ..list.clone() };
    let nobody = Region { data: Bytes::from(vec![0; 8]), ..list };
    assert!([odd, nobody].iter().all(|list| matches!(to.take_fences(list), Err(ChunkError::Invalid(_)))));
}
