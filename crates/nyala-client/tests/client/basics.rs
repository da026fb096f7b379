// SPDX-License-Identifier: Apache-2.0

//! What a client does for one application when nothing fails, request by request.

use crate::fake::{Cluster, ROOT, make, read};
use nyala_client::{Client, OpenOptions, SeekTarget};
use nyala_wire::meta::{MetaOp, Owner, SetAttr, SetTime};
use nyala_wire::{ErrorCode, InodeId, StripePattern, Time};
use std::time::Duration;

fn bytes(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| ((i * 31 + seed * 7) % 251 + 1) as u8).collect()
}

async fn settled(client: &Client, cluster: &Cluster, inode: InodeId) {
    for _ in 0..200 {
        if !cluster.is_held(inode) {
            return;
        }
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{inode} is still open at the server, {:?}", client.stats());
}

#[tokio::test]
async fn a_small_file_costs_one_request_each_way() {
    for delegations in [true, false] {
        small_file(delegations).await;
    }
}

async fn small_file(delegations: bool) {
    let cluster = Cluster::new(1);
    let mut config = cluster.config();
    config.delegations = delegations;
    config.close_delay = Duration::ZERO;
    let client = cluster.client_with(config.clone()).await;
    let handle = make(&client, "small").await;
    let inode = handle.inode();
    assert_eq!(handle.write(0, &bytes(1, 4096)).await.unwrap(), 4096);
    handle.release().await.unwrap();
    let written = if delegations { "PutInline" } else { "PutInline+close" };
    assert_eq!(cluster.take_log(), ["Create", written]);

    let handle = client.open(inode, OpenOptions::default()).await.unwrap();
    assert_eq!(read(&handle, 0, 10_000).await, bytes(1, 4096));
    assert_eq!(read(&handle, 4000, 1000).await, &bytes(1, 4096)[4000..]);
    assert!(read(&handle, 4096, 10).await.is_empty());
    handle.release().await.unwrap();
    settled(&client, &cluster, inode).await;
    assert_eq!(cluster.take_log(), if delegations { vec![] } else { vec!["Open", "Close"] });
    // Another client asks once, and its close says nothing.
    if delegations {
        let other = cluster.client_with(config).await;
        let handle = other.open(inode, OpenOptions::default()).await.unwrap();
        assert_eq!(read(&handle, 0, 10_000).await, bytes(1, 4096));
        handle.release().await.unwrap();
        assert_eq!(cluster.take_log(), ["Acquire"]);
    }
    client.shutdown().await.unwrap();
    assert_eq!(client.stats().dirty_bytes, 0);
    cluster.check();
}

#[tokio::test]
async fn own_writes_are_seen_before_and_after_they_went_out() {
    let cluster = Cluster::new(2);
    let client = cluster.client().await;
    let handle = make(&client, "big").await;
    let mut model = bytes(3, 300_000);
    handle.write(0, &model).await.unwrap();
    assert_eq!(client.getattr(handle.inode()).await.unwrap().size, 300_000);
    assert_eq!(read(&handle, 0, 400_000).await, model);
    handle.write(100_000, &[7; 50]).await.unwrap();
    model[100_000..100_050].fill(7);
    assert_eq!(read(&handle, 99_000, 5000).await, &model[99_000..104_000]);
    handle.flush().await.unwrap();
    assert_eq!(cluster.size(handle.inode()), 300_000);
    assert_eq!(read(&handle, 0, 400_000).await, model);
    handle.fsync(true).await.unwrap();
    assert!(cluster.0.lock().storage.syncs > 0);
    // Far behind the end: what is in between are zeros.
    handle.write(1_000_000, b"x").await.unwrap();
    assert_eq!(read(&handle, 299_990, 20).await, [&model[299_990..], &[0; 10]].concat());
    handle.release().await.unwrap();
    let other = cluster.client().await;
    let handle = other.open(client.lookup(ROOT, b"big").await.unwrap().inode, OpenOptions::default()).await.unwrap();
    model.resize(1_000_000, 0);
    model.push(b'x');
    assert_eq!(read(&handle, 0, 2_000_000).await, model);
    cluster.check();
}

#[tokio::test]
async fn old_data_goes_out_by_itself() {
    let cluster = Cluster::new(3);
    let client = cluster.client().await;
    let small = make(&client, "small").await;
    let big = make(&client, "big").await;
    small.write(0, b"hello").await.unwrap();
    big.write(0, &[1; 10_000]).await.unwrap();
    // sleeps: longer than what was written waits
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(client.stats().dirty_bytes, 0);
    assert_eq!(cluster.inline(small.inode()).unwrap(), b"hello");
    assert_eq!(cluster.size(big.inode()), 10_000);
    assert_eq!(cluster.inline(big.inode()), None);
}

#[tokio::test]
async fn complete_chunks_go_out_at_once_and_contiguous_writes_gather() {
    let cluster = Cluster::new(4);
    let mut config = cluster.config();
    config.max_dirty_age = Duration::from_secs(60);
    let client = cluster.client_with(config).await;
    let handle = make(&client, "stream").await;
    for at in 0..48_u64 {
        handle.write(at * 4096, &[1; 4096]).await.unwrap();
    }
    // sleeps: full chunks go out by themselves
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(cluster.0.lock().storage.writes, 3, "one write for each chunk of 64 KiB");
    assert_eq!(client.stats().dirty_bytes, 0);
}

#[tokio::test]
async fn two_clients_merge_inline_content() {
    let cluster = Cluster::new(5);
    let (one, two) = (cluster.client().await, cluster.client().await);
    let a = make(&one, "shared").await;
    let b = two.open(a.inode(), OpenOptions::default()).await.unwrap();
    a.write(0, b"aaaa").await.unwrap();
    b.write(4, b"bbbb").await.unwrap();
    a.flush().await.unwrap();
    b.flush().await.unwrap();
    assert_eq!(cluster.inline(a.inode()).unwrap(), b"aaaabbbb");
    // One spills while the other has written inline.
    b.write(8, b"cccc").await.unwrap();
    a.write(5000, b"dddd").await.unwrap();
    b.flush().await.unwrap();
    a.flush().await.unwrap();
    let mut model = b"aaaabbbbcccc".to_vec();
    model.resize(5000, 0);
    model.extend(b"dddd");
    let fresh = cluster.client().await.open(a.inode(), OpenOptions::default()).await.unwrap();
    assert_eq!(read(&fresh, 0, 10_000).await, model);
    // And the other way round: the loser finds the file striped.
    b.write(2, b"BB").await.unwrap();
    b.flush().await.unwrap();
    model[2..4].fill(b'B');
    let fresh = cluster.client().await.open(a.inode(), OpenOptions::default()).await.unwrap();
    assert_eq!(read(&fresh, 0, 10_000).await, model);
    cluster.check();
}

#[tokio::test]
async fn truncate_holes_and_times() {
    let cluster = Cluster::new(6);
    let client = cluster.client().await;
    let handle = make(&client, "file").await;
    let inode = handle.inode();
    handle.write(0, &bytes(1, 200_000)).await.unwrap();
    let set = |size| SetAttr { size: Some(size), ..SetAttr::default() };
    assert_eq!(client.setattr(inode, set(70_000)).await.unwrap().size, 70_000);
    assert_eq!(client.setattr(inode, set(150_000)).await.unwrap().size, 150_000);
    let mut model = bytes(1, 200_000)[..70_000].to_vec();
    model.resize(150_000, 0);
    assert_eq!(read(&handle, 0, 200_000).await, model);
    handle.fallocate(3, 1000, 50_000).await.unwrap();
    model[1000..51_000].fill(0);
    assert_eq!(read(&handle, 0, 200_000).await, model);
    assert_eq!(handle.seek(0, SeekTarget::Data).await.unwrap(), 0);
    assert_eq!(handle.seek(0, SeekTarget::Hole).await.unwrap(), 1000);
    assert_eq!(handle.seek(2000, SeekTarget::Data).await.unwrap(), 51_000);
    assert_eq!(handle.seek(80_000, SeekTarget::Data).await.unwrap_err().errno(), 6);
    assert_eq!(handle.seek(150_000, SeekTarget::Hole).await.unwrap_err().errno(), 6);
    handle.fallocate(0, 150_000, 1000).await.unwrap();
    assert_eq!(client.getattr(inode).await.unwrap().size, 151_000);
    assert_eq!(handle.fallocate(8, 0, 4096).await.unwrap_err().errno(), 95);
    // A time that is set stays, although data was written before.
    handle.write(0, b"z").await.unwrap();
    let time = Time { seconds: 77, nanos: 0 };
    client.setattr(inode, SetAttr { mtime: Some(SetTime::At(time)), ..SetAttr::default() }).await.unwrap();
    handle.release().await.unwrap();
    assert_eq!(client.getattr(inode).await.unwrap().mtime, time);
    let handle =
        client.open(inode, OpenOptions { truncate: true, append: true, ..OpenOptions::default() }).await.unwrap();
    assert!(read(&handle, 0, 10).await.is_empty());
    handle.write(999, b"ab").await.unwrap();
    handle.write(0, b"cd").await.unwrap();
    assert_eq!(read(&handle, 0, 10).await, b"abcd");
    cluster.check();
}

#[tokio::test]
async fn inline_files_truncate_and_punch() {
    let cluster = Cluster::new(7);
    let client = cluster.client().await;
    let handle = make(&client, "file").await;
    handle.write(0, b"0123456789").await.unwrap();
    handle.fallocate(3, 2, 3).await.unwrap();
    assert_eq!(read(&handle, 0, 20).await, b"01\0\0\x0056789");
    let set = |size| SetAttr { size: Some(size), ..SetAttr::default() };
    client.setattr(handle.inode(), set(3)).await.unwrap();
    client.setattr(handle.inode(), set(6)).await.unwrap();
    assert_eq!(read(&handle, 0, 20).await, b"01\0\0\0\0");
    handle.write(6, b"x").await.unwrap();
    handle.release().await.unwrap();
    let again = client.open(client.lookup(ROOT, b"file").await.unwrap().inode, OpenOptions::default()).await.unwrap();
    assert_eq!(read(&again, 0, 20).await, b"01\0\0\0\0x");
    cluster.check();
}

#[tokio::test]
async fn deleted_files_work_until_the_last_handle_goes() {
    for delegations in [true, false] {
        deleted_files(delegations).await;
    }
}

async fn deleted_files(delegations: bool) {
    let cluster = Cluster::new(8);
    let mut config = cluster.config();
    config.delegations = delegations;
    let client = cluster.client_with(config).await;
    let one = make(&client, "gone").await;
    let two = client.open(one.inode(), OpenOptions::default()).await.unwrap();
    let inode = one.inode();
    let other = cluster.client().await;
    other.unlink(ROOT, b"gone").await.unwrap();
    one.write(0, b"still here").await.unwrap();
    one.release().await.unwrap();
    assert_eq!(read(&two, 0, 100).await, b"still here");
    drop(two);
    settled(&client, &cluster, inode).await;
    let error = client.open(inode, OpenOptions::default()).await.err().unwrap();
    assert!(error.is(ErrorCode::STALE) && error.errno() == 116);
    // A close under way does not undo an open that comes after it.
    for round in 0..30 {
        let name = format!("again{}", round % 2);
        let (_, handle) = client.create(ROOT, name.as_bytes(), 0o644, Owner::default(), false).await.unwrap();
        handle.write(round, b"q").await.unwrap();
        handle.release().await.unwrap();
        let handle = client.open(client.lookup(ROOT, name.as_bytes()).await.unwrap().inode, OpenOptions::default());
        let handle = handle.await.unwrap();
        // sleeps: the close of before arrives first, or not
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(delegations || cluster.is_held(handle.inode()), "round {round}");
        assert_eq!(read(&handle, round, 1).await, b"q");
    }
    cluster.check();
}

#[tokio::test]
async fn reads_in_order_are_read_ahead_and_others_are_not() {
    let cluster = Cluster::new(9);
    let mut config = cluster.config();
    config.delegations = false;
    let client = cluster.client_with(config).await;
    let handle = make(&client, "stream").await;
    let data = bytes(5, 3_000_000);
    handle.write(0, &data).await.unwrap();
    handle.flush().await.unwrap();
    let reader = client.open(handle.inode(), OpenOptions::default()).await.unwrap();
    for at in (0..data.len()).step_by(20_000) {
        assert_eq!(read(&reader, at as u64, 20_000).await, &data[at..at + 20_000]);
    }
    let sequential = client.stats();
    assert!(sequential.storage_reads < 60, "{sequential:?}");
    assert!(sequential.cache_hits > 80 && sequential.cached_bytes <= 6 << 20, "{sequential:?}");
    let random = client.open(handle.inode(), OpenOptions::default()).await.unwrap();
    for at in [2_000_000_u64, 100_000, 1_000_000, 500_000] {
        assert_eq!(read(&random, at, 4096).await, &data[at as usize..at as usize + 4096]);
    }
    assert_eq!(client.stats().storage_reads - sequential.storage_reads, 4);
    // An own write is seen by the reader whose segments were read ahead.
    let again = client.open(handle.inode(), OpenOptions::default()).await.unwrap();
    read(&again, 0, 70_000).await;
    handle.write(140_000, &[9; 10]).await.unwrap();
    handle.flush().await.unwrap();
    assert_eq!(read(&again, 140_000, 10).await, [9; 10]);
    // sleeps: longer than they are kept
    tokio::time::sleep(Duration::from_millis(1300)).await;
    assert_eq!(client.stats().cached_bytes, 0, "segments are dropped when they are old");
}

#[tokio::test]
async fn another_clients_write_is_seen_within_the_cache_time() {
    let cluster = Cluster::new(10);
    let mut config = cluster.config();
    config.cache_time = Duration::from_millis(50);
    let (one, two) = (cluster.client_with(config).await, cluster.client().await);
    let writer = make(&two, "file").await;
    writer.write(0, &[1; 200_000]).await.unwrap();
    writer.flush().await.unwrap();
    let reader = one.open(writer.inode(), OpenOptions::default()).await.unwrap();
    assert_eq!(read(&reader, 0, 150_000).await, [1; 150_000]);
    writer.write(0, &[2; 250_000]).await.unwrap();
    writer.flush().await.unwrap();
    // sleeps: longer than the age that a cached segment may have
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert_eq!(read(&reader, 0, 300_000).await, [2; 250_000]);
}

#[tokio::test]
async fn names_paths_and_space() {
    let cluster = Cluster::new(11);
    let client = cluster.client().await;
    let dir = client.mkdir(ROOT, b"dir", 0o755, Owner::default()).await.unwrap();
    let (_, file) = client.create(dir.inode, b"file", 0o600, Owner::default(), true).await.unwrap();
    file.write(0, b"12345").await.unwrap();
    assert_eq!(client.resolve(b"/dir/./file", false).await.unwrap().size, 5);
    let listing = client.readdir(dir.inode, 0, 100, true).await.unwrap();
    assert_eq!(listing.entries[0].attr.as_ref().unwrap().size, 5, "own unsent bytes count in listings too");
    assert!(client.resolve(b"/dir/file/x", true).await.unwrap_err().is(ErrorCode::NOT_A_DIRECTORY));
    assert!(client.lookup(ROOT, b"a/b").await.unwrap_err().is(ErrorCode::INVALID));
    let stats = client.statfs().await.unwrap();
    assert_eq!((stats.total_bytes, stats.free_inodes), (300, 14));
    client.sync_all().await.unwrap();
    assert_eq!(cluster.inline(file.inode()).unwrap(), b"12345");
    let pattern = StripePattern { chunk_bytes: 5, ..StripePattern::default() };
    assert!(client.set_pattern(ROOT, pattern).await.unwrap_err().is(ErrorCode::INVALID));
    assert!(!MetaOp::Sync.is_change());
}
