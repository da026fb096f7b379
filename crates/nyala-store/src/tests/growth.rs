// SPDX-License-Identifier: Apache-2.0

//! A disk that the store itself filled: growing is refused in time, everything can be removed, and then it grows again.

use std::sync::Arc;

use super::content;
use crate::testing::Machine;
use crate::tree::Tree;
use crate::{Batch, ChangeKind, Options, Store, StoreError};
use nyala_wire::SplitMix64;

const DISK_BYTES: u64 = 32 << 20;

fn open(machine: &Machine) -> Store {
    let tree = Tree::open(&*machine.disk(), 1 << 30, 0).unwrap().with_reserve(4 << 20);
    let options = Options { segment_bytes: 8 << 20, memory_soft_bytes: 4 << 20, manual: true, ..Options::default() };
    Store::open_with(machine.disk(), Arc::new(tree), options).unwrap().0
}

/// As a service does it: what grows asks first, what does not only waits for a checkpoint where one has to be made.
async fn grow(store: &Store, key: u64, len: usize) -> Result<(), StoreError> {
    store.wait_room().await;
    store.wait_to(ChangeKind::Grows).await?;
    store.apply(Batch::new().put(key.to_be_bytes(), vec![key as u8; len])).map(drop)
}

async fn remove(store: &Store, key: u64) {
    store.wait_room().await;
    let removed = store.apply(Batch::new().delete(key.to_be_bytes()));
    removed.unwrap_or_else(|error| panic!("a removal from a full store: {error}"));
}

/// Adds rows of up to `most` bytes until that is refused.
async fn fill(store: &Store, random: &mut SplitMix64, most: u64) -> Vec<u64> {
    let mut keys = Vec::new();
    let refused = loop {
        let key = random.bits();
        match grow(store, key, 1 + random.below(most) as usize).await {
            Ok(()) => keys.push(key),
            Err(error) => break error,
        }
        assert!(keys.len() < 400_000, "the disk must fill up");
    };
    assert!(matches!(refused, StoreError::Reserved { .. }), "after {} rows: {refused}", keys.len());
    keys
}

fn counter(store: &Store, name: &str) -> u64 {
    let counters = crate::metrics::counters(&"own", store);
    counters.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name}: {counters:?}")).1
}

#[test]
fn a_store_says_that_its_disk_is_full_what_a_checkpoint_lacked_and_how_long_syncs_took() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (machine, mut random) = (Machine::new(7), SplitMix64::new(7));
    machine.set_total_bytes(Some(DISK_BYTES));
    machine.set_free_bytes(Some(DISK_BYTES));
    let store = open(&machine);
    let keys = runtime.block_on(fill(&store, &mut random, 300));
    store.sync_blocking().unwrap();
    let full =
        ["must_not_grow", "checkpoint_fails", "stopped"].map(|what| counter(&store, &format!("store.own.{what}")));
    assert_eq!(full, [1, 0, 0]);
    assert!(counter(&store, "store.own.free_bytes") < DISK_BYTES / 2);
    assert_eq!(counter(&store, "store.own.total_bytes"), DISK_BYTES);
    assert!(counter(&store, "disk.own.log.count") > 0 && counter(&store, "disk.own.log.waiting_ms") == 0);
    runtime.block_on(async {
        for key in keys {
            remove(&store, key).await;
        }
        grow(&store, 1, 10).await.unwrap();
    });
    assert_eq!(counter(&store, "store.own.must_not_grow"), 0);
    store.apply(Batch::new().put("key", "value")).unwrap();
    machine.fail_at(machine.points());
    store.sync_blocking().unwrap_err();
    assert_eq!(counter(&store, "store.own.stopped"), 1);
}

#[test]
fn a_full_store_is_emptied_from_within_and_grows_again() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for (seed, most) in [(1, 300), (2, 5000)] {
        let (machine, mut random) = (Machine::new(seed), SplitMix64::new(seed));
        machine.set_total_bytes(Some(DISK_BYTES));
        machine.set_free_bytes(Some(DISK_BYTES));
        let mut store = open(&machine);
        let mut first = None;
        for round in 0..3 {
            let mut keys = runtime.block_on(fill(&store, &mut random, most));
            let bytes = keys.len() as u64 * most / 2;
            assert!(bytes > DISK_BYTES / 8, "round {round}: it was full with {bytes} bytes");
            let least = *first.get_or_insert(keys.len()) * 3 / 4;
            assert!(keys.len() >= least, "round {round}: {} rows, and {first:?} at first", keys.len());
            if round == 1 {
                store.flush().unwrap();
                drop(store);
                machine.process_crash();
                store = open(&machine);
            }
            assert_eq!(content(&store).len(), keys.len());
            runtime.block_on(async {
                while !keys.is_empty() {
                    let key = keys.swap_remove(random.below(keys.len() as u64) as usize);
                    remove(&store, key).await;
                }
            });
            assert_eq!(content(&store).len(), 0);
            store.checkpoint_blocking().unwrap();
        }
    }
}

#[test]
fn growth_is_refused_where_others_fill_the_disk_or_use_up_the_inodes() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let machine = Machine::new(3);
    machine.set_total_bytes(Some(DISK_BYTES));
    let store = open(&machine);
    runtime.block_on(async {
        grow(&store, 1, 100).await.unwrap();
        // The table's reserve is there, and that is just what has to stay.
        for (bytes, inodes) in [(Some(0), None), (None, Some(3))] {
            machine.set_free_bytes(bytes);
            machine.set_free_inodes(inodes);
            let refused = loop {
                store.apply(Batch::new().put([9; 8], vec![1; 100_000])).unwrap();
                store.wait_room().await;
                if let Err(error) = grow(&store, 2, 100).await {
                    break error;
                }
            };
            assert!(matches!(refused, StoreError::Reserved { .. }), "{refused}");
            remove(&store, 2).await;
            machine.set_free_bytes(None);
            machine.set_free_inodes(None);
            grow(&store, 2, 100).await.unwrap();
        }
    });
}
