// SPDX-License-Identifier: Apache-2.0

//! What has to be on disk at metadata before storage, or a client, may act on it. The logs of these clusters do not sync by
//! themselves.

use crate::cluster::OWNER;
use crate::cluster::harness::{Cluster, counter};
use nyala_client::{Client, OpenOptions};
use nyala_wire::InodeId;
use nyala_wire::meta::SetAttr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const NEVER: Duration = Duration::from_secs(3600);

fn start() -> (Cluster, [PathBuf; 4], PathBuf) {
    let cluster = Cluster::start_syncing_every(NEVER);
    let targets = std::array::from_fn(|n| cluster.path(&format!("t{n}/chunks")));
    let secret = cluster.path("secret");
    (cluster, targets, secret)
}

/// Lengths of all chunk files.
pub fn chunk_files(dirs: &[PathBuf]) -> Vec<u64> {
    fn add(dir: &Path, lengths: &mut Vec<u64>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => add(&entry.path(), lengths),
                Ok(metadata) => lengths.push(metadata.len()),
                // Removed meanwhile.
                Err(_) => {}
            }
        }
    }
    let mut lengths = Vec::new();
    dirs.iter().for_each(|dir| add(dir, &mut lengths));
    lengths
}

pub async fn put(client: &Client, name: &[u8], bytes: usize) -> InodeId {
    let (attr, handle) = client.create(InodeId::ROOT, name, 0o644, OWNER, true).await.unwrap();
    handle.write(0, &vec![7; bytes]).await.unwrap();
    handle.release().await.unwrap();
    attr.inode
}

#[test]
fn data_is_removed_only_when_its_removal_is_on_disk() {
    let (cluster, targets, _) = start();
    cluster.run(|client| async move {
        put(&client, b"unlinked", 100_000).await;
        put(&client, b"replaced", 100_000).await;
        put(&client, b"new", 10).await;
        let files = chunk_files(&targets).len();
        assert!(files >= 2);
        client.unlink(InodeId::ROOT, b"unlinked").await.unwrap();
        client.rename(crate::cluster::rename((InodeId::ROOT, "new"), (InodeId::ROOT, "replaced"))).await.unwrap();
        // Longer than a replaced file stays, and than the queue is left alone.
        // sleeps: nothing is to happen in that time
        tokio::time::sleep(Duration::from_millis(2500)).await;
        assert_eq!(chunk_files(&targets).len(), files, "a power cut would bring the names back");
        let began = Instant::now();
        while !chunk_files(&targets).is_empty() {
            client.fsync_dir(InodeId::ROOT).await.unwrap();
            assert!(began.elapsed() < Duration::from_secs(20), "chunk files stay");
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
}

#[test]
fn storage_cuts_only_what_the_size_on_disk_does_not_have() {
    let (cluster, targets, secret) = start();
    cluster.run(|client| async move {
        let inode = put(&client, b"file", 100_000).await;
        let syncs = async || counter(&client, &secret, "log.syncs").await;
        let size = |size| SetAttr { size: Some(size), ..SetAttr::default() };
        let before = syncs().await;
        client.setattr(inode, size(200_000)).await.unwrap();
        assert_eq!(syncs().await, before, "a larger size takes nothing away that a power cut could bring back");
        client.setattr(inode, size(5_000)).await.unwrap();
        assert_eq!(syncs().await, before + 1, "the old size could come back without its data");
        assert_eq!(chunk_files(&targets).iter().sum::<u64>(), 5_000);
        let truncating = OpenOptions { truncate: true, ..OpenOptions::default() };
        client.open(inode, truncating).await.unwrap().release().await.unwrap();
        assert_eq!(syncs().await, before + 2, "O_TRUNC");
        assert_eq!(chunk_files(&targets).iter().sum::<u64>(), 0);
    });
}

#[test]
fn a_session_is_on_disk_before_its_client_may_keep_anything() {
    let (cluster, _, secret) = start();
    cluster.run_clients(2, |clients| async move {
        let [one, two] = &clients[..] else { panic!("two clients") };
        one.getattr(InodeId::ROOT).await.unwrap();
        let before = counter(one, &secret, "log.syncs").await;
        two.getattr(InodeId::ROOT).await.unwrap();
        assert_eq!(counter(one, &secret, "log.syncs").await, before + 1);
    });
}
