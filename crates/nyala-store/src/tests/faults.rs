// SPDX-License-Identifier: Apache-2.0

//! Errors that the disk reports: EIO poisons, lack of space is refused cleanly and can be tried again.

use super::{Content, Opener, content, open, open_with_tree};
use crate::testing::Machine;
use crate::{Batch, Store, StoreError};

fn numbered(number: u32) -> Batch {
    let mut batch = Batch::new();
    batch.put(number.to_le_bytes(), [number as u8; 100]);
    batch
}

#[test]
fn a_failed_write_or_sync_poisons_and_nothing_promised_is_lost() {
    fail_everywhere(open);
}

#[test]
fn a_failed_write_or_sync_of_the_tree_poisons_and_nothing_promised_is_lost() {
    fail_everywhere(open_with_tree);
}

fn fail_everywhere(open: Opener) {
    let work = |store: &Store, synced: &mut Content| -> Result<(), StoreError> {
        for number in 0..12 {
            store.apply(numbered(number))?;
            store.flush()?;
            if number % 3 == 2 {
                store.sync_blocking()?;
                *synced = content(store);
            }
            if number == 7 {
                store.checkpoint_blocking()?;
            }
        }
        Ok(())
    };
    let whole = Machine::new(5);
    let (store, _) = open(&whole).unwrap();
    let first = whole.points();
    work(&store, &mut Content::new()).unwrap();
    for point in first..whole.points() {
        let machine = Machine::new(point);
        let (store, _) = open(&machine).unwrap();
        machine.fail_at(point);
        let mut synced = Content::new();
        let error = work(&store, &mut synced).expect_err("an operation failed");
        assert!(matches!(error, StoreError::Poisoned { .. }), "point {point}: {error}");
        // It stays so, although the disk works again.
        for again in [store.apply(numbered(99)).err(), store.flush().err(), store.sync_blocking().err()] {
            assert!(matches!(again, Some(StoreError::Poisoned { .. })), "point {point}");
        }
        assert!(store.checkpoint_blocking().is_err());
        machine.power_cut();
        drop(store);
        let (store, _) = open(&machine).unwrap_or_else(|error| panic!("point {point}: {error}"));
        let found = content(&store);
        assert!(synced.iter().all(|(key, value)| found.get(key) == Some(value)), "point {point}");
    }
}

/// The pages of a failed sync count as clean, and are read by the process that starts next.
#[test]
fn what_is_there_after_a_failed_sync_and_a_start_is_on_disk() {
    let work = |store: &Store| -> Result<(), StoreError> {
        for number in 0..12 {
            store.apply(numbered(number))?;
            store.flush()?;
            if number % 3 == 2 {
                store.sync_blocking()?;
            }
        }
        Ok(())
    };
    for open in [open as Opener, open_with_tree] {
        let whole = Machine::new(6);
        let (store, _) = open(&whole).unwrap();
        let first = whole.points();
        work(&store).unwrap();
        for point in first..whole.points() {
            let machine = Machine::new(point);
            let (store, _) = open(&machine).unwrap();
            machine.fail_at(point);
            work(&store).expect_err("an operation failed");
            machine.process_crash();
            drop(store);
            let (store, _) = open(&machine).unwrap_or_else(|error| panic!("point {point}: {error}"));
            store.sync_blocking().unwrap();
            let promised = content(&store);
            machine.power_cut();
            drop(store);
            let (store, _) = open(&machine).unwrap_or_else(|error| panic!("point {point}, power: {error}"));
            assert_eq!(content(&store).len(), promised.len(), "point {point}");
            assert!(content(&store) == promised, "point {point}");
        }
    }
}

#[test]
fn a_failed_sync_reaches_those_who_wait() {
    let machine = Machine::new(0);
    let options = crate::Options { manual: false, ..super::small() };
    let (store, _) = Store::open_with(machine.disk(), machine.ordered(), options).unwrap();
    let lsn = store.apply(numbered(1)).unwrap();
    store.flush().unwrap();
    machine.fail_at(machine.points());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = runtime.block_on(store.wait_durable(lsn));
    assert!(matches!(result, Err(StoreError::Poisoned { .. })), "{result:?}");
    assert!(store.apply(numbered(2)).is_err());
    // What is in memory can still be read, and stopping does not hang.
    assert!(store.get(&1u32.to_le_bytes()).unwrap().is_some());
    drop(store);
}

#[test]
fn no_space_for_a_segment_refuses_the_batch_and_changes_nothing() {
    let machine = Machine::new(0);
    let (store, _) = open(&machine).unwrap();
    store.apply(numbered(0)).unwrap();
    machine.set_free_bytes(Some(100));
    let (mut accepted, mut number) = (1, 1);
    let refused = loop {
        match store.apply(numbered(number)) {
            Ok(_) => accepted += 1,
            Err(error) => break error,
        }
        number += 1;
        assert!(number < 100, "the segment must fill up");
    };
    assert!(matches!(refused, StoreError::Full { .. }), "{refused}");
    assert_eq!(content(&store).len(), accepted);
    assert_eq!(store.stats().applied.0, accepted as u64);
    // A checkpoint releases the old segments, and work goes on with the very next number.
    store.sync_blocking().unwrap();
    assert!(matches!(store.apply(numbered(number)), Err(StoreError::Full { .. })));
    machine.set_free_bytes(None);
    assert_eq!(store.apply(numbered(number)).unwrap().0, accepted as u64 + 1);
    store.flush().unwrap();
    machine.process_crash();
    let (store, recovery) = open(&machine).unwrap();
    assert_eq!((content(&store).len(), recovery.replayed_records), (accepted + 1, accepted as u64 + 1));
}

#[test]
fn a_full_ordered_store_is_tried_again() {
    let machine = Machine::new(0);
    let (store, _) = open(&machine).unwrap();
    for number in 0..10 {
        store.apply(numbered(number)).unwrap();
    }
    machine.set_ordered_full(true);
    assert!(matches!(store.checkpoint_blocking(), Err(StoreError::OrderedFull { .. })));
    for number in 5..15 {
        store.apply(numbered(number)).unwrap();
    }
    assert_eq!(content(&store).len(), 15);
    assert_eq!(store.stats().checkpoint_failures, 1);
    machine.set_ordered_full(false);
    store.checkpoint_blocking().unwrap();
    let stats = store.stats();
    assert_eq!((stats.checkpoint, stats.active_bytes, stats.frozen_bytes, stats.segments), (stats.applied, 0, 0, 1));
    assert_eq!(content(&store).len(), 15);
}

#[test]
fn a_disk_that_others_filled_is_worked_on_within_the_reserve() {
    let machine = Machine::new(0);
    let tree = crate::tree::Tree::open(&*machine.disk(), 1 << 30, 0).unwrap().with_reserve(4 << 20);
    let options = crate::Options { segment_bytes: 1 << 20, manual: true, ..crate::Options::default() };
    let (store, _) = Store::open_with(machine.disk(), std::sync::Arc::new(tree), options).unwrap();
    let large = |number: u32| -> Batch {
        let mut batch = Batch::new();
        batch.put(number.to_le_bytes(), vec![number as u8; 100_000]);
        batch
    };
    store.apply(large(0)).unwrap();
    // Room for one small segment, and for nothing of the usual size.
    machine.set_free_bytes(Some(400_000));
    let mut number = 0;
    let refused = loop {
        number += 1;
        match store.apply(large(number)) {
            Ok(_) => assert!(number < 40, "the disk must fill up"),
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, StoreError::Full { .. }) && number > 10, "{refused}, {number}");
    // The checkpoint finds its reserve, and what it releases makes room to remove things.
    store.checkpoint_blocking().unwrap();
    for gone in 0..number {
        let mut batch = Batch::new();
        batch.delete(gone.to_le_bytes());
        store.apply(batch).unwrap();
    }
    store.checkpoint_blocking().unwrap();
    assert_eq!((content(&store).len(), store.stats().checkpoint_failures), (0, 0));
    store.apply(large(1)).unwrap();
    store.flush().unwrap();
}

/// One large segment and nothing else: a checkpoint cannot release it before the next one is made.
#[test]
fn a_log_of_one_segment_goes_on_where_nothing_can_be_allocated() {
    let machine = Machine::new(0);
    let open = || {
        let tree = crate::tree::Tree::open(&*machine.disk(), 1 << 30, 0).unwrap().with_reserve(4 << 20);
        let options = crate::Options { segment_bytes: 4 << 20, manual: true, ..crate::Options::default() };
        Store::open_with(machine.disk(), std::sync::Arc::new(tree), options).unwrap().0
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    // Room is waited for before each change, as services do.
    let change = |store: &Store, number: u32, len: usize| {
        runtime.block_on(store.wait_room());
        let mut batch = Batch::new();
        if len > 0 {
            batch.put(number.to_le_bytes(), vec![7; len]);
        } else {
            batch.delete(number.to_le_bytes());
        }
        store.apply(batch).unwrap_or_else(|error| panic!("change {number}: {error}"));
    };
    let mut store = open();
    change(&store, 0, 100);
    for (bytes, inodes) in [(Some(0), None), (None, Some(0))] {
        machine.set_free_bytes(bytes);
        machine.set_free_inodes(inodes);
        // Many times what the segment holds, with restarts in between.
        for round in 0..4 {
            for number in 0..2000 {
                change(&store, number % 10, if number % 20 < 10 { 4000 } else { 0 });
            }
            store.flush().unwrap();
            drop(store);
            if round % 2 == 0 {
                machine.process_crash()
            } else {
                machine.power_cut()
            }
            store = open();
        }
        machine.set_free_bytes(None);
        machine.set_free_inodes(None);
        store.checkpoint_blocking().unwrap();
    }
}
