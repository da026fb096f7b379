// SPDX-License-Identifier: Apache-2.0

//! Checkpoints that do not fit on the disk in one commit go through in slices, and a crash between two of them loses nothing.

use std::sync::Arc;

use super::{Content, content};
use crate::testing::Machine;
use crate::tree::Tree;
use crate::{Batch, Options, Recovery, Store, StoreError};
use nyala_wire::SplitMix64;

const RESERVE_BYTES: u64 = 512 << 10;

fn open(machine: &Machine) -> Result<(Store, Recovery), StoreError> {
    let tree = Tree::open(&*machine.disk(), 1 << 30, 0)?.with_reserve(RESERVE_BYTES);
    let options = Options { segment_bytes: 4 << 20, manual: true, ..Options::default() };
    Store::open_with(machine.disk(), Arc::new(tree), options)
}

/// Rows that take `rows` * 200 bytes, in a checkpoint, on a disk that is full from then on.
fn filled(machine: &Machine, rows: u32) -> Store {
    let (store, _) = open(machine).unwrap();
    change(&store, 0..rows, |_| Some(1)).unwrap();
    store.checkpoint_blocking().unwrap();
    machine.set_free_bytes(Some(0));
    store
}

fn change(store: &Store, rows: std::ops::Range<u32>, value: impl Fn(u32) -> Option<u8>) -> Result<(), StoreError> {
    for number in rows {
        let mut batch = Batch::new();
        match value(number) {
            Some(value) => batch.put(number.to_be_bytes(), [value; 200]),
            None => batch.delete(number.to_be_bytes()),
        };
        store.apply(&batch)?;
    }
    Ok(())
}

#[test]
fn a_checkpoint_larger_than_what_is_free_goes_through_in_slices() {
    let machine = Machine::new(0);
    let rows = 3500;
    let store = filled(&machine, rows);
    // One commit would need room for every page of the table once more, and there is less than that.
    change(&store, 0..rows, |number| (number % 7 != 0).then_some(2)).unwrap();
    store.checkpoint_blocking().unwrap();
    let expected: Content =
        (0..rows).filter(|n| n % 7 != 0).map(|n| (n.to_be_bytes().to_vec(), vec![2; 200])).collect();
    assert!(content(&store) == expected);
    let stats = store.stats();
    assert_eq!((stats.checkpoint, stats.frozen_bytes, stats.checkpoint_failures), (stats.applied, 0, 0));
    drop(store);
    let (store, recovery) = open(&machine).unwrap();
    assert_eq!(recovery.replayed_records, 0);
    assert!(content(&store) == expected);
}

#[test]
fn a_crash_between_slices_loses_nothing() {
    let rows = 3000;
    let work = |store: &Store| -> Result<(), StoreError> {
        change(store, 0..rows, |number| (number % 3 != 0).then_some(2))?;
        store.sync_blocking()?;
        store.checkpoint_blocking()
    };
    let whole = Machine::new(1);
    let store = filled(&whole, rows);
    let first = whole.points();
    work(&store).unwrap();
    let expected = content(&store);
    let points = whole.points();
    assert!(points > first + 20, "in {} points there is no slice", points - first);
    drop(store);
    let mut random = SplitMix64::new(1);
    for point in (first..points).step_by(3) {
        let machine = Machine::new(point);
        let store = filled(&machine, rows);
        assert_eq!(machine.points(), first);
        machine.crash_at(point);
        work(&store).expect_err("it crashed");
        let synced = store.durable();
        if random.coin() {
            machine.power_cut()
        } else {
            machine.process_crash()
        }
        drop(store);
        let (store, _) = open(&machine).unwrap_or_else(|error| panic!("point {point}: {error}"));
        if synced.0 >= u64::from(2 * rows) {
            assert!(content(&store) == expected, "point {point}");
        }
        store.checkpoint_blocking().unwrap();
        drop(store);
    }
}
