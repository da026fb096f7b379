// SPDX-License-Identifier: Apache-2.0

//! A metadata service restarts while its clients go on: what they keep under delegations is still theirs, and nobody else's.

use crate::power::cluster::{Cluster, Machines, Pace};
use crate::power::{FAST, on_client};
use nyala_client::{Client, OpenOptions};
use nyala_wire::InodeId;
use nyala_wire::meta::Owner;
use std::time::Duration;

const PACE: Pace = Pace { session_timeout: Duration::from_secs(5), meta_sync: FAST, storage_sync: FAST };

async fn content(client: &Client) -> Vec<u8> {
    let inode = client.lookup(InodeId::ROOT, b"file").await.unwrap().inode;
    let handle = client.open(inode, OpenOptions::default()).await.unwrap();
    let content = handle.read(0, 1_000_000).await.unwrap().concat();
    handle.release().await.unwrap();
    content
}

async fn write(client: &Client, byte: u8, len: usize) {
    let inode = client.lookup(InodeId::ROOT, b"file").await.unwrap().inode;
    let handle = client.open(inode, OpenOptions { write: true, ..OpenOptions::default() }).await.unwrap();
    handle.write(0, &vec![byte; len]).await.unwrap();
    handle.release().await.unwrap();
}

/// One client keeps what it has read; after the restart another one writes.
fn a_reader_sees_what_is_written_after_a_restart(len: usize) {
    let machines = Machines::new(1);
    let mut cluster = Cluster::start(&machines, 0, PACE);
    on_client(async {
        let (one, two) = (cluster.client().await, cluster.client().await);
        one.create(InodeId::ROOT, b"file", 0o644, Owner::default(), true).await.unwrap().1.release().await.unwrap();
        write(&one, 1, len).await;
        assert!(content(&two).await == vec![1; len]);
        cluster.restart_meta(&machines, PACE);
        write(&one, 2, len).await;
        assert!(content(&two).await == vec![2; len], "what was kept of before the restart is old");
        write(&two, 3, len).await;
        assert!(content(&one).await == vec![3; len], "what was kept of before the restart is old");
        one.shutdown().await.unwrap();
        two.shutdown().await.unwrap();
    });
    cluster.stop();
}

#[test]
fn delegations_on_small_files_outlive_a_restart_of_metadata() {
    a_reader_sees_what_is_written_after_a_restart(100);
}

#[test]
fn delegations_on_large_files_outlive_a_restart_of_metadata() {
    a_reader_sees_what_is_written_after_a_restart(100_000);
}
