// SPDX-License-Identifier: Apache-2.0

//! Bits that flip on the disk: refused, or cut and reported; never silently wrong.

use super::{Content, content, open};
use crate::testing::Machine;
use crate::{Batch, Options, Store, StoreError};

fn apply(store: &Store, number: u8) -> Content {
    store.apply(Batch::new().put("number", [number]).put([b'k', number], [number; 40])).unwrap();
    content(store)
}

/// Four synced batches over two segments, then two that were only flushed. Returns the states after each.
fn machine(closed: bool) -> (Machine, Vec<Content>) {
    let machine = Machine::new(1);
    let (store, _) = open(&machine).unwrap();
    let mut states = vec![Content::new()];
    for number in 1..=4 {
        states.push(apply(&store, number));
        store.sync_blocking().unwrap();
    }
    for number in 5..=6 {
        states.push(apply(&store, number));
        store.flush().unwrap();
    }
    if closed {
        store.close().unwrap();
    }
    machine.process_crash();
    assert!(machine.files().len() >= 2);
    (machine, states)
}

/// Opens with every byte of the log flipped in turn. Returns how often the log was refused, and how often cut.
fn flip_every_byte(machine: &Machine, states: &[Content], synced: usize) -> (usize, usize) {
    let (mut refused, mut cut) = (0, 0);
    for (name, bytes) in machine.files() {
        for position in 0..bytes {
            let fork = machine.fork();
            let mut data = fork.read(&name).unwrap();
            data[position] ^= 0x01 << (position % 8);
            fork.overwrite(&name, data);
            match open(&fork) {
                Err(StoreError::LogDamaged { file, .. }) => {
                    assert_eq!(file, name);
                    refused += 1;
                }
                Err(other) => panic!("{name} byte {position}: {other}"),
                Ok((store, recovery)) => {
                    let found = content(&store);
                    let at = states.iter().position(|state| *state == found);
                    let at = at.unwrap_or_else(|| panic!("{name} byte {position}: silently wrong: {found:?}"));
                    assert!(at >= synced, "{name} byte {position}: lost synced batches silently, kept {at}");
                    if at < states.len() - 1 {
                        assert!(recovery.cut_bytes > 0, "{name} byte {position}: unreported cut");
                        cut += 1;
                    }
                }
            }
        }
    }
    (refused, cut)
}

#[test]
fn any_flipped_byte_is_refused_or_a_reported_cut_of_what_was_not_synced() {
    let (machine, states) = machine(false);
    // The last synced batch is vouched for by the records that followed it.
    let (refused, cut) = flip_every_byte(&machine, &states, 4);
    assert!(refused > 4 * 100 && cut > 2 * 50, "{refused} refused, {cut} cut");
}

#[test]
fn after_a_clean_close_everything_is_vouched_for() {
    let (machine, states) = machine(true);
    let (refused, cut) = flip_every_byte(&machine, &states, 6);
    assert!(refused > 6 * 100, "{refused}");
    assert_eq!(cut, 0);
}

#[test]
fn what_was_synced_is_vouched_for_once_nobody_writes() {
    let machine = Machine::new(1);
    let sync_interval = std::time::Duration::from_millis(2);
    let options = Options { sync_interval, manual: false, segment_bytes: 8 << 10, ..Options::default() };
    let (store, _) = Store::open_with(machine.disk(), machine.ordered(), options).unwrap();
    let states = [Content::new(), apply(&store, 1)];
    store.sync_blocking().unwrap();
    let last = store.applied();
    while store.durable() <= last {
        // sleeps: between two looks
        std::thread::sleep(sync_interval);
    }
    // Killed now; and it has nothing to say again and again.
    let killed = machine.fork();
    let (refused, cut) = flip_every_byte(&killed, &states, 1);
    assert!(refused > 40 && cut == 0, "{refused} refused, {cut} cut");
    // sleeps: the store syncs meanwhile, many times
    std::thread::sleep(20 * sync_interval);
    assert_eq!(store.applied().0, last.0 + 1);
}

#[test]
fn a_lost_segment_is_refused() {
    let (machine, _) = machine(false);
    let names = machine.files().into_iter().map(|(name, _)| name);
    let names: Vec<String> = names.filter(|name| name.ends_with(".seg")).collect();
    for name in &names[..names.len() - 1] {
        let fork = machine.fork();
        fork.lose(name);
        let Err(StoreError::LogDamaged { file, .. }) = open(&fork) else { panic!("opened without {name}") };
        assert_eq!(&file, name);
    }
}

#[test]
fn segments_of_another_store_or_place_are_refused() {
    let (machine, _) = machine(false);
    let other = Machine::new(2);
    drop(open(&other).unwrap());
    let (first, second) = (machine.files()[0].0.clone(), machine.files()[1].0.clone());
    for (content, what) in [(other.read(&first), "another store's"), (machine.read(&second), "another segment's")] {
        let fork = machine.fork();
        fork.overwrite(&first, content.unwrap());
        assert!(matches!(open(&fork), Err(StoreError::LogDamaged { offset: 0, .. })), "{what}");
    }
}
