// SPDX-License-Identifier: Apache-2.0

//! What was applied is written in parts, or not at all.

use super::{content, open, open_with_tree};
use crate::testing::Machine;
use crate::{Batch, StoreError};

const VALUE: [u8; 600] = [7; 600];

fn key(n: usize) -> String {
    format!("key {n:02}")
}

/// Records of several segments; each mark is written up to, in order, and a process that dies then leaves at least what was
/// before it, and of what came after only what left a segment.
#[test]
fn a_death_leaves_what_was_written_up_to_a_mark() {
    for open in [open, open_with_tree] {
        for up_to in 1..=20 {
            let machine = Machine::new(3);
            let (store, _) = open(&machine).unwrap();
            let mut marks = Vec::new();
            for n in 0..20 {
                store.apply(Batch::new().put(key(n), VALUE)).unwrap();
                marks.push(store.mark());
            }
            let written = store.flush_up_to(marks[up_to - 1]).unwrap();
            assert_eq!(store.flush_up_to(marks[0]).unwrap(), written, "it is written already");
            machine.process_crash();
            drop(store);
            let (store, _) = open(&machine).unwrap();
            let found = content(&store);
            assert!(found.len() >= up_to, "{up_to}: {} are left", found.len());
            assert!((0..found.len()).all(|n| found.contains_key(key(n).as_bytes())), "what is left is the beginning");
        }
    }
}

#[test]
fn a_mark_in_the_newest_segment_takes_nothing_with_it() {
    let machine = Machine::new(3);
    let (store, _) = open(&machine).unwrap();
    store.apply(Batch::new().put(key(0), "a")).unwrap();
    let mark = store.mark();
    store.apply(Batch::new().put(key(1), "b")).unwrap();
    store.flush_up_to(mark).unwrap();
    store.apply(Batch::new().put(key(2), "c")).unwrap();
    machine.process_crash();
    drop(store);
    let (store, _) = open(&machine).unwrap();
    assert_eq!(content(&store).into_keys().collect::<Vec<_>>(), [key(0).into_bytes()]);
}

#[test]
fn an_abandoned_store_forgets_what_was_not_written() {
    let machine = Machine::new(3);
    let (store, _) = open(&machine).unwrap();
    store.apply(Batch::new().put(key(0), "written")).unwrap();
    store.flush().unwrap();
    store.apply(Batch::new().put(key(1), "applied")).unwrap();
    let other = store.clone();
    store.abandon();
    assert!(matches!(other.apply(Batch::new().put(key(2), "late")), Err(StoreError::Closed)));
    assert!(matches!(other.flush(), Err(StoreError::Closed)));
    drop(other);
    let (store, _) = open(&machine).unwrap();
    assert_eq!(content(&store).into_keys().collect::<Vec<_>>(), [key(0).into_bytes()]);
}
