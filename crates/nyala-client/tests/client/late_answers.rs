// SPDX-License-Identifier: Apache-2.0

//! Answers to own changes that are read late: what was done here meanwhile, and acknowledged, is newer than what they say.

use crate::content::{WRITE, forget_closed_files, little_room};
use crate::deferred_close::read;
use crate::fake::{Cluster, ROOT, make};
use nyala_client::Client;
use nyala_wire::InodeId;
use nyala_wire::meta::{MetaOp, SetAttr};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

const KEEP_SIZE: i32 = 1;
const PUNCH_HOLE: i32 = 2;
const CONTENT: &[u8] = &[7; 300];

/// Begins a change whose answer is held up until the other one is told.
async fn held<T: Send + 'static>(
    cluster: &Cluster,
    is_held: fn(&MetaOp) -> bool,
    change: impl Future<Output = T> + Send + 'static,
) -> (JoinHandle<T>, Arc<Notify>) {
    let hold = Arc::new(Notify::new());
    let before = {
        let mut inner = cluster.0.lock();
        inner.hold_of = Some((is_held, hold.clone()));
        inner.held
    };
    let changed = tokio::spawn(change);
    while cluster.0.lock().held == before {
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    cluster.0.lock().hold_of = None;
    (changed, hold)
}

/// A client that keeps a few closed files, and files to make it forget others by.
async fn with_little_room(seed: u64) -> (Cluster, Client) {
    let cluster = Cluster::new(seed);
    let mut config = cluster.config();
    little_room(&mut config);
    config.close_delay = Duration::from_secs(60);
    let client = cluster.client_with(config).await;
    for n in 0..8 {
        let file = make(&client, &format!("f{n}")).await;
        file.write(0, b"words").await.unwrap();
        file.release().await.unwrap();
    }
    client.sync_all().await.unwrap();
    (cluster, client)
}

async fn write(client: &Client, inode: InodeId, content: &[u8]) {
    let handle = client.open(inode, WRITE).await.unwrap();
    handle.write(0, content).await.unwrap();
    handle.fsync(false).await.unwrap();
    handle.release().await.unwrap();
}

/// The client says that this is the file, from what it keeps, and so does the server.
async fn is(cluster: &Cluster, client: &Client, inode: InodeId, perm: u16) {
    let attr = client.getattr(inode).await.unwrap();
    assert_eq!((attr.size, attr.perm), (CONTENT.len() as u64, perm));
    assert_eq!(read(client, inode).await, CONTENT);
    assert_eq!(cluster.inline(inode).unwrap(), CONTENT);
    cluster.check();
}

#[tokio::test]
async fn a_link_does_not_bring_back_the_size_from_before_what_was_sent_meanwhile() {
    for forgotten in [false, true] {
        let (cluster, client) = with_little_room(101).await;
        let file = make(&client, "file").await;
        file.write(0, CONTENT).await.unwrap();
        file.flush().await.unwrap();
        let inode = file.inode();
        file.release().await.unwrap();
        let linking = client.clone();
        let is_link = |op: &MetaOp| matches!(op, MetaOp::Link { .. });
        let (linked, hold) = held(&cluster, is_link, async move { linking.link(inode, ROOT, b"again").await }).await;
        client.sync_all().await.unwrap();
        if forgotten {
            forget_closed_files(&client).await;
        }
        hold.notify_one();
        assert_eq!(linked.await.unwrap().unwrap().nlink, 2);
        is(&cluster, &client, inode, 0o644).await;
    }
}

#[tokio::test]
async fn attributes_that_are_set_do_not_bring_back_the_size_from_before_what_was_written_meanwhile() {
    for (seed, known) in [(102, false), (103, true)] {
        let (cluster, client) = with_little_room(seed).await;
        let file = make(&client, "file").await;
        file.write(0, b"old").await.unwrap();
        file.fsync(false).await.unwrap();
        let inode = file.inode();
        file.release().await.unwrap();
        if !known {
            forget_closed_files(&client).await;
        }
        let setting = client.clone();
        let set = SetAttr { perm: Some(0o600), ..SetAttr::default() };
        let is_set = |op: &MetaOp| matches!(op, MetaOp::SetAttr { .. });
        let (done, hold) = held(&cluster, is_set, async move { setting.setattr(inode, set).await }).await;
        write(&client, inode, CONTENT).await;
        hold.notify_one();
        assert_eq!(done.await.unwrap().unwrap().perm, 0o600);
        is(&cluster, &client, inode, 0o600).await;
    }
}

#[tokio::test]
async fn who_makes_a_file_does_not_undo_what_others_here_did_to_it_meanwhile() {
    for (seed, forgotten) in [(104, false), (105, true)] {
        let (cluster, client) = with_little_room(seed).await;
        let making = client.clone();
        let is_create = |op: &MetaOp| matches!(op, MetaOp::Create { .. });
        let (made, hold) = held(&cluster, is_create, async move { make(&making, "file").await }).await;
        let inode = client.lookup(ROOT, b"file").await.unwrap().inode;
        client.setattr(inode, SetAttr { perm: Some(0o640), ..SetAttr::default() }).await.unwrap();
        write(&client, inode, CONTENT).await;
        if forgotten {
            forget_closed_files(&client).await;
        }
        hold.notify_one();
        let made = made.await.unwrap();
        is(&cluster, &client, inode, 0o640).await;
        made.write(0, CONTENT).await.unwrap();
        made.release().await.unwrap();
        is(&cluster, &client, inode, 0o640).await;
    }
}

#[tokio::test]
async fn who_makes_a_directory_does_not_undo_what_others_here_did_to_it_meanwhile() {
    let cluster = Cluster::new(106);
    let client = cluster.client().await;
    let making = client.clone();
    let is_mkdir = |op: &MetaOp| matches!(op, MetaOp::Mkdir { .. });
    let make = async move { making.mkdir(ROOT, b"dir", 0o755, Default::default()).await };
    let (made, hold) = held(&cluster, is_mkdir, make).await;
    let inode = client.lookup(ROOT, b"dir").await.unwrap().inode;
    client.setattr(inode, SetAttr { perm: Some(0o700), ..SetAttr::default() }).await.unwrap();
    hold.notify_one();
    made.await.unwrap().unwrap();
    assert_eq!(client.getattr(inode).await.unwrap().perm, 0o700);
    cluster.check();
}

#[tokio::test]
async fn a_hole_does_not_bring_back_the_size_from_before_what_was_written_meanwhile() {
    let cluster = Cluster::new(107);
    let client = cluster.client().await;
    let file = make(&client, "file").await;
    file.write(0, &vec![1; 200_000]).await.unwrap();
    file.fsync(false).await.unwrap();
    let punching = file.clone();
    let is_hole = |op: &MetaOp| matches!(op, MetaOp::Commit(commit) if commit.end.is_none() && commit.mtime.is_some());
    let punch = async move { punching.fallocate(PUNCH_HOLE | KEEP_SIZE, 0, 100_000).await };
    let (punched, hold) = held(&cluster, is_hole, punch).await;
    file.write(200_000, &vec![2; 100_000]).await.unwrap();
    file.fsync(false).await.unwrap();
    hold.notify_one();
    punched.await.unwrap().unwrap();
    assert_eq!(client.getattr(file.inode()).await.unwrap().size, 300_000);
    assert_eq!(file.read(250_000, 100_000).await.unwrap().concat(), vec![2; 50_000]);
    cluster.check();
}
