// SPDX-License-Identifier: Apache-2.0

//! Nobody waits for ever: every call ends by its own deadline, whoever else waits for the same, and one client's dead target
//! keeps nobody else out.

use crate::fake::{Cluster, ROOT, STORAGE_TARGETS, contend, make, read};
use nyala_client::{Client, OpenOptions};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_millis(600);
/// A call that ends by its deadline ends within this, on a busy machine too.
const SOON: Duration = Duration::from_millis(2_500);
const TIMED_OUT: i32 = 110;

async fn impatient(cluster: &Cluster) -> Client {
    let mut config = cluster.config();
    config.retry_timeout = LIMIT;
    config.max_dirty_age = Duration::from_secs(60);
    cluster.client_with(config).await
}

fn metadata_is_away(cluster: &Cluster) {
    cluster.0.lock().down = vec![1, 2];
}

fn storage_is_away(cluster: &Cluster) {
    cluster.0.lock().down = (3..3 + STORAGE_TARGETS).collect();
}

#[tokio::test]
async fn a_delegated_file_is_not_waited_for_longer_than_the_call_may_last() {
    let cluster = Cluster::new(80);
    let client = impatient(&cluster).await;
    let file = make(&client, "file").await;
    file.write(0, b"delegated").await.unwrap();
    metadata_is_away(&cluster);
    // Its delegation is no good any more, and on its way back to a server that does not hear of that.
    // sleeps: delegations are good no longer after that
    tokio::time::sleep(Duration::from_millis(u64::from(crate::fake::machines::SESSION_TIMEOUT_MS))).await;
    let since = Instant::now();
    let calls = async {
        tokio::join!(
            client.bounded(file.read(0, 10)),
            client.bounded(file.write(0, b"more")),
            client.bounded(file.fsync(false)),
            client.bounded(client.getattr(file.inode())),
        )
    };
    let (read, write, fsync, getattr) = tokio::time::timeout(SOON, calls).await.expect("for ever");
    assert_eq!(read.unwrap_err().errno(), TIMED_OUT);
    assert_eq!(write.unwrap_err().errno(), TIMED_OUT);
    assert!(fsync.is_err());
    assert_eq!(getattr.unwrap_err().errno(), TIMED_OUT);
    assert!(since.elapsed() >= LIMIT);
}

#[tokio::test]
async fn those_who_wait_for_one_file_do_not_wait_one_after_the_other() {
    let cluster = Cluster::new(81);
    let client = impatient(&cluster).await;
    let file = make(&client, "file").await;
    file.write(0, &[1; 100_000]).await.unwrap();
    storage_is_away(&cluster);
    let calls: Vec<_> = (0..6)
        .map(|_| {
            let (client, file) = (client.clone(), file.clone());
            tokio::spawn(async move { client.bounded(file.fsync(false)).await })
        })
        .collect();
    let since = Instant::now();
    let mut failed = 0;
    for call in calls {
        failed += usize::from(call.await.unwrap().is_err());
    }
    assert!(failed >= 1);
    assert!(since.elapsed() < SOON, "{:?} for six times {LIMIT:?}", since.elapsed());
}

#[tokio::test]
async fn a_client_ends_though_no_server_is_there() {
    let cluster = Cluster::new(82);
    let client = impatient(&cluster).await;
    let mut files = Vec::new();
    for number in 0..8 {
        let file = make(&client, &format!("f{number}")).await;
        file.write(0, &[7; 50_000]).await.unwrap();
        files.push(file);
    }
    cluster.0.lock().down = (1..3 + STORAGE_TARGETS).collect();
    let ended = tokio::time::timeout(SOON, client.shutdown()).await.expect("for ever, or one file after the other");
    assert!(ended.is_err(), "what was written is lost");
}

#[tokio::test]
async fn one_clients_dead_target_does_not_keep_a_restarted_server_from_all_others() {
    let cluster = Cluster::new(83);
    let mut config = cluster.config();
    config.max_dirty_age = Duration::from_secs(60);
    let (one, two) = (cluster.client_with(config).await, cluster.client().await);
    let (big, other) = (make(&one, "big").await, make(&one, "other").await);
    big.write(0, &[7; 300_000]).await.unwrap();
    other.write(0, b"other").await.unwrap();
    storage_is_away(&cluster);
    cluster.restart_meta();
    let since = Instant::now();
    let seen = crate::fake::within(two.open(other.inode(), OpenOptions::default())).await.unwrap();
    assert_eq!(read(&seen, 0, 10).await, b"other");
    two.create(ROOT, b"new", 0o644, Default::default(), true).await.unwrap();
    assert!(since.elapsed() < Duration::from_secs(4), "{:?}", since.elapsed());
    // Who wants the file itself waits, and sees what was written once its target is back.
    let wanted = tokio::spawn({
        let (two, inode) = (two.clone(), big.inode());
        async move { two.getattr(inode).await.unwrap().size }
    });
    // sleeps: nothing is to happen in that time
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!wanted.is_finished());
    cluster.0.lock().down.clear();
    assert_eq!(crate::fake::within(wanted).await.unwrap(), 300_000);
    let seen = two.open(big.inode(), OpenOptions::default()).await.unwrap();
    assert!(read(&seen, 0, 400_000).await == [7; 300_000]);
    big.write(0, &[8; 10]).await.unwrap();
    assert_eq!(read(&seen, 0, 10).await, [8; 10]);
    cluster.check();
}

#[tokio::test]
async fn what_is_on_its_way_back_when_a_server_restarts_is_revoked_by_its_next_run() {
    let cluster = Cluster::new(87);
    let mut config = cluster.config();
    config.max_dirty_age = Duration::from_secs(60);
    let (one, two) = (cluster.client_with(config).await, cluster.client().await);
    let big = make(&one, "big").await;
    big.write(0, &[7; 300_000]).await.unwrap();
    // The numbers of this run are larger than those of the next one, which counts anew.
    let other = make(&one, "other").await;
    for _ in 0..20 {
        other.write(0, b"other").await.unwrap();
        assert_eq!(two.getattr(other.inode()).await.unwrap().size, 5);
    }
    storage_is_away(&cluster);
    // Who only looks lets the first keep what it read; but that one has to write first.
    let looks = tokio::spawn({
        let (two, inode) = (two.clone(), big.inode());
        async move { two.getattr(inode).await.unwrap().size }
    });
    // sleeps: what was begun is under way by then
    tokio::time::sleep(Duration::from_millis(300)).await;
    cluster.restart_meta();
    // The first cannot let go within the time that the restarted server is kept waiting for it, and says so.
    // sleeps: longer than the restarted server waits for it
    tokio::time::sleep(Duration::from_millis(1_800)).await;
    cluster.0.lock().down.clear();
    assert_eq!(crate::fake::within(looks).await.unwrap(), 300_000);
    big.write(0, &[8; 10]).await.unwrap();
    let seen = two.open(big.inode(), OpenOptions { write: true, ..OpenOptions::default() }).await.unwrap();
    assert_eq!(read(&seen, 0, 10).await, [8; 10]);
    seen.write(0, &[9; 10]).await.unwrap();
    assert_eq!(read(&big, 0, 10).await, [9; 10]);
    cluster.check();
}

/// Storage answers, but only after longer than any call may last.
const SLOW: Duration = Duration::from_secs(8);

fn storage_is_slow(cluster: &Cluster) {
    cluster.0.lock().write_delay = SLOW;
}

/// What a call that stands behind another one ends with; `behind` has begun and goes on.
async fn times_out<T>(client: &Client, what: &str, call: impl Future<Output = nyala_client::Result<T>>) {
    let since = Instant::now();
    let ended = tokio::time::timeout(SOON, client.bounded(call)).await;
    let error = ended.unwrap_or_else(|_| panic!("{what} waits for ever")).err();
    assert_eq!(error.map(|error| error.errno()), Some(TIMED_OUT), "{what}");
    assert!(since.elapsed() >= LIMIT, "{what}: {:?}", since.elapsed());
}

#[tokio::test]
async fn who_removes_a_file_waits_for_its_push_no_longer_than_the_call_may_last() {
    let cluster = Cluster::new(84);
    let client = impatient(&cluster).await;
    let file = make(&client, "file").await;
    file.write(0, &[1; 100_000]).await.unwrap();
    storage_is_slow(&cluster);
    let push = tokio::spawn({
        let file = file.clone();
        async move { file.fsync(false).await }
    });
    // sleeps: what was begun is under way by then
    tokio::time::sleep(LIMIT / 6).await;
    times_out(&client, "unlink", client.unlink(ROOT, b"file")).await;
    push.abort();
}

#[tokio::test]
async fn who_opens_a_file_waits_for_its_push_no_longer_than_the_call_may_last() {
    let cluster = Cluster::new(85);
    let mut config = cluster.config();
    (config.retry_timeout, config.delegations) = (LIMIT, false);
    let client = cluster.client_with(config).await;
    let file = make(&client, "file").await;
    file.write(0, &[1; 100_000]).await.unwrap();
    storage_is_slow(&cluster);
    let push = tokio::spawn({
        let file = file.clone();
        async move { file.fsync(false).await }
    });
    // sleeps: what was begun is under way by then
    tokio::time::sleep(LIMIT / 6).await;
    times_out(&client, "open", client.open(file.inode(), OpenOptions::default())).await;
    push.abort();
}

#[tokio::test]
async fn who_moves_content_waits_for_another_move_no_longer_than_the_call_may_last() {
    let cluster = Cluster::new(86);
    let (client, other) = (impatient(&cluster).await, cluster.client().await);
    let theirs = make(&other, "file").await;
    theirs.write(0, b"kept").await.unwrap();
    theirs.fsync(false).await.unwrap();
    contend(&other, &client, theirs.inode()).await;
    cluster.0.lock().accidents.never_exclusive = true;
    let mine = client.open(theirs.inode(), OpenOptions { write: true, ..OpenOptions::default() }).await.unwrap();
    storage_is_slow(&cluster);
    let moves = tokio::spawn({
        let mine = mine.clone();
        async move { mine.write(10, &[2; 100_000]).await }
    });
    // sleeps: what was begun is under way by then
    tokio::time::sleep(LIMIT / 6).await;
    let claimed = cluster.take_log().iter().filter(|entry| entry.contains("Spill")).count();
    assert_eq!(claimed, 1, "the first is to move it under a claim");
    times_out(&client, "write", mine.write(10, &[3; 100_000])).await;
    moves.abort();
}

#[tokio::test]
async fn a_move_to_a_dead_target_does_not_keep_a_restarted_server_from_all_others() {
    let cluster = Cluster::new(87);
    let (one, two) = (cluster.client().await, cluster.client().await);
    let (theirs, other) = (make(&two, "file").await, make(&two, "other").await);
    theirs.write(0, b"kept").await.unwrap();
    theirs.fsync(false).await.unwrap();
    contend(&two, &one, theirs.inode()).await;
    cluster.0.lock().accidents.never_exclusive = true;
    let mine = one.open(theirs.inode(), OpenOptions { write: true, ..OpenOptions::default() }).await.unwrap();
    storage_is_away(&cluster);
    let moves = tokio::spawn(async move { mine.write(10, &[2; 100_000]).await });
    while !cluster.take_log().iter().any(|entry| entry.contains("Spill")) {
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // sleeps: what follows the move is under way by then
    tokio::time::sleep(Duration::from_millis(50)).await;
    cluster.restart_meta();
    let since = Instant::now();
    crate::fake::within(two.create(ROOT, b"new", 0o644, Default::default(), true)).await.unwrap();
    crate::fake::within(two.getattr(other.inode())).await.unwrap();
    assert!(since.elapsed() < Duration::from_secs(4), "{:?}", since.elapsed());
    assert_eq!(cluster.0.lock().seen.moving, [theirs.inode()], "the server is to hear of the move");
    assert!(!moves.is_finished());
    cluster.0.lock().down.clear();
    crate::fake::within(moves).await.unwrap().unwrap();
    assert_eq!(read(&theirs, 0, 20).await, *b"kept\0\0\0\0\0\0\x02\x02\x02\x02\x02\x02\x02\x02\x02\x02");
    cluster.check();
}

#[tokio::test]
async fn a_close_ends_in_time_and_goes_on_by_itself() {
    let cluster = Cluster::new(88);
    let client = impatient(&cluster).await;
    let file = make(&client, "file").await;
    file.write(0, &[1; 100_000]).await.unwrap();
    let (inode, other) = (file.inode(), file.clone());
    storage_is_slow(&cluster);
    let push = tokio::spawn(async move { other.fsync(false).await });
    // sleeps: what was begun is under way by then
    tokio::time::sleep(LIMIT / 6).await;
    let closed = tokio::time::timeout(SOON, client.bounded(file.release())).await.expect("for ever");
    assert_eq!(closed.unwrap_err().errno(), TIMED_OUT);
    cluster.0.lock().write_delay = Duration::ZERO;
    push.abort();
    let seen = cluster.client().await;
    let size = async {
        while seen.getattr(inode).await.unwrap().size != 100_000 {
            // sleeps: between two looks
            tokio::time::sleep(LIMIT / 60).await;
        }
    };
    tokio::time::timeout(SLOW * 2, size).await.expect("it did not go on");
}
