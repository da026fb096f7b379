// SPDX-License-Identifier: Apache-2.0

//! What is known without the disk.

use super::small;
use crate::testing::Machine;
use crate::tree::Tree;
use crate::{Batch, Store};
use std::sync::Arc;

fn open(machine: &Machine) -> Store {
    let tree = Tree::open(&*machine.disk(), 1 << 30, 4 << 20).unwrap();
    Store::open_with(machine.disk(), Arc::new(tree), small()).unwrap().0
}

#[test]
fn what_is_in_memory_is_known_without_the_disk_and_nothing_else_is() {
    let machine = Machine::new(3);
    let store = open(&machine);
    let (key, large) = (|number: u32| number.to_be_bytes(), vec![7; 20_000]);
    assert_eq!(store.peek(&key(1)), Some(None), "an empty store has nothing");
    let mut batch = Batch::new();
    for number in 0..2000 {
        batch.put(key(number), [number as u8; 50]);
    }
    batch.put(key(5000), &large);
    store.apply(batch).unwrap();
    assert_eq!(store.peek(&key(9)).unwrap().unwrap()[..], [9; 50]);
    store.checkpoint_blocking().unwrap();
    drop(store);
    let store = open(&machine);
    assert_eq!(store.peek(&key(9)), None, "nothing was read yet");
    assert_eq!(store.get(&key(9)).unwrap().unwrap()[..], [9; 50]);
    assert_eq!(store.peek(&key(9)).unwrap().unwrap()[..], [9; 50]);
    assert_eq!(store.get(&key(5000)).unwrap().unwrap()[..], large[..]);
    assert_eq!(store.peek(&key(5000)), None, "its pages are its own");
    let mut batch = Batch::new();
    batch.delete(key(9));
    store.apply(batch).unwrap();
    assert_eq!(store.peek(&key(9)), Some(None), "what is newer counts");
    for number in 0..2000 {
        let peeked = store.peek(&key(number));
        assert!(peeked.is_none_or(|peeked| peeked == store.get(&key(number)).unwrap()), "{number}");
    }
}
