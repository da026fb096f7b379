// SPDX-License-Identifier: Apache-2.0

//! What was handed over under a session that has ended: it is lost, its program hears of it, and it undoes nothing that others
//! wrote since.

use crate::fake::{Cluster, ROOT, contend, make, read, within};
use nyala_client::{Client, FileHandle, OpenOptions};
use nyala_wire::InodeId;
use nyala_wire::meta::SetAttr;
use std::time::Duration;

const SLOW: Duration = Duration::from_millis(300);
const CHUNK: usize = 65_536;

/// A cluster whose files have one target each, and a client that sends nothing for age.
async fn cluster_and_client(seed: u64) -> (Cluster, Client) {
    let cluster = Cluster::striped_over(seed, 1);
    let mut config = cluster.config();
    config.max_dirty_age = Duration::from_secs(60);
    config.write_buffer_bytes = 64 << 20;
    let client = cluster.client_with(config).await;
    (cluster, client)
}

/// All sessions end; then somebody else writes the whole file and syncs it.
async fn others_take_it(cluster: &Cluster, inode: InodeId, data: &[u8]) -> FileHandle {
    cluster.forget_sessions();
    let other = cluster.client().await;
    let handle = other.open(inode, OpenOptions { write: true, ..OpenOptions::default() }).await.unwrap();
    handle.write(0, data).await.unwrap();
    within(handle.fsync(false)).await.unwrap();
    handle
}

/// What the target has.
fn chunk(cluster: &Cluster, inode: InodeId) -> Vec<u8> {
    let target = cluster.targets(inode)[0].0;
    cluster.0.lock().storage.chunks[&(target, inode, 0)].clone()
}

#[tokio::test]
async fn what_waited_for_its_turn_is_not_sent_under_the_next_session() {
    let (cluster, client) = cluster_and_client(81).await;
    let mine = make(&client, "file").await;
    mine.write(0, &[9; CHUNK]).await.unwrap();
    mine.fsync(false).await.unwrap();
    cluster.0.lock().write_delay = SLOW;
    // Sixteen go out, the others wait for them.
    mine.write(0, &vec![1; 64 * CHUNK]).await.unwrap();
    // sleeps: what was begun is under way by then
    tokio::time::sleep(SLOW / 6).await;
    cluster.forget_sessions();
    cluster.0.lock().write_delay = Duration::ZERO;
    let theirs = others_take_it(&cluster, mine.inode(), &vec![2; 80 * CHUNK]).await;
    // The first one's go on: those that were under way are refused, then comes the rest.
    // sleeps: what was under way has been refused by then
    tokio::time::sleep(SLOW * 4).await;
    assert!(chunk(&cluster, mine.inode()) == vec![2; 80 * CHUNK], "not one byte of the other's is touched");
    assert_eq!(within(mine.fsync(false)).await.unwrap_err().errno(), 5);
    within(mine.fsync(false)).await.unwrap();
    assert!(read(&theirs, 0, 80 * CHUNK).await == vec![2; 80 * CHUNK]);
    // And on it goes, with new data.
    mine.write(0, &[3; CHUNK]).await.unwrap();
    within(mine.fsync(false)).await.unwrap();
    assert!(read(&theirs, 0, CHUNK).await == [3; CHUNK]);
    assert_eq!(client.stats().dirty_bytes, 0);
}

#[tokio::test]
async fn a_direct_write_is_not_continued_under_the_next_session() {
    let (cluster, client) = cluster_and_client(82).await;
    let maker = cluster.client().await;
    let made = make(&maker, "file").await;
    let inode = made.inode();
    made.write(0, &[9; CHUNK]).await.unwrap();
    made.release().await.unwrap();
    contend(&maker, &client, inode).await;
    let mine = client.open(inode, OpenOptions { write: true, ..OpenOptions::default() }).await.unwrap();
    cluster.0.lock().write_delay = SLOW;
    let writing = tokio::spawn(async move { mine.write(0, &vec![1; 64 * CHUNK]).await });
    // sleeps: what was begun is under way by then
    tokio::time::sleep(SLOW / 6).await;
    cluster.0.lock().write_delay = Duration::ZERO;
    others_take_it(&cluster, inode, &vec![2; 80 * CHUNK]).await;
    assert_eq!(within(writing).await.unwrap().unwrap_err().errno(), 5);
    assert!(chunk(&cluster, inode) == vec![2; 80 * CHUNK]);
    assert_eq!(cluster.size(inode), 80 * CHUNK as u64);
}

#[tokio::test]
async fn a_commit_is_not_sent_again_under_the_next_session() {
    let (cluster, client) = cluster_and_client(83).await;
    let mine = make(&client, "file").await;
    let inode = mine.inode();
    mine.write(0, &[9; CHUNK]).await.unwrap();
    mine.fsync(false).await.unwrap();
    mine.write(0, &vec![1; 4 * CHUNK]).await.unwrap();
    cluster.0.lock().commit_delay = SLOW;
    let syncing = tokio::spawn({
        let mine = mine.clone();
        async move { mine.fsync(false).await }
    });
    // sleeps: what was begun is under way by then
    tokio::time::sleep(SLOW / 3).await;
    cluster.forget_sessions();
    cluster.0.lock().commit_delay = Duration::ZERO;
    let other = cluster.client().await;
    other.setattr(inode, SetAttr { size: Some(57), ..SetAttr::default() }).await.unwrap();
    assert_eq!(within(syncing).await.unwrap().unwrap_err().errno(), 5);
    assert_eq!(cluster.size(inode), 57, "what the other one cut off does not come back");
    within(mine.fsync(false)).await.unwrap();
    assert_eq!(client.getattr(inode).await.unwrap().size, 57);
}

#[tokio::test]
async fn small_content_is_not_sent_again_under_the_next_session() {
    let (cluster, client) = cluster_and_client(84).await;
    let mine = make(&client, "file").await;
    mine.write(0, b"old").await.unwrap();
    cluster.0.lock().commit_delay = SLOW;
    let syncing = tokio::spawn({
        let mine = mine.clone();
        async move { mine.fsync(false).await }
    });
    // sleeps: what was begun is under way by then
    tokio::time::sleep(SLOW / 3).await;
    cluster.forget_sessions();
    assert_eq!(within(syncing).await.unwrap().unwrap_err().errno(), 5);
    assert_eq!(cluster.size(mine.inode()), 0);
    assert_eq!(client.getattr(mine.inode()).await.unwrap().size, 0);
}

#[tokio::test]
async fn a_truncate_whose_fate_is_unknown_is_not_repeated_under_the_next_session() {
    let (cluster, client) = cluster_and_client(85).await;
    let mine = make(&client, "file").await;
    let inode = mine.inode();
    mine.write(0, &vec![1; 2 * CHUNK]).await.unwrap();
    mine.fsync(false).await.unwrap();
    let cut = |size| client.setattr(inode, SetAttr { size: Some(size), ..SetAttr::default() });
    cluster.set_faults(crate::fake::Faults { lose_reply: 1000, ..crate::fake::Faults::default() });
    let cutting = async {
        let done = cut(10).await;
        done.unwrap_err().errno()
    };
    let others = async {
        // sleeps: the faults last so long
        tokio::time::sleep(Duration::from_millis(50)).await;
        cluster.set_faults(crate::fake::Faults::default());
        others_take_it(&cluster, inode, &vec![2; 3 * CHUNK]).await
    };
    let (errno, _theirs) = within(async { tokio::join!(cutting, others) }).await;
    assert_eq!(errno, 5);
    assert_eq!(cluster.size(inode), 3 * CHUNK as u64);
    // One that nothing was tried of yet is like one that is asked for now.
    cluster.forget_sessions();
    assert_eq!(within(cut(20)).await.unwrap().size, 20);
}

#[tokio::test]
async fn names_are_changed_under_the_next_session() {
    let (cluster, client) = cluster_and_client(86).await;
    client.mkdir(ROOT, b"one", 0o755, nyala_wire::meta::Owner::default()).await.unwrap();
    cluster.forget_sessions();
    client.mkdir(ROOT, b"two", 0o755, nyala_wire::meta::Owner::default()).await.unwrap();
    cluster.forget_sessions();
    make(&client, "three").await.release().await.unwrap();
    cluster.forget_sessions();
    client.unlink(ROOT, b"three").await.unwrap();
    cluster.check();
}

/// The answer to an opening is lost, and its client stands still until the session has timed out.
#[tokio::test]
async fn a_session_that_ended_before_its_client_knew_of_it_is_not_gone_on_with() {
    let (cluster, client) = cluster_and_client(87).await;
    for round in 0..3 {
        cluster.forget_sessions();
        cluster.0.lock().accidents.late_openings = 1;
        let file = make(&client, &format!("file{round}")).await;
        file.write(0, &[round; 2 * CHUNK]).await.unwrap();
        within(file.fsync(false)).await.unwrap();
        assert_eq!(chunk(&cluster, file.inode())[..], [round; 2 * CHUNK]);
        file.release().await.unwrap();
    }
    cluster.check();
}
