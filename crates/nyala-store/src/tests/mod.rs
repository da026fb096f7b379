// SPDX-License-Identifier: Apache-2.0

//! Tests of the whole store, one file per promise.

mod crash;
mod damage;
mod faults;
mod files;
mod growth;
mod model;
mod parts;
mod peek;
mod scrub;
mod slices;
mod threads;
mod tree;
mod tree_damage;

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use crate::testing::Machine;
use crate::tree::Tree;
use crate::{Options, Recovery, Store, StoreError};

/// What a store holds.
type Content = BTreeMap<Vec<u8>, Vec<u8>>;

fn content(store: &Store) -> Content {
    let mut all = Content::new();
    let mut last: Option<Vec<u8>> = None;
    let mut visit = |key: &[u8], value: &[u8]| {
        assert!(last.as_deref().is_none_or(|last| last < key), "scan out of order");
        last = Some(key.to_vec());
        all.insert(key.to_vec(), value.to_vec());
        ControlFlow::Continue(())
    };
    store.scan(Bound::Unbounded, Bound::Unbounded, &mut visit).unwrap();
    all
}

/// Deterministic, with segments so small that a few records fill them.
fn small() -> Options {
    Options { segment_bytes: 4096 + 512, manual: true, ..Options::default() }
}

/// How the tests open a store; some do it in two ways.
type Opener = fn(&Machine) -> Result<(Store, Recovery), StoreError>;

/// With the tree of production on the same disk as the log, so that its writes and syncs are points as well.
fn open_with_tree(machine: &Machine) -> Result<(Store, Recovery), StoreError> {
    let tree = Tree::open(&*machine.disk(), 1 << 30, 0)?;
    Store::open_with(machine.disk(), Arc::new(tree), small())
}

fn open(machine: &Machine) -> Result<(Store, Recovery), StoreError> {
    Store::open_with(machine.disk(), machine.ordered(), small())
}
