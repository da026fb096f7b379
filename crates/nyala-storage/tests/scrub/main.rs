// SPDX-License-Identifier: Apache-2.0

//! Services that scrub their targets by themselves: damage of the only copy is found though nobody reads it, and remembered; restarts.
//! Mirrored files: `tests/mirror/scrub.rs`.

#[path = "../common/bulk.rs"]
mod bulk;
#[path = "../common/mod.rs"]
mod common;
mod look;
mod meta;

use bulk::{read_header, write_header};
use bytes::Bytes;
use common::{Cluster, Storage, client};
use look::{OFTEN, chunk_file, flip, status, until_so};
use meta::{DataPlace, Meta};
use nyala_storage::{ScrubConfig, StorageConfig};
use nyala_transport::{Request, Role};
use nyala_wire::mgmt::ServiceStats;
use nyala_wire::storage::{ChunkFileId, ReadHeader, encode_bulk};
use nyala_wire::{InodeId, Pattern, TargetId, codec, message_type};
use std::time::Duration;

const TARGET: TargetId = TargetId(11);
const FILE: ChunkFileId = ChunkFileId { inode: InodeId(5 << 48 | 9), index: 2 };

fn start(cluster: &Cluster, scrub: ScrubConfig) -> Storage {
    cluster.storage(StorageConfig { scrub, ..cluster.config("a") })
}

/// Writes blocks from an offset on, as soon as clients are let in.
async fn write(cluster: &Cluster, storage: &Storage, file: ChunkFileId, offset: u64, len: usize) {
    let to = cluster.connect(storage).await;
    let data = vec![7; len];
    let (header, crcs) = write_header(TARGET, file, offset, &data);
    let written = async || {
        let request = Request::new(message_type::STORAGE_WRITE, encode_bulk(&header, &crcs));
        let request = request.with_payload(vec![Bytes::copy_from_slice(&data)]);
        !to.call(request).await.unwrap().is_error()
    };
    until_so("clients are let in", written).await;
}

/// Whether the block at an offset can be read.
async fn reads(cluster: &Cluster, storage: &Storage, offset: u64) -> bool {
    let to = cluster.connect(storage).await;
    let header = read_header(TARGET, FILE, offset, 4096, ReadHeader::VERIFY);
    !to.call(Request::new(message_type::STORAGE_READ, encode_bulk(&header, &[]))).await.unwrap().is_error()
}

/// What whoever judges the health of the cluster hears.
async fn said_damaged(cluster: &Cluster, storage: &Storage) -> u64 {
    let to = cluster.connect_as(storage, Role::Cli).await;
    let frame = to.call(Request::new(message_type::STATS, Vec::new())).await.unwrap();
    let stats: ServiceStats = codec::decode(&frame.body).unwrap();
    let name = format!("scrub.{TARGET}.damaged_bytes");
    stats.counters.iter().find(|(counter, _)| *counter == name).unwrap().1
}

async fn until_damaged(cluster: &Cluster, storage: &Storage, bytes: u64) {
    until_so(&format!("{bytes} bytes are damaged"), async || {
        status(cluster, storage, TARGET).await.damaged_bytes == bytes
    })
    .await;
    assert_eq!(said_damaged(cluster, storage).await, bytes);
}

#[test]
fn a_flipped_byte_without_another_copy_is_remembered_until_it_is_written_anew() {
    let cluster = Cluster::start_in(std::path::Path::new("/tmp"));
    let place = DataPlace::default();
    *place.lock().unwrap() = Some((Pattern::Raid0, TARGET.0));
    let meta = Meta::start(&cluster, &place);
    meta.join(&cluster);
    let storage = start(&cluster, OFTEN);
    let path = chunk_file(&cluster, "a", FILE);
    client(async {
        write(&cluster, &storage, FILE, 0, 400_000).await;
        until_so("all is scrubbed", async || status(&cluster, &storage, TARGET).await.ended_ms > 0).await;
        until_damaged(&cluster, &storage, 0).await;
        flip(&path, 270_000);
        until_damaged(&cluster, &storage, 4096).await;
        assert!(!reads(&cluster, &storage, 266_240).await && reads(&cluster, &storage, 0).await);
        let said = status(&cluster, &storage, TARGET).await;
        let [damage] = &said.damage[..] else { panic!("{said:?}") };
        assert_eq!((damage.at.file, damage.at.offset, damage.bad), (FILE, 262_144, 1 << 1));
        assert_eq!((damage.reason.as_str(), said.late), ("not mirrored: restore the file", false));
    });
    storage.stop().unwrap();
    // Nothing is read any more; what was found is known all the same.
    let storage = start(&cluster, ScrubConfig { interval: Duration::ZERO, rate: 0 });
    client(async {
        let said = status(&cluster, &storage, TARGET).await;
        assert_eq!((said.damaged_bytes, said.damage.len(), said.interval_ms), (4096, 1, 0));
    });
    storage.stop().unwrap();
    let storage = start(&cluster, OFTEN);
    client(async {
        write(&cluster, &storage, FILE, 266_240, 4096).await;
        until_damaged(&cluster, &storage, 0).await;
        assert!(status(&cluster, &storage, TARGET).await.damage.is_empty());
        assert!(reads(&cluster, &storage, 266_240).await);
        flip(&path, 0);
        until_damaged(&cluster, &storage, 4096).await;
        // The file is removed: what is left of it is nobody's damage.
        *place.lock().unwrap() = None;
        until_damaged(&cluster, &storage, 0).await;
    });
    storage.stop().unwrap();
}

#[test]
fn a_scrub_goes_on_after_a_restart() {
    let cluster = Cluster::start_in(std::path::Path::new("/tmp"));
    let place = DataPlace::default();
    *place.lock().unwrap() = Some((Pattern::Raid0, TARGET.0));
    let meta = Meta::start(&cluster, &place);
    meta.join(&cluster);
    // 8 MiB take longer than the interval.
    let slow = ScrubConfig { interval: Duration::from_secs(2), rate: 512 << 10 };
    let storage = start(&cluster, ScrubConfig { interval: Duration::ZERO, ..slow });
    client(async {
        for part in 0..4 {
            write(&cluster, &storage, FILE, part << 21, 2 << 20).await;
        }
    });
    storage.stop().unwrap();
    let storage = start(&cluster, slow);
    let before = client(async {
        until_so("a part is scrubbed", async || status(&cluster, &storage, TARGET).await.bytes >= 1 << 20).await;
        status(&cluster, &storage, TARGET).await
    });
    storage.stop().unwrap();
    let storage = start(&cluster, slow);
    client(async {
        let after = status(&cluster, &storage, TARGET).await;
        assert_eq!((after.began_ms, after.since_ms), (before.began_ms, before.since_ms));
        assert!(after.bytes >= before.bytes && after.bytes < 6 << 20, "{after:?}");
        assert!(after.at >= before.at && before.at.is_some(), "{after:?}");
        assert_eq!(after.total_bytes, 8 << 20, "its own data, not all that its file system has: {after:?}");
    });
    storage.stop().unwrap();
}
