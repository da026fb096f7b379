// SPDX-License-Identifier: Apache-2.0

//! Without descriptors: a sync does what it should, and everything else can be tried again. Alone in its process, whose limit it
//! lowers.

use bytes::Bytes;
use nyala_storage::chunk_store::{Author, ChunkStore, ChunkStoreOptions, OsDisk, copy_write};
use nyala_store::{Options, Store};
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{ErrorCode, InodeId, WireError};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::fs::File;
use std::sync::Arc;

fn file(number: u64) -> ChunkFileId {
    ChunkFileId { inode: InodeId(5 << 48 | number), index: 0 }
}

#[test]
fn a_sync_never_fails_for_want_of_descriptors() {
    let dir = tempfile::tempdir().unwrap();
    let chunks = dir.path().join("chunks");
    std::fs::create_dir_all(&chunks).unwrap();
    let (kv, _) =
        Store::open(&dir.path().join("kv"), Options { segment_bytes: 4 << 20, ..Options::default() }).unwrap();
    let options = ChunkStoreOptions { label: "1".into(), boot_id: "same".into(), limit_bytes: None };
    let disk = Arc::new(OsDisk::open(&chunks).unwrap());
    let store = ChunkStore::open(Arc::new(kv.clone()), disk, &options).unwrap();
    let mut worker = store.worker(0, 1);
    setrlimit(Resource::Nofile, Rlimit { current: Some(256), maximum: Some(256) }).unwrap();
    let write = |number| copy_write(Author::OWN, file(number), 0, Bytes::from_static(&[7; 4096]));
    for number in 1..=300 {
        worker.write(write(number)).expect("more files than descriptors");
    }
    worker.keep_open(2);
    worker.write(write(301)).unwrap();
    // Whatever it keeps open, so that it has none to give up.
    for number in 290..=301 {
        worker.unlink(file(number), 1).unwrap();
    }
    let mut all = Vec::new();
    while let Ok(taken) = File::open("/dev/null") {
        all.push(taken);
    }
    for number in 1..=20 {
        worker.sync(file(number)).unwrap_or_else(|error| panic!("sync of {number}: {error}"));
    }
    let refused = worker.write(write(400)).map_err(WireError::from).unwrap_err();
    assert_eq!(refused.code, ErrorCode::NOT_READY, "worth another try");
    all.clear();
    worker.write(write(400)).unwrap();
    assert!((1..=40).all(|number| worker.sync(file(number)).is_ok()));
    assert_eq!(store.counters().get(nyala_storage::chunk_store::Count::SyncErrors), 0);
}
