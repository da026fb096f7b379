// SPDX-License-Identifier: Apache-2.0

//! A disk that takes its time: the service counts what took too long, by the part that took longest.

use crate::common::{Cluster, client};
use bytes::Bytes;
use nyala_storage::chunk_store::{ChunkDisk, Opened};
use nyala_storage::disks::OsDisks;
use nyala_storage::{Disks, StorageConfig};
use nyala_store::{Options, Recovery, Store, StoreError};
use nyala_transport::{Connection, Request};
use nyala_wire::mgmt::ServiceStats;
use nyala_wire::storage::{ChunkFileId, encode_bulk};
use nyala_wire::{InodeId, TargetId, codec, message_type};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const TARGET: TargetId = TargetId(11);
/// What counts as slow, and how long the disk takes.
const SLOW: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_millis(150);

/// Disks that need their time to make a chunk file.
struct SlowDisks;

struct SlowDisk(Arc<dyn ChunkDisk>);

impl Disks for SlowDisks {
    fn store(&self, dir: &Path, options: Options) -> Result<(Store, Recovery), StoreError> {
        OsDisks.store(dir, options)
    }

    fn chunks(&self, dir: &Path) -> io::Result<Arc<dyn ChunkDisk>> {
        Ok(Arc::new(SlowDisk(OsDisks.chunks(dir)?)))
    }

    fn boot_id(&self, dir: &Path) -> io::Result<String> {
        OsDisks.boot_id(dir)
    }
}

impl ChunkDisk for SlowDisk {
    fn open(&self, file: ChunkFileId, create: bool) -> io::Result<Option<Opened>> {
        if create {
            // sleeps: a slow disk
            std::thread::sleep(LONG);
        }
        self.0.open(file, create)
    }

    fn remove(&self, file: ChunkFileId) -> io::Result<()> {
        self.0.remove(file)
    }

    fn sync_dirs(&self, file: ChunkFileId) -> io::Result<()> {
        self.0.sync_dirs(file)
    }

    fn sync_all(&self) -> io::Result<()> {
        self.0.sync_all()
    }
}

fn file(number: u64) -> ChunkFileId {
    ChunkFileId { inode: InodeId(5 << 48 | number), index: 0 }
}

async fn write(to: &Connection, file: ChunkFileId, len: usize) {
    let data = vec![7; len];
    let (header, crcs) = crate::bulk::write_header(TARGET, file, 0, &data);
    let request = Request::new(message_type::STORAGE_WRITE, encode_bulk(&header, &crcs));
    assert!(!to.call(request.with_payload(vec![data.into()])).await.unwrap().is_error());
}

async fn read(from: &Connection, file: ChunkFileId, len: u32) {
    let header = crate::bulk::read_header(TARGET, file, 0, len, 0);
    let reply = from.call(Request::new(message_type::STORAGE_READ, encode_bulk(&header, &[]))).await.unwrap();
    assert!(!reply.is_error() && reply.payload.len() >= len as usize);
}

/// How many were slow, in all and lately.
async fn slow(of: &Connection) -> [u64; 2] {
    let stats = of.call(Request::new(message_type::STATS, Bytes::new())).await.unwrap();
    let stats: ServiceStats = codec::decode(&stats.body).unwrap();
    let count = |name: &str| stats.counters.iter().find(|(counter, _)| counter == name).unwrap().1;
    [count("slow.operations"), count("slow.lately")]
}

async fn page(of: &Connection) -> String {
    let page = of.call(Request::new(message_type::METRICS, Bytes::new())).await.unwrap();
    String::from_utf8(page.payload.to_vec()).unwrap()
}

#[test]
fn what_a_slow_disk_holds_up_is_counted() {
    let cluster = Cluster::start_in(Path::new("/tmp"));
    let service =
        |slow_operation| cluster.storage_on(StorageConfig { slow_operation, ..cluster.config("a") }, SlowDisks);
    let storage = service(SLOW);
    client(async {
        let to = cluster.connect(&storage).await;
        // One that a connection's thread may do itself, and one that goes to a worker in any case.
        write(&to, file(1), 100).await;
        write(&to, file(2), 3 << 20).await;
        read(&to, file(1), 100).await;
        // A busy machine may make others slow as well.
        assert!(slow(&to).await.iter().all(|count| *count >= 2));
        let page = page(&to).await;
        let disk = page.lines().find_map(|line| line.strip_prefix("nyala_slow_operations_total{part=\"disk\"} "));
        assert!(disk.is_some_and(|count| count.parse::<u64>().unwrap() >= 2), "{page}");
    });
    storage.stop().unwrap();
    // What takes as long is not slow where an operator expects more.
    let patient = service(Duration::from_secs(3600));
    client(async {
        let to = cluster.connect(&patient).await;
        write(&to, file(3), 100).await;
        assert_eq!(slow(&to).await, [0, 0]);
        assert!(!page(&to).await.contains("nyala_slow_operations_total{"));
    });
    patient.stop().unwrap();
}
