// SPDX-License-Identifier: Apache-2.0

//! Closed small files, whose content goes out a moment later with that of others: what may come in between.

use crate::fake::{Cluster, Faults, ROOT, make};
use nyala_client::{Client, ClientConfig, OpenOptions, SetXattr};
use nyala_wire::map::CapacityPool;
use nyala_wire::meta::{Rename, SetAttr, SetTime};
use nyala_wire::{ErrorCode, InodeId, Name, Time};
use std::time::Duration;

/// Made, written and closed.
async fn closed(client: &Client, name: &str, content: &[u8]) -> InodeId {
    let handle = make(client, name).await;
    handle.write(0, content).await.unwrap();
    handle.flush().await.unwrap();
    let inode = handle.inode();
    handle.release().await.unwrap();
    inode
}

/// The close says that there is no room.
async fn does_not_fit(client: &Client, name: &str) {
    let handle = make(client, name).await;
    handle.write(0, b"x").await.unwrap();
    assert_eq!(handle.flush().await.unwrap_err().errno(), 28);
    assert_eq!(handle.release().await.unwrap_err().errno(), 28, "until somebody syncs, each close says so");
}

pub async fn read(client: &Client, inode: InodeId) -> Vec<u8> {
    let handle = client.open(inode, OpenOptions::default()).await.unwrap();
    let content = handle.read(0, 100_000).await.unwrap().concat();
    handle.release().await.unwrap();
    content
}

/// So long that nothing goes out by itself in a test.
fn patient(cluster: &Cluster) -> ClientConfig {
    let mut config = cluster.config();
    config.close_delay = Duration::from_secs(60);
    config.max_dirty_age = Duration::from_secs(60);
    config
}

fn at_server(cluster: &Cluster, inode: InodeId) -> Vec<u8> {
    cluster.inline(inode).unwrap().clone()
}

async fn until_clean(client: &Client) {
    let clean = async {
        while client.stats().dirty_bytes > 0 {
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), clean).await.expect("nothing goes out");
}

#[tokio::test]
async fn many_files_go_out_in_few_requests() {
    let cluster = Cluster::new(80);
    let mut config = cluster.config();
    config.close_delay = Duration::from_millis(200);
    let client = cluster.client_with(config).await;
    let mut files = Vec::new();
    for number in 0..100 {
        let content = format!("content of {number}");
        files.push((closed(&client, &format!("f{number}"), content.as_bytes()).await, content));
    }
    until_clean(&client).await;
    for (inode, content) in &files {
        assert_eq!(at_server(&cluster, *inode), content.as_bytes());
        assert_eq!(client.getattr(*inode).await.unwrap().size, content.len() as u64);
        assert_eq!(read(&client, *inode).await, content.as_bytes());
    }
    let log = cluster.take_log();
    let count = |name: &str| log.iter().filter(|entry| *entry == name).count();
    assert_eq!(count("Create"), 100);
    // As many as there are times 200 ms in which they were made, and 64 in each at most.
    assert!((2..=10).contains(&count("PutInlines")), "{}", count("PutInlines"));
    assert_eq!(count("PutInline") + count("Close") + count("Acquire"), 0, "{log:?}");
    cluster.check();
}

#[tokio::test]
async fn who_looks_from_elsewhere_sees_what_was_closed() {
    let cluster = Cluster::new(81);
    let (one, two) = (cluster.client_with(patient(&cluster)).await, cluster.client().await);
    let inode = closed(&one, "file", b"closed").await;
    assert_eq!(at_server(&cluster, inode), b"");
    assert_eq!(two.getattr(inode).await.unwrap().size, 6);
    assert_eq!(read(&two, inode).await, b"closed");
    let handle = two.open(inode, OpenOptions { write: true, ..OpenOptions::default() }).await.unwrap();
    handle.write(6, b" and more").await.unwrap();
    handle.release().await.unwrap();
    assert_eq!(read(&one, inode).await, b"closed and more");
    cluster.check();
}

#[tokio::test]
async fn what_is_closed_is_at_the_server_before_its_name_replaces_another() {
    let cluster = Cluster::new(82);
    let client = cluster.client_with(patient(&cluster)).await;
    closed(&client, "old", b"old content").await;
    let new = closed(&client, "new", b"new content").await;
    let name = |text: &str| Name::new(text.as_bytes()).unwrap();
    let (from_name, to_name) = (name("new"), name("old"));
    let rename = Rename { from_parent: ROOT, from_name, to_parent: ROOT, to_name, no_replace: false, exchange: false };
    cluster.take_log();
    cluster.0.lock().accidents.fail_commits = Some(ErrorCode::NO_SPACE);
    assert_eq!(client.rename(rename.clone()).await.unwrap_err().errno(), 28, "the old one is not given up for nothing");
    cluster.0.lock().accidents.fail_commits = None;
    let handle = client.open(new, OpenOptions { write: true, ..OpenOptions::default() }).await.unwrap();
    handle.write(0, b"new content").await.unwrap();
    handle.release().await.unwrap();
    client.rename(rename).await.unwrap();
    let log = cluster.take_log();
    let at = |name: &str| log.iter().rposition(|entry| entry.starts_with(name)).unwrap();
    assert!(at("PutInline") < at("Rename"), "{log:?}");
    assert_eq!(at_server(&cluster, new), b"new content");
    cluster.check();
}

#[tokio::test]
async fn what_is_removed_is_not_sent_for_nothing_and_fails_nobody() {
    let cluster = Cluster::new(83);
    let mut config = cluster.config();
    config.close_delay = Duration::from_millis(100);
    let client = cluster.client_with(config).await;
    closed(&client, "gone", b"gone").await;
    let kept = closed(&client, "kept", b"kept").await;
    client.unlink(ROOT, b"gone").await.unwrap();
    until_clean(&client).await;
    assert_eq!(at_server(&cluster, kept), b"kept");
    // Had it counted as a failure, this close would wait for its server.
    cluster.take_log();
    closed(&client, "next", b"next").await;
    assert!(!cluster.take_log().iter().any(|entry| entry.starts_with("PutInline")));
    until_clean(&client).await;
    cluster.check();
}

#[tokio::test]
async fn after_a_failure_closes_wait_and_say_so() {
    let cluster = Cluster::new(84);
    let client = cluster.client().await;
    cluster.0.lock().accidents.fail_commits = Some(ErrorCode::NO_SPACE);
    closed(&client, "first", b"is said to be closed").await;
    until_clean(&client).await;
    does_not_fit(&client, "second").await;
    cluster.check();
}

#[tokio::test]
async fn a_server_short_of_space_is_asked_at_the_close() {
    let cluster = Cluster::new(92);
    cluster.0.lock().map.targets[0].capacity_pool = CapacityPool::Low;
    let client = cluster.client_with(patient(&cluster)).await;
    let inode = closed(&client, "fits", b"content").await;
    assert_eq!(at_server(&cluster, inode), b"content");
    cluster.0.lock().accidents.fail_commits = Some(ErrorCode::NO_SPACE);
    does_not_fit(&client, "does not").await;
    cluster.check();
}

#[tokio::test]
async fn opened_again_cut_stamped_and_synced_in_between() {
    let cluster = Cluster::new(85);
    let client = cluster.client_with(patient(&cluster)).await;
    let file = closed(&client, "file", b"one two three").await;
    assert_eq!(read(&client, file).await, b"one two three");
    let handle = client.open(file, OpenOptions { write: true, ..OpenOptions::default() }).await.unwrap();
    handle.write(4, b"TWO").await.unwrap();
    handle.release().await.unwrap();
    assert_eq!(read(&client, file).await, b"one TWO three");
    assert_eq!(at_server(&cluster, file), b"");
    let cut = client.setattr(file, SetAttr { size: Some(7), ..SetAttr::default() }).await.unwrap();
    assert_eq!((cut.size, read(&client, file).await), (7, b"one TWO".to_vec()));
    // It grows out of its inode meanwhile: that close waits, as for any other file.
    let grown = closed(&client, "grown", b"small").await;
    let handle = client.open(grown, OpenOptions { write: true, ..OpenOptions::default() }).await.unwrap();
    handle.write(5, &[7; 100_000]).await.unwrap();
    handle.flush().await.unwrap();
    assert_eq!(cluster.size(grown), 100_005);
    handle.release().await.unwrap();
    let stamped = closed(&client, "stamped", b"content").await;
    let time = Time { seconds: 4_000_000_000, nanos: 5 };
    let set = SetAttr { mtime: Some(SetTime::At(time)), ..SetAttr::default() };
    assert_eq!(client.setattr(stamped, set).await.unwrap().mtime, time);
    let synced = closed(&client, "synced", b"synced").await;
    let handle = client.open(synced, OpenOptions::default()).await.unwrap();
    handle.fsync(false).await.unwrap();
    assert_eq!(at_server(&cluster, synced), b"synced");
    closed(&client, "all", b"all").await;
    client.sync_all().await.unwrap();
    assert_eq!(client.stats().dirty_bytes, 0);
    assert_eq!(client.getattr(stamped).await.unwrap().mtime, time);
    assert_eq!(cluster.client().await.getattr(stamped).await.unwrap().mtime, time);
    closed(&client, "last", b"last").await;
    client.shutdown().await.unwrap();
    let two = cluster.client().await;
    let last = two.lookup(ROOT, b"last").await.unwrap().inode;
    assert_eq!(read(&two, last).await, b"last");
    cluster.check();
}

#[tokio::test]
async fn a_restarted_server_gets_what_was_closed_before() {
    let cluster = Cluster::new(86);
    let (one, two) = (cluster.client_with(patient(&cluster)).await, cluster.client().await);
    let file = closed(&one, "file", b"closed").await;
    cluster.restart_meta();
    let content = tokio::time::timeout(Duration::from_secs(5), read(&two, file)).await.expect("stuck");
    assert_eq!(content, b"closed");
    cluster.check();
}

#[tokio::test]
async fn under_all_faults_everything_arrives() {
    for seed in 87..89 {
        let cluster = Cluster::new(seed);
        let (one, two) = (cluster.client().await, cluster.client().await);
        cluster.set_faults(Faults {
            lose_request: 30,
            lose_reply: 60,
            twice: 60,
            busy: 20,
            slow: 100,
            ..Faults::default()
        });
        let content = |number: usize| vec![number as u8; 100 + number];
        let makers = (0..8).map(|maker| {
            let one = one.clone();
            tokio::spawn(async move {
                for number in (maker * 20)..(maker * 20 + 20) {
                    let inode = closed(&one, &format!("f{number}"), &content(number)).await;
                    if number % 3 == 0 {
                        assert!(read(&one, inode).await == content(number));
                    }
                }
            })
        });
        for maker in makers.collect::<Vec<_>>() {
            maker.await.unwrap();
        }
        for number in 0..160 {
            let inode = two.lookup(ROOT, format!("f{number}").as_bytes()).await.unwrap().inode;
            assert!(read(&two, inode).await == content(number), "seed {seed}, file {number}");
        }
        cluster.set_faults(Faults::default());
        one.shutdown().await.unwrap();
        assert_eq!(one.stats().dirty_bytes, 0);
        cluster.check();
    }
}

/// The content's answer, of before the change, comes while that is under way.
#[tokio::test]
async fn attributes_that_are_set_while_content_goes_out_are_seen() {
    let cluster = Cluster::new(96);
    let client = cluster.client_with(patient(&cluster)).await;
    let inode = closed(&client, "file", b"content").await;
    cluster.0.lock().commit_delay = Duration::from_secs(2);
    let chmod = tokio::spawn({
        let client = client.clone();
        async move { client.setattr(inode, SetAttr { perm: Some(0o4755), ..SetAttr::default() }).await.unwrap() }
    });
    // sleeps: what was begun is under way by then
    tokio::time::sleep(Duration::from_millis(20)).await;
    client.sync_all().await.unwrap();
    assert!(!chmod.is_finished(), "it is under way");
    assert_eq!(at_server(&cluster, inode), b"content");
    chmod.await.unwrap();
    assert_eq!(client.getattr(inode).await.unwrap().perm, 0o4755);
    cluster.check();
}

/// What a program that unpacks a file sets when it has written it.
async fn set_all(client: &Client, inode: InodeId, time: Time) {
    let owner = SetAttr { uid: Some(5), gid: Some(6), ..SetAttr::default() };
    let mode = SetAttr { perm: Some(0o640), ..SetAttr::default() };
    let times = SetAttr { atime: Some(SetTime::At(time)), mtime: Some(SetTime::At(time)), ..SetAttr::default() };
    for set in [owner, mode, times] {
        client.setattr(inode, set).await.unwrap();
    }
    check_all(client, inode, time).await;
}

async fn check_all(client: &Client, inode: InodeId, time: Time) {
    let attr = client.getattr(inode).await.unwrap();
    assert_eq!((attr.uid, attr.gid, attr.perm, attr.atime, attr.mtime), (5, 6, 0o640, time, time));
    assert!(attr.ctime > time);
}

#[tokio::test]
async fn attributes_that_are_set_on_a_new_file_go_with_its_content() {
    let cluster = Cluster::new(105);
    let client = cluster.client_with(patient(&cluster)).await;
    let other = cluster.client().await;
    let time = Time { seconds: 1_234, nanos: 567 };
    cluster.take_log();
    let mut files = Vec::new();
    for name in ["one", "two", "three"] {
        let handle = make(&client, name).await;
        handle.write(0, name.as_bytes()).await.unwrap();
        set_all(&client, handle.inode(), time).await;
        files.push(handle.inode());
        handle.release().await.unwrap();
        // And by its name, as `rsync` does.
        set_all(&client, files[files.len() - 1], time).await;
    }
    assert_eq!(cluster.take_log(), ["Create", "Create", "Create"]);
    check_all(&other, files[0], time).await;
    client.sync_all().await.unwrap();
    let sent: Vec<String> = cluster.take_log().into_iter().filter(|op| !op.starts_with("Delegation")).collect();
    assert_eq!(sent.iter().filter(|op| *op == "SetAttr").count(), 0, "{sent:?}");
    for (inode, name) in files.into_iter().zip(["one", "two", "three"]) {
        check_all(&other, inode, time).await;
        check_all(&client, inode, time).await;
        assert_eq!(at_server(&cluster, inode), name.as_bytes());
    }
    cluster.check();
}

#[tokio::test]
async fn a_write_after_attributes_were_set_comes_after_them() {
    let cluster = Cluster::new(106);
    let client = cluster.client_with(patient(&cluster)).await;
    let time = Time { seconds: 1_234, nanos: 567 };
    for (name, len) in [("small", 100), ("large", 300_000)] {
        let handle = make(&client, name).await;
        handle.write(0, b"begin").await.unwrap();
        set_all(&client, handle.inode(), time).await;
        handle.write(5, &vec![7; len]).await.unwrap();
        let attr = client.getattr(handle.inode()).await.unwrap();
        assert_eq!((attr.uid, attr.perm, attr.size), (5, 0o640, 5 + len as u64));
        assert!(attr.mtime > time, "it was written since");
        // What servers decide comes after what waits.
        client.setattr(handle.inode(), SetAttr { perm: Some(0o600), ..SetAttr::default() }).await.unwrap();
        client.setattr(handle.inode(), SetAttr { perm: Some(0o4711), ..SetAttr::default() }).await.unwrap();
        handle.fsync(false).await.unwrap();
        assert_eq!(client.getattr(handle.inode()).await.unwrap().perm, 0o4711);
        handle.release().await.unwrap();
    }
    cluster.check();
}

#[tokio::test]
async fn attributes_that_went_with_content_are_there_after_a_power_cut() {
    let cluster = Cluster::new(107);
    let client = cluster.client_with(patient(&cluster)).await;
    let time = Time { seconds: 1_234, nanos: 567 };
    let mut files = Vec::new();
    for (name, sync) in [("synced", true), ("pushed", false), ("kept", false)] {
        let handle = make(&client, name).await;
        handle.write(0, b"content").await.unwrap();
        set_all(&client, handle.inode(), time).await;
        if sync {
            handle.fsync(false).await.unwrap();
        } else if name == "pushed" {
            handle.flush().await.unwrap();
            client.sync_all().await.unwrap();
        }
        files.push(handle);
    }
    cluster.meta_loses_power();
    for handle in files {
        tokio::time::timeout(Duration::from_secs(10), check_all(&client, handle.inode(), time)).await.unwrap();
        handle.fsync(false).await.unwrap();
        check_all(&client, handle.inode(), time).await;
        assert_eq!(at_server(&cluster, handle.inode()), b"content");
    }
    cluster.check();
}

#[tokio::test]
async fn an_access_control_list_that_is_a_mode_goes_with_content_and_others_come_after_it() {
    let cluster = Cluster::new(108);
    let client = cluster.client_with(patient(&cluster)).await;
    let handle = make(&client, "file").await;
    let inode = handle.inode();
    handle.write(0, b"content").await.unwrap();
    cluster.take_log();
    let list = |entries: &[(u16, u16, u32)]| {
        let each = entries
            .iter()
            .flat_map(|(tag, may, id)| [&tag.to_le_bytes()[..], &may.to_le_bytes(), &id.to_le_bytes()].concat());
        2_u32.to_le_bytes().into_iter().chain(each).collect::<Vec<u8>>()
    };
    let set = async |value: &[u8]| {
        client.setxattr(inode, b"system.posix_acl_access", value, SetXattr::default()).await.unwrap();
        client.getattr(inode).await.unwrap().perm
    };
    const NOBODY: u32 = u32::MAX;
    assert_eq!(set(&list(&[(1, 7, NOBODY), (4, 1, NOBODY), (32, 0, NOBODY)])).await, 0o710);
    assert_eq!(cluster.take_log(), [""; 0]);
    let named = list(&[(1, 6, NOBODY), (2, 7, 5), (4, 5, NOBODY), (16, 4, NOBODY), (32, 0, NOBODY)]);
    assert_eq!(set(&named).await, 0o640, "the mask counts as the group");
    assert_eq!(at_server(&cluster, inode), b"content", "it went first");
    assert_eq!(client.getxattr(inode, b"system.posix_acl_access").await.unwrap(), named);
    handle.release().await.unwrap();
    cluster.check();
}
