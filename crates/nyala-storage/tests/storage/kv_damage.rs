// SPDX-License-Identifier: Apache-2.0

//! A byte that flips in the key-value store of a real target: refused or harmless, never wrong data.

use bytes::Bytes;
use nyala_storage::chunk_store::{ChunkStore, ChunkStoreOptions, OsDisk, WriteOp};
use nyala_store::{Options, Store};
use nyala_wire::checksum::{crc32c, crc32c_zero_padded};
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{InodeId, SessionId};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILE: ChunkFileId = ChunkFileId { inode: InodeId(1 << 48 | 5), index: 0 };

fn options() -> Options {
    Options { segment_bytes: 1 << 20, table_bytes: 1 << 30, ..Options::default() }
}

/// The content as a client sees it that compares all checksums; or why there is none.
fn content(chunks: &Path, kv: &Path) -> Result<Vec<u8>, String> {
    let (store, _) = Store::open(kv, options()).map_err(|e| e.to_string())?;
    let disk = Arc::new(OsDisk::open(chunks).unwrap());
    let open = ChunkStoreOptions { label: "1".into(), boot_id: "same".into(), limit_bytes: None };
    let chunk_store = ChunkStore::open(Arc::new(store), disk, &open).map_err(|e| e.to_string())?;
    let out = chunk_store.worker(0, 1).read(FILE, 0, 1 << 20, true).map_err(|e| e.to_string())?;
    for (block, crc) in out.data.chunks(4096).zip(&out.crcs) {
        assert_eq!(crc32c_zero_padded(block), *crc);
    }
    Ok(out.data.to_vec())
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(&file, target).unwrap();
    }
}

#[test]
fn flipped_bytes_never_give_wrong_data() {
    let dir = tempfile::tempdir().unwrap();
    let (chunks, kv) = (dir.path().join("chunks"), dir.path().join("kv"));
    std::fs::create_dir_all(&chunks).unwrap();
    let data: Vec<u8> = (0..300_000_u32).map(|i| (i * 7 % 253) as u8).collect();
    let (store, _) = Store::open(&kv, options()).unwrap();
    let open = ChunkStoreOptions { label: "1".into(), boot_id: "same".into(), limit_bytes: None };
    let disk = Arc::new(OsDisk::open(&chunks).unwrap());
    let chunk_store = ChunkStore::open(Arc::new(store.clone()), disk, &open).unwrap();
    let mut worker = chunk_store.worker(0, 1);
    let crcs = data.chunks(4096).map(crc32c).collect();
    worker
        .write(WriteOp {
            session: SessionId(1),
            file: FILE,
            offset: 0,
            data: Bytes::from(data.clone()),
            crcs,
            compared: false,
            stamp: nyala_wire::storage::Stamp::default(),
        })
        .unwrap();
    worker.sync(FILE).unwrap();
    // Something durable behind it, so that what is damaged is not the end of the log.
    worker.truncate(FILE, 299_999).unwrap();
    worker.sync(FILE).unwrap();
    let data = &data[..299_999];
    // As a crash leaves it: in the log. And after a close: in the checkpoint.
    let (log, checkpoint) = (dir.path().join("log"), dir.path().join("checkpoint"));
    copy(&kv, &log);
    store.checkpoint_blocking().unwrap();
    drop((worker, chunk_store));
    store.close().unwrap();
    copy(&kv, &checkpoint);
    let (mut refused, mut attempts) = (0, 0);
    for source in [log, checkpoint] {
        for file in files(&source) {
            let bytes = std::fs::read(&file).unwrap();
            let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            for step in 0..12 {
                let at = used * step / 12;
                let (case, name) = (dir.path().join("case"), file.strip_prefix(&source).unwrap());
                copy(&source, &case);
                let mut flipped = bytes.clone();
                let Some(byte) = flipped.get_mut(at) else { continue };
                *byte ^= 0x10;
                std::fs::write(case.join(name), flipped).unwrap();
                attempts += 1;
                match content(&chunks, &case) {
                    Err(_) => refused += 1,
                    Ok(found) => assert!(found == data, "wrong data after a flip in {name:?} at {at}"),
                }
                std::fs::remove_dir_all(&case).unwrap();
            }
        }
    }
    assert!(refused > 5, "of {attempts} flips only {refused} were noticed; is the test looking at the right files?");
}
