// SPDX-License-Identifier: Apache-2.0

//! Several writers and readers at once, with checkpoints and segment changes going on: batches stay whole to every
//! reader, nothing a reader saw goes back, and all of it is there after reopening.

use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::content;
use crate::{Batch, Options, Store};

const WRITERS: u64 = 3;
const ROUNDS: u64 = 2_000;

fn options() -> Options {
    Options {
        segment_bytes: 128 << 10,
        table_bytes: 256 << 20,
        memory_soft_bytes: 20 << 10,
        memory_hard_bytes: 200 << 10,
        sync_interval: Duration::from_millis(3),
        ..Options::default()
    }
}

/// Each writer counts up the same number under two keys far apart, and one key per round that it deletes later.
fn write(store: &Store, writer: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        for round in 1..=ROUNDS {
            store.wait_room().await;
            let mut batch = Batch::new();
            batch.put([b'a', writer as u8], round.to_le_bytes()).put([b'z', writer as u8], round.to_le_bytes());
            batch.put(format!("m{writer}-{round}"), [1; 60]);
            if round > 10 {
                batch.delete(format!("m{writer}-{}", round - 10));
            }
            let lsn = store.apply(&batch).unwrap();
            store.flush().unwrap();
            if round % 100 == 0 {
                store.wait_durable(lsn).await.unwrap();
            }
        }
    });
}

fn read(store: &Store, stop: &AtomicBool) -> u64 {
    let (mut last, mut scans) = ([0u64; WRITERS as usize], 0);
    while !stop.load(Ordering::Relaxed) {
        let (mut first, mut second) = ([0u64; WRITERS as usize], [0u64; WRITERS as usize]);
        let mut middle = 0u64;
        let mut visit = |key: &[u8], value: &[u8]| {
            let number = || u64::from_le_bytes(value.try_into().unwrap());
            match key[0] {
                b'a' => first[usize::from(key[1])] = number(),
                b'z' => second[usize::from(key[1])] = number(),
                _ => middle += 1,
            }
            ControlFlow::Continue(())
        };
        store.scan(Bound::Unbounded, Bound::Unbounded, &mut visit).unwrap();
        assert_eq!(first, second, "half a batch");
        assert_eq!(middle, first.iter().map(|rounds| *rounds.min(&10)).sum::<u64>());
        for (writer, last) in last.iter_mut().enumerate() {
            let got = store.get(&[b'a', writer as u8]).unwrap();
            let got = got.map_or(0, |value| u64::from_le_bytes((*value).try_into().unwrap()));
            assert!(first[writer] >= *last && got >= first[writer], "went back");
            *last = got;
        }
        scans += 1;
    }
    scans
}

#[test]
fn readers_and_writers_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path(), options()).unwrap();
    let stop = AtomicBool::new(false);
    let scans = std::thread::scope(|scope| {
        let reader = scope.spawn(|| read(&store, &stop));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn({
                    let store = &store;
                    move || write(store, writer)
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    let stats = store.stats();
    assert!(scans > 0 && stats.checkpoints > 3 && stats.syncs > 3, "{scans} scans, {stats:?}");
    // Markers are records too; there are few while somebody writes.
    let markers = stats.applied.0 - WRITERS * ROUNDS;
    assert!(markers <= stats.syncs, "{markers} markers, {stats:?}");
    let before = content(&store);
    drop(store);
    let (store, recovery) = Store::open(dir.path(), options()).unwrap();
    assert_eq!((content(&store), recovery.cut_bytes), (before, 0));
}

#[test]
fn a_checkpoint_that_is_asked_for_is_made_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { table_bytes: 256 << 20, ..Options::default() };
    assert!(options.checkpoint_interval > Duration::from_secs(20));
    let (store, _) = Store::open(dir.path(), options).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let soon = |store: &Store| {
            let store = store.clone();
            async move { tokio::time::timeout(Duration::from_secs(15), store.checkpointed()).await.unwrap().unwrap() }
        };
        soon(&store).await;
        for round in 1..=3_u8 {
            let mut batch = Batch::new();
            batch.put([round], [round; 100]);
            let lsn = store.apply(&batch).unwrap();
            soon(&store).await;
            let stats = store.stats();
            assert_eq!((stats.checkpoint, stats.active_bytes + stats.frozen_bytes), (lsn, 0));
        }
        assert_eq!(store.stats().checkpoints, 3, "none where there is nothing to do");
        store.clone().close().unwrap();
        assert!(store.checkpointed().await.is_ok(), "nothing is left to do");
    });
}
