// SPDX-License-Identifier: Apache-2.0

//! What is on the disks of which targets when a sync returns, and before metadata forgets its copy.

use crate::fake::{Cluster, ROOT, contend, make, read, two, within};
use nyala_client::{Client, FileHandle, OpenOptions};
use nyala_wire::meta::{Owner, Rename, SetAttr};
use nyala_wire::{InodeId, Name};
use std::time::Duration;

const CHUNK: usize = 65_536;
const EIO: i32 = 5;
const ESTALE: i32 = 116;
const WRITE: OpenOptions = OpenOptions { truncate: false, append: false, write: true, buffered: false };

/// Chunk files with something that is not on disk.
fn unsynced(cluster: &Cluster) -> usize {
    cluster.0.lock().storage.unsynced.len()
}

fn syncs(cluster: &Cluster) -> usize {
    std::mem::take(&mut cluster.0.lock().storage.syncs)
}

/// A file of three chunks on three targets, written and not synced.
async fn written(client: &Client) -> FileHandle {
    let file = make(client, "file").await;
    file.write(0, &vec![1; 3 * CHUNK]).await.unwrap();
    file.flush().await.unwrap();
    file
}

async fn open(client: &Client, inode: InodeId) -> FileHandle {
    within(client.open(inode, WRITE)).await.unwrap()
}

#[tokio::test]
async fn content_that_moves_to_storage_is_on_disk_before_its_only_copy_goes() {
    let cluster = Cluster::new(91);
    let client = cluster.client().await;
    let new = written(&client).await;
    assert_eq!(syncs(&cluster), 0, "of a new file nothing can be lost");
    let grown = make(&client, "grown").await;
    grown.write(0, b"kept").await.unwrap();
    grown.fsync(false).await.unwrap();
    grown.write(1000, &vec![2; 2 * CHUNK]).await.unwrap();
    grown.flush().await.unwrap();
    assert_eq!(syncs(&cluster), 1, "the target of what was inline");
    assert_eq!(read(&grown, 0, 4).await, b"kept");
    // The fake counts it as a violation if it was not synced.
    cluster.check();
    drop(new);
}

#[tokio::test]
async fn content_that_cannot_be_moved_to_storage_stays_where_it_is() {
    let (cluster, client, other) = two(97).await;
    let file = make(&client, "file").await;
    file.write(0, b"kept").await.unwrap();
    file.fsync(false).await.unwrap();
    cluster.0.lock().storage.fail_writes = Some(nyala_wire::ErrorCode::NO_SPACE);
    file.write(1000, &vec![2; 2 * CHUNK]).await.unwrap();
    assert_eq!(file.fsync(false).await.unwrap_err().errno(), 28);
    cluster.0.lock().storage.fail_writes = None;
    file.flush().await.unwrap();
    assert_eq!(client.stats().dirty_bytes, 0);
    assert_eq!(within(read(&file, 0, 10)).await, b"kept");
    let theirs = open(&other, file.inode()).await;
    assert_eq!(within(read(&theirs, 0, 10)).await, b"kept");
    within(file.write(1000, &vec![2; 2 * CHUNK])).await.unwrap();
    within(file.fsync(false)).await.unwrap();
    assert_eq!(within(read(&theirs, 0, 4)).await, b"kept");
    cluster.check();
}

#[tokio::test]
async fn a_direct_write_moves_content_to_disk_too() {
    let (cluster, one, two) = two(92).await;
    let mine = make(&one, "file").await;
    mine.write(0, b"kept").await.unwrap();
    mine.fsync(false).await.unwrap();
    contend(&one, &two, mine.inode()).await;
    let (mine, theirs) = (open(&one, mine.inode()).await, open(&two, mine.inode()).await);
    within(theirs.write(10, &vec![2; 2 * CHUNK])).await.unwrap();
    within(mine.write(5, b"!")).await.unwrap();
    within(mine.fsync(false)).await.unwrap();
    assert_eq!(within(read(&theirs, 0, 6)).await, b"kept\0!");
    assert_eq!(unsynced(&cluster), 0);
    cluster.check();
}

#[tokio::test]
async fn a_sync_reaches_what_another_client_wrote_and_did_not_sync() {
    let (cluster, one, two) = two(93).await;
    let mine = written(&one).await;
    let theirs = open(&two, mine.inode()).await;
    // Not at its server yet.
    mine.write(CHUNK as u64, &[7; 10]).await.unwrap();
    within(theirs.fsync(false)).await.unwrap();
    assert_eq!(unsynced(&cluster), 0);
    assert_eq!(read(&theirs, CHUNK as u64, 10).await, [7; 10]);
    assert_eq!(one.stats().dirty_bytes, 0);
    cluster.check();
}

#[tokio::test]
async fn a_sync_reaches_what_was_written_under_a_delegation_that_is_gone() {
    let (cluster, one, two) = two(94).await;
    let mine = written(&one).await;
    let theirs = open(&two, mine.inode()).await;
    within(theirs.write(0, &[3; 10])).await.unwrap();
    within(theirs.release()).await.unwrap();
    within(mine.fsync(false)).await.unwrap();
    assert_eq!(unsynced(&cluster), 0);
    cluster.check();
}

/// A file that was forgotten here, and is opened under a delegation that lets nothing be kept, is one of which nothing is known.
async fn reopened_uncached(cluster: &Cluster, one: &Client, two: &Client) -> FileHandle {
    let first = written(one).await;
    within(first.fsync(false)).await.unwrap();
    let inode = first.inode();
    within(first.release()).await.unwrap();
    contend(one, two, inode).await;
    cluster.take_log();
    let again = open(two, inode).await;
    assert!(cluster.take_log().is_empty(), "nothing had to be asked");
    again
}

#[tokio::test]
async fn a_sync_reaches_what_was_written_to_a_file_that_nobody_asked_about() {
    let (cluster, one, two) = two(108).await;
    let theirs = reopened_uncached(&cluster, &one, &two).await;
    within(theirs.write(CHUNK as u64, &[3; 10])).await.unwrap();
    assert_eq!(unsynced(&cluster), 1);
    within(theirs.fsync(false)).await.unwrap();
    assert_eq!(unsynced(&cluster), 0);
    cluster.0.lock().storage.lose_power();
    assert_eq!(within(read(&theirs, CHUNK as u64, 10)).await, [3; 10]);
    cluster.check();
}

#[tokio::test]
async fn a_sync_says_what_was_lost_of_a_file_that_nobody_asked_about() {
    let (cluster, one, two) = two(109).await;
    let theirs = reopened_uncached(&cluster, &one, &two).await;
    let inode = theirs.inode();
    within(theirs.write(CHUNK as u64, &[3; 10])).await.unwrap();
    within(theirs.release()).await.unwrap();
    cluster.0.lock().storage.lose_power();
    let again = open(&two, inode).await;
    assert_eq!(within(again.fsync(false)).await.unwrap_err().errno(), EIO);
    within(again.fsync(false)).await.unwrap();
    cluster.check();
}

#[tokio::test]
async fn a_sync_reaches_what_was_written_before_the_file_was_forgotten() {
    let cluster = Cluster::new(95);
    let mut config = cluster.config();
    config.read_cache_bytes = 0;
    let client = cluster.client_with(config).await;
    let first = written(&client).await;
    let inode = first.inode();
    first.release().await.unwrap();
    let again = open(&client, inode).await;
    within(again.fsync(false)).await.unwrap();
    assert_eq!(unsynced(&cluster), 0);
    again.release().await.unwrap();
    // And a sync of everything reaches files that nobody has open.
    let other = make(&client, "other").await;
    other.write(0, &vec![1; 2 * CHUNK]).await.unwrap();
    other.release().await.unwrap();
    client.unlink(ROOT, b"file").await.unwrap();
    assert_eq!(unsynced(&cluster), 2);
    client.sync_all().await.unwrap();
    assert_eq!(unsynced(&cluster), 0);
    cluster.check();
}

#[tokio::test]
async fn under_a_delegation_a_sync_goes_to_what_was_written_since_the_last() {
    let cluster = Cluster::new(96);
    let client = cluster.client().await;
    let file = written(&client).await;
    file.fsync(false).await.unwrap();
    assert_eq!(syncs(&cluster), 3);
    file.write(CHUNK as u64, &[2; 100]).await.unwrap();
    file.fsync(false).await.unwrap();
    assert_eq!(syncs(&cluster), 1);
    file.fsync(false).await.unwrap();
    assert_eq!(syncs(&cluster), 0);
    assert_eq!(unsynced(&cluster), 0);
    cluster.check();
}

/// Written, acknowledged, lost by a target that is back: the sync cannot find anything that is not on disk there.
#[tokio::test]
async fn a_sync_says_what_was_lost_since_it_was_written() {
    let (cluster, client, other) = two(98).await;
    let file = written(&client).await;
    cluster.0.lock().storage.lose_power();
    file.write(CHUNK as u64, &[2; 10]).await.unwrap();
    assert_eq!(within(file.fsync(false)).await.unwrap_err().errno(), EIO);
    within(file.fsync(false)).await.unwrap();
    file.write(0, &vec![3; 3 * CHUNK]).await.unwrap();
    within(file.fsync(false)).await.unwrap();
    cluster.0.lock().storage.lose_power();
    let theirs = open(&other, file.inode()).await;
    assert_eq!(within(read(&theirs, 0, 3 * CHUNK)).await, vec![3; 3 * CHUNK]);
    within(file.fsync(false)).await.expect("all of it was on disk");
    cluster.check();
}

#[tokio::test]
async fn a_sync_says_what_was_lost_of_a_file_that_was_forgotten() {
    let cluster = Cluster::new(99);
    let mut config = cluster.config();
    config.read_cache_bytes = 0;
    let client = cluster.client_with(config).await;
    let first = written(&client).await;
    let inode = first.inode();
    first.release().await.unwrap();
    cluster.0.lock().storage.lose_power();
    let again = open(&client, inode).await;
    assert_eq!(within(again.fsync(false)).await.unwrap_err().errno(), EIO);
    within(again.fsync(false)).await.unwrap();
    let other = make(&client, "other").await;
    other.write(0, &vec![1; 2 * CHUNK]).await.unwrap();
    other.release().await.unwrap();
    cluster.0.lock().storage.lose_power();
    assert_eq!(client.sync_all().await.unwrap_err().errno(), EIO);
    client.sync_all().await.unwrap();
    cluster.check();
}

#[tokio::test]
async fn content_that_is_lost_while_it_moves_to_storage_is_moved_again() {
    let (cluster, client, other) = two(100).await;
    let file = make(&client, "file").await;
    file.write(0, b"kept").await.unwrap();
    file.fsync(false).await.unwrap();
    file.write(2, &vec![2; 2 * CHUNK]).await.unwrap();
    cluster.0.lock().storage.cut_before_sync = true;
    within(file.flush()).await.unwrap_err();
    cluster.0.lock().storage.lose_power();
    let theirs = open(&other, file.inode()).await;
    assert_eq!(within(read(&theirs, 0, 4)).await, b"kept");
    cluster.check();
}

#[tokio::test]
async fn content_that_is_lost_while_a_direct_write_moves_it_is_moved_again() {
    let cluster = Cluster::new(101);
    let mut config = cluster.config();
    config.delegations = false;
    let (one, two) = (cluster.client_with(config.clone()).await, cluster.client_with(config).await);
    let mine = make(&one, "file").await;
    mine.write(0, b"kept").await.unwrap();
    mine.fsync(false).await.unwrap();
    cluster.0.lock().storage.cut_before_sync = true;
    let theirs = open(&two, mine.inode()).await;
    within(theirs.write(10, &vec![2; 2 * CHUNK])).await.unwrap();
    assert_eq!(within(read(&theirs, 0, 4)).await, b"kept");
    assert_eq!(within(read(&theirs, 10, 2)).await, [2; 2]);
    cluster.check();
}

/// A metadata server that lost power may have lost the newest version of a small file, which this client knows.
#[tokio::test]
async fn what_a_metadata_server_lost_of_a_small_file_is_not_mixed_with_what_it_has() {
    let cluster = Cluster::new(102);
    let client = cluster.client().await;
    let file = make(&client, "file").await;
    file.write(0, b"as it was").await.unwrap();
    file.fsync(false).await.unwrap();
    client.setattr(file.inode(), SetAttr { size: Some(2), ..SetAttr::default() }).await.unwrap();
    cluster.meta_loses_for_good();
    let read = async {
        while read(&file, 0, 20).await == b"as" {
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        read(&file, 0, 20).await
    };
    assert_eq!(within(read).await, b"as it was");
    cluster.check();
}

#[tokio::test]
async fn what_is_written_after_changes_that_were_lost_brings_them_back() {
    let cluster = Cluster::new(103);
    let client = cluster.client().await;
    let file = make(&client, "file").await;
    file.write(0, b"as it was").await.unwrap();
    file.fsync(false).await.unwrap();
    client.setattr(file.inode(), SetAttr { size: Some(5), ..SetAttr::default() }).await.unwrap();
    file.write(3, b"IT").await.unwrap();
    cluster.meta_loses_for_good();
    within(file.fsync(false)).await.unwrap();
    assert_eq!(within(read(&file, 0, 20)).await, b"as IT");
    assert_eq!((cluster.inline(file.inode()).unwrap(), cluster.size(file.inode())), (b"as IT".to_vec(), 5));
}

/// What is written after the server's copy was loaded rests on the loss: the sync may not take it for a repetition.
#[tokio::test]
async fn a_sync_says_what_was_lost_of_a_small_file_that_was_loaded_since() {
    let cluster = Cluster::new(107);
    let client = cluster.client().await;
    let file = make(&client, "file").await;
    file.write(0, b"as it was").await.unwrap();
    file.fsync(false).await.unwrap();
    client.setattr(file.inode(), SetAttr { size: Some(2), ..SetAttr::default() }).await.unwrap();
    cluster.meta_loses_for_good();
    let loaded = async {
        while read(&file, 0, 20).await == b"as" {
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    within(loaded).await;
    file.write(3, b"IT").await.unwrap();
    assert_eq!(within(file.fsync(false)).await.unwrap_err().errno(), EIO);
    within(file.fsync(false)).await.unwrap();
    assert_eq!(within(read(&file, 0, 20)).await, b"as IT was");
    cluster.check();
}

#[tokio::test]
async fn what_was_written_to_a_file_that_was_lost_is_given_up() {
    let cluster = Cluster::new(104);
    let client = cluster.client().await;
    let file = written(&client).await;
    file.write(0, &[1; 10]).await.unwrap();
    cluster.meta_loses_for_good();
    assert!(!cluster.exists(file.inode()), "no sync was asked for");
    assert_eq!(within(file.fsync(false)).await.unwrap_err().errno(), ESTALE);
    assert_eq!(client.stats().dirty_bytes, 0);
    cluster.take_log();
    // Its keeper comes by ten times a second.
    // sleeps: seven rounds of the keeper
    tokio::time::sleep(Duration::from_millis(700)).await;
    let commits = cluster.take_log().into_iter().filter(|line| line.contains("Commit")).count();
    assert_eq!(commits, 0, "there is nothing to be told of it any more");
    cluster.check();
}

/// What a sync says after a metadata server lost power: of a truncation of a striped file, an attribute and a name.
#[tokio::test]
async fn a_sync_says_what_a_metadata_server_lost() {
    let cluster = Cluster::new(105);
    let client = cluster.client().await;
    let sync = |inode| client.fsync_dir(inode);
    let made = |name: &'static str| client.mkdir(ROOT, name.as_bytes(), 0o755, Owner::default());
    let (kept, changed) = (made("kept").await.unwrap().inode, made("changed").await.unwrap().inode);
    let (other, file) = (make(&client, "other").await, make(&client, "file").await);
    file.write(0, b"content").await.unwrap();
    for inode in [ROOT, kept, changed] {
        sync(inode).await.unwrap();
    }
    file.fsync(false).await.unwrap();
    client.setattr(changed, SetAttr { perm: Some(0o700), ..SetAttr::default() }).await.unwrap();
    let name = |text: &str| Name::new(text.as_bytes()).unwrap();
    let (from_name, to_name) = (name("other"), name("moved"));
    let (from_parent, to_parent) = (ROOT, ROOT);
    let rename = Rename { from_parent, from_name, to_parent, to_name, no_replace: false, exchange: false };
    client.rename(rename).await.unwrap();
    cluster.meta_loses_for_good();
    within(file.fsync(false)).await.unwrap();
    within(sync(kept)).await.unwrap();
    for lost in [changed, ROOT] {
        assert_eq!(within(sync(lost)).await.unwrap_err().errno(), EIO);
        within(sync(lost)).await.unwrap();
    }
    assert_eq!(within(other.fsync(false)).await.unwrap_err().errno(), EIO, "its name is the old one");
    within(client.sync_all()).await.unwrap();
}

#[tokio::test]
async fn a_metadata_server_that_restarts_with_all_it_had_makes_no_sync_fail() {
    let cluster = Cluster::new(106);
    let client = cluster.client().await;
    let dir = client.mkdir(ROOT, b"dir", 0o755, Owner::default()).await.unwrap().inode;
    let file = make(&client, "file").await;
    file.write(0, b"content").await.unwrap();
    for _ in 0..3 {
        client.setattr(dir, SetAttr { perm: Some(0o700), ..SetAttr::default() }).await.unwrap();
        cluster.restart_meta();
        within(file.fsync(false)).await.unwrap();
        within(client.fsync_dir(dir)).await.unwrap();
        within(client.sync_all()).await.unwrap();
    }
}

#[tokio::test]
async fn what_a_client_was_told_is_on_disk_when_it_has_ended() {
    let (cluster, one, two) = two(231).await;
    let small = make(&one, "small").await;
    small.write(0, b"content").await.unwrap();
    small.release().await.unwrap();
    let striped = written(&one).await;
    let inode = striped.inode();
    striped.release().await.unwrap();
    one.mkdir(ROOT, b"dir", 0o755, Owner::default()).await.unwrap();
    assert!(unsynced(&cluster) > 0, "nobody has synced it yet");
    within(one.shutdown()).await.unwrap();
    assert_eq!(unsynced(&cluster), 0);
    cluster.meta_loses_power();
    assert_eq!(within(two.lookup(ROOT, b"small")).await.unwrap().size, 7);
    assert!(within(two.lookup(ROOT, b"dir")).await.is_ok());
    assert!(within(two.getattr(inode)).await.unwrap().size > 0);
    cluster.check();
}
