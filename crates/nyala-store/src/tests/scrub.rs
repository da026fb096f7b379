// SPDX-License-Identifier: Apache-2.0

//! A store compares its table by itself while it is used.

use crate::{Batch, Options, Store};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Waits for something that the store's thread does.
#[track_caller]
fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn damage_that_nobody_asks_for_is_found_and_said_until_it_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { scrub_interval: Duration::from_millis(20), ..Options::default() };
    let (store, _) = Store::open(dir.path(), options).unwrap();
    for at in 0..2000_u32 {
        store.apply(Batch::new().put(at.to_be_bytes(), [at as u8; 100])).unwrap();
    }
    store.checkpoint_blocking().unwrap();
    wait("it looks", || store.stats().scrubbed_pages > 50);
    assert!(store.stats().damaged_places == 0 && store.damage().is_none());
    let tree = walk(dir.path()).into_iter().find(|path| path.ends_with("tree")).unwrap();
    let file = std::fs::OpenOptions::new().read(true).write(true).open(tree).unwrap();
    let (mut bytes, mut flipped) = (vec![0; file.metadata().unwrap().len() as usize], Vec::new());
    file.read_exact_at(&mut bytes, 0).unwrap();
    // A value of a leaf in use; pages behind it hold others.
    for value in [77_u8, 200] {
        let at = bytes.windows(100).rposition(|window| window == [value; 100]).unwrap() as u64 + 50;
        file.write_all_at(&[value ^ 1], at).unwrap();
        flipped.push((at, value));
    }
    wait("both are found", || store.stats().damaged_places == 2);
    assert!(store.damage().is_some_and(|error| error.is_damage()));
    let counters = crate::metrics::counters(&1, &store);
    assert!(counters.contains(&("store.1.damaged_places".to_owned(), 2)), "{counters:?}");
    flipped.iter().for_each(|(at, value)| file.write_all_at(&[*value], *at).unwrap());
    wait("it is right again", || store.stats().damaged_places == 0);
    store.close().unwrap();
}

/// A store with records in its log only, of which one and the segment's header are damaged on the disk; and its directory.
fn damaged_log(scrub_interval: Duration) -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path(), options(scrub_interval)).unwrap();
    for at in 0..200_u32 {
        store.apply(Batch::new().put(at.to_be_bytes(), [at as u8; 100])).unwrap();
        store.sync_blocking().unwrap();
    }
    let segments: Vec<_> =
        walk(dir.path()).into_iter().filter(|path| path.extension().is_some_and(|e| e == "seg")).collect();
    let needle = [77_u8; 100];
    let mut flipped = 0;
    for path in segments {
        let bytes = std::fs::read(&path).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        if let Some(at) = bytes.windows(100).position(|window| window == needle) {
            file.write_all_at(&[1], at as u64 + 50).unwrap();
            file.write_all_at(&[bytes[13] ^ 1], 13).unwrap();
            flipped += 1;
        }
    }
    assert_eq!(flipped, 1);
    (dir, store)
}

fn options(scrub_interval: Duration) -> Options {
    // No checkpoint comes by itself.
    Options { scrub_interval, checkpoint_interval: Duration::from_secs(3600), ..Options::default() }
}

#[test]
fn a_damaged_log_is_found_and_a_checkpoint_makes_it_superfluous() {
    let (dir, store) = damaged_log(Duration::from_secs(2));
    wait("it makes a checkpoint", || store.stats().checkpoint == store.stats().applied);
    wait("it is whole", || store.stats().damaged_places == 0);
    drop(store);
    let (store, _) = Store::open(dir.path(), options(Duration::ZERO)).unwrap();
    for at in 0..200_u32 {
        assert_eq!(store.get(&at.to_be_bytes()).unwrap().as_deref(), Some(&[at as u8; 100][..]));
    }
    store.close().unwrap();
    // Nobody looks at this one.
    let (dir, store) = damaged_log(Duration::ZERO);
    drop(store);
    assert!(Store::open(dir.path(), options(Duration::ZERO)).is_err());
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
