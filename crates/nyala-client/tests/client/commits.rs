// SPDX-License-Identifier: Apache-2.0

//! What may not overtake the commit of a file's size, however long that is on its way.

use crate::fake::Cluster;
use nyala_client::{Client, FileHandle, OpenOptions};
use nyala_wire::InodeId;
use nyala_wire::meta::{Owner, SetAttr};
use std::time::Duration;

const APPEND: OpenOptions = OpenOptions { truncate: false, append: true, write: true, buffered: false };
const SLOW: Duration = Duration::from_millis(400);

/// A file of three chunks, too long to be inline, of which metadata knows everything.
async fn long_file(cluster: &Cluster, client: &Client, options: OpenOptions) -> FileHandle {
    let (attr, made) = client.create(InodeId::ROOT, b"file", 0o644, Owner::default(), true).await.unwrap();
    made.write(0, &[1; 196_608]).await.unwrap();
    made.release().await.unwrap();
    assert_eq!(cluster.size(attr.inode), 196_608);
    cluster.0.lock().commit_delay = SLOW;
    client.open(attr.inode, options).await.unwrap()
}

#[tokio::test]
async fn a_delegation_is_not_returned_before_the_commit_that_closes_the_file() {
    let cluster = Cluster::new(71);
    let (one, two) = (cluster.client().await, cluster.client().await);
    let mine = long_file(&cluster, &one, APPEND).await;
    let theirs = two.open(mine.inode(), APPEND).await.unwrap();
    assert_eq!(mine.append(&[2; 1000]).await.unwrap(), 196_608);
    let closing = tokio::spawn(mine.release());
    // The bytes are on storage by then, and the commit is on its way.
    // sleeps: what was begun is under way by then
    tokio::time::sleep(SLOW / 4).await;
    assert_eq!(theirs.append(&[3; 500]).await.unwrap(), 197_608, "where the other's record ends");
    closing.await.unwrap().unwrap();
    theirs.release().await.unwrap();
    cluster.check();
}

#[tokio::test]
async fn a_truncate_waits_for_a_commit_that_the_client_sent_by_itself() {
    let cluster = Cluster::new(72);
    let client = cluster.client().await;
    let file = long_file(&cluster, &client, APPEND).await;
    file.append(&[2; 15 * 65_536]).await.unwrap();
    // Whole chunks went out at once; half a second later metadata is told of them, and while that is on its way:
    // sleeps: what was begun is under way by then
    tokio::time::sleep(Duration::from_millis(500) + SLOW / 2).await;
    let cut = client.setattr(file.inode(), SetAttr { size: Some(7), ..SetAttr::default() }).await;
    assert_eq!(cut.unwrap().size, 7);
    // sleeps: a late commit would have arrived by then
    tokio::time::sleep(SLOW * 2).await;
    assert_eq!(cluster.size(file.inode()), 7);
    assert_eq!(client.getattr(file.inode()).await.unwrap().size, 7);
    file.release().await.unwrap();
    cluster.check();
}

#[tokio::test]
async fn what_was_known_of_the_size_under_a_delegation_that_is_gone_is_not_laid_over_what_the_server_says() {
    let cluster = Cluster::new(73);
    let (one, two) = (cluster.client().await, cluster.client().await);
    let (attr, made) = one.create(InodeId::ROOT, b"file", 0o644, Owner::default(), true).await.unwrap();
    let inode = attr.inode;
    // A hole: what the file takes is told when it is closed.
    made.write(0, &[1; 65_536]).await.unwrap();
    made.write(500_000, &[1; 1000]).await.unwrap();
    assert_eq!(two.getattr(inode).await.unwrap().size, 501_000);
    two.setattr(inode, SetAttr { size: Some(57), ..SetAttr::default() }).await.unwrap();
    cluster.0.lock().commit_delay = SLOW;
    let closing = tokio::spawn(made.release());
    // sleeps: what was begun is under way by then
    tokio::time::sleep(SLOW / 4).await;
    for _ in 0..2 {
        assert_eq!(one.lookup(InodeId::ROOT, b"file").await.unwrap().size, 57);
        assert_eq!(one.getattr(inode).await.unwrap().size, 57);
        // sleeps: nothing is to happen in that time
        tokio::time::sleep(SLOW).await;
    }
    closing.await.unwrap().unwrap();
    assert_eq!(cluster.size(inode), 57);
    cluster.check();
}
