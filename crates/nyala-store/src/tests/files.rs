// SPDX-License-Identifier: Apache-2.0

//! On real files with real threads: reopening, locking, waiting, limits.

use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::time::Duration;

use super::content;
use crate::{Batch, Lsn, Options, Store, StoreError};

fn options() -> Options {
    Options { segment_bytes: 64 << 10, table_bytes: 64 << 20, ..Options::default() }
}

fn put(store: &Store, key: &str, value: &[u8]) -> Lsn {
    let mut batch = Batch::new();
    batch.put(key, value);
    store.apply(batch).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn reopens_with_everything_over_many_segments_and_checkpoints() {
    let dir = tempfile::tempdir().unwrap();
    let mut expected = std::collections::BTreeMap::new();
    for round in 0..4u32 {
        let (store, recovery) = Store::open(dir.path(), options()).unwrap();
        assert_eq!((recovery.cut_bytes, recovery.cut_records), (0, 0));
        for i in 0..500u32 {
            let key = format!("key-{:05}", (i * 7919 + round) % 900);
            let value = vec![round as u8; (i % 700) as usize];
            put(&store, &key, &value);
            expected.insert(key.into_bytes(), value);
            if i % 64 == 0 {
                store.flush().unwrap();
            }
            if i == 300 && round % 2 == 0 {
                store.checkpoint_blocking().unwrap();
            }
        }
        assert_eq!(content(&store), expected);
        // Closing and merely dropping both keep everything.
        if round < 2 { store.close().unwrap() } else { drop(store) }
    }
    let (store, recovery) = Store::open(dir.path(), options()).unwrap();
    assert!(recovery.checkpoint_lsn > Lsn::ZERO && recovery.replayed_records > 0);
    assert_eq!(content(&store), expected);
    store.checkpoint_blocking().unwrap();
    assert_eq!(content(&store), expected);
    assert!(store.stats().segments <= 1);
    for (key, value) in &expected {
        assert_eq!(store.get(key).unwrap().as_deref(), Some(&value[..]));
    }
}

#[test]
fn a_second_open_is_refused_and_works_after_the_first_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path(), options()).unwrap();
    assert!(matches!(Store::open(dir.path(), options()), Err(StoreError::Locked { .. })));
    let other = store.clone();
    store.close().unwrap();
    let mut batch = Batch::new();
    batch.put("k", "v");
    assert!(matches!(other.apply(&batch), Err(StoreError::Closed)));
    drop(other);
    Store::open(dir.path(), options()).unwrap();
}

#[test]
fn many_waiters_share_syncs() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path(), options()).unwrap();
    runtime().block_on(async {
        let waiters: Vec<_> = (0..200)
            .map(|i| {
                let store = store.clone();
                tokio::spawn(async move {
                    let lsn = put(&store, &format!("{i}"), b"value");
                    store.wait_durable(lsn).await.unwrap();
                    assert!(store.durable() >= lsn);
                })
            })
            .collect();
        for waiter in waiters {
            waiter.await.unwrap();
        }
    });
    let stats = store.stats();
    assert_eq!(stats.durable, Lsn(200));
    assert!(stats.syncs < 50, "{} syncs for 200 waiters", stats.syncs);
    let beyond = runtime().block_on(store.wait_durable(Lsn(201)));
    assert!(matches!(beyond, Err(StoreError::InvalidBatch { .. })));
}

#[test]
fn what_is_flushed_reaches_the_disk_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) =
        Store::open(dir.path(), Options { sync_interval: Duration::from_millis(10), ..options() }).unwrap();
    let lsn = put(&store, "k", b"v");
    let deadline = std::time::Instant::now() + Duration::from_secs(5);
    while store.durable() < lsn && std::time::Instant::now() < deadline {
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(store.durable(), lsn);
}

#[test]
fn full_memory_makes_callers_wait_until_a_checkpoint_made_room() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Options { memory_soft_bytes: 64 << 10, memory_hard_bytes: 256 << 10, ..options() };
    let (store, _) = Store::open(dir.path(), limits).unwrap();
    let value = vec![1; 1000];
    runtime().block_on(async {
        for i in 0..3000 {
            store.wait_room().await;
            put(&store, &format!("{i:06}"), &value);
        }
    });
    for i in 3000..6000 {
        store.wait_room_blocking();
        put(&store, &format!("{i:06}"), &value);
    }
    assert!(store.stats().checkpoints > 1);
    assert_eq!(content(&store).len(), 6000);
}

#[test]
fn overwriting_one_key_for_ever_does_not_grow_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path(), options()).unwrap();
    for i in 0..100u8 {
        put(&store, "counter", &[i; 60_000]);
    }
    let deadline = std::time::Instant::now() + Duration::from_secs(5);
    while store.stats().segments > 10 && std::time::Instant::now() < deadline {
        put(&store, "counter", &[1; 60_000]);
        // sleeps: the pace of the load
        std::thread::sleep(Duration::from_millis(5));
    }
    let stats = store.stats();
    assert!(stats.segments <= 10 && stats.checkpoints > 0, "{stats:?}");
}

#[test]
fn memory_that_nobody_waits_for_is_refused_in_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Options { memory_hard_bytes: 10_000, manual: true, ..options() };
    let (store, _) = Store::open(dir.path(), limits).unwrap();
    let mut batch = Batch::new();
    batch.put("some key", vec![0; 3000]);
    let refused = (0..100u32).find_map(|i| store.apply(batch.clone().put(i.to_le_bytes(), [0; 3000])).err());
    assert!(matches!(refused, Some(StoreError::Busy { .. })), "{refused:?}");
    store.wait_room_blocking();
    store.apply(&batch).unwrap();
}

#[test]
fn large_values_get_segments_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let value: Vec<u8> = (0..2_000_000u32).map(|i| (i % 251) as u8).collect();
    {
        let (store, _) = Store::open(dir.path(), options()).unwrap();
        put(&store, "before", b"1");
        put(&store, "large", &value);
        put(&store, "after", b"2");
    }
    let (store, recovery) = Store::open(dir.path(), options()).unwrap();
    assert_eq!(recovery.replayed_records, 3);
    assert_eq!(store.get(b"large").unwrap().as_deref(), Some(&value[..]));
    store.checkpoint_blocking().unwrap();
    assert_eq!(store.get(b"large").unwrap().as_deref(), Some(&value[..]));
}

#[test]
fn odd_keys_and_ranges_are_harmless() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path(), options()).unwrap();
    let longest = vec![0xff; crate::MAX_KEY_BYTES];
    store.apply(Batch::new().put("a", "1").put("b", "2").put(&longest, "3")).unwrap();
    for round in 0..2 {
        assert_eq!(store.get(b"").unwrap(), None);
        assert_eq!(store.get(&vec![0xff; 5000]).unwrap(), None);
        assert_eq!(store.get(&longest).unwrap().as_deref(), Some(&b"3"[..]));
        let count = |from: Bound<&[u8]>, to: Bound<&[u8]>| {
            let mut count = 0;
            let mut visit = |_: &[u8], _: &[u8]| {
                count += 1;
                ControlFlow::Continue(())
            };
            store.scan(from, to, &mut visit).unwrap();
            count
        };
        use Bound::{Excluded, Included, Unbounded};
        let beyond = vec![0xff; 5000];
        assert_eq!(count(Included(b""), Unbounded), 3, "round {round}");
        assert_eq!(count(Excluded(b""), Included(&beyond)), 3);
        assert_eq!(count(Included(&beyond), Unbounded), 0);
        assert_eq!(count(Included(b"b"), Excluded(b"a")), 0);
        assert_eq!(count(Excluded(b"a"), Excluded(b"a")), 0);
        assert_eq!(count(Unbounded, Excluded(b"")), 0);
        assert_eq!(count(Included(b"a"), Included(b"a")), 1);
        store.checkpoint_blocking().unwrap();
    }
}

#[test]
fn a_lost_checkpoint_store_or_segment_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    {
        let (store, _) = Store::open(dir.path(), options()).unwrap();
        for i in 0..300 {
            put(&store, &format!("{i}"), &[7; 1000]);
        }
    }
    let segments = || {
        let mut all: Vec<_> = std::fs::read_dir(dir.path().join("log")).unwrap().map(|e| e.unwrap().path()).collect();
        all.sort();
        all
    };
    let refused_without = |path: &Path| {
        let aside = dir.path().join("aside");
        std::fs::rename(path, &aside).unwrap();
        let result = Store::open(dir.path(), options());
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        }
        std::fs::rename(&aside, path).unwrap();
        result.err().unwrap_or_else(|| panic!("opened without {}", path.display()))
    };
    for segment in segments().iter().take(3) {
        let error = refused_without(segment);
        assert!(matches!(error, StoreError::LogDamaged { .. }), "{error}");
    }
    let error = refused_without(&dir.path().join("table"));
    assert!(matches!(error, StoreError::Ordered { .. }), "{error}");
    Store::open(dir.path(), options()).unwrap();
}

#[test]
fn nothing_in_the_directory_is_open_to_other_users() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("store");
    let modes = |dir: &Path| {
        let mut open_to_others = Vec::new();
        let mut left = vec![dir.to_owned()];
        while let Some(path) = left.pop() {
            let about = std::fs::metadata(&path).unwrap();
            if about.permissions().mode() & 0o077 != 0 {
                open_to_others.push(path.clone());
            }
            if about.is_dir() {
                left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
        }
        open_to_others
    };
    let (store, _) = Store::open(&dir, options()).unwrap();
    put(&store, "k", b"what is in a small file");
    store.checkpoint_blocking().unwrap();
    store.close().unwrap();
    assert_eq!(modes(&dir), Vec::<std::path::PathBuf>::new());
    // As an older build left it.
    for path in [dir.clone(), dir.join("log"), dir.join("log/0000000000000002.seg"), dir.join("table")] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    drop(Store::open(&dir, options()).unwrap());
    assert_eq!(modes(&dir), Vec::<std::path::PathBuf>::new());
}
