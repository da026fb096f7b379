// SPDX-License-Identifier: Apache-2.0

//! Lost requests and replies, repeated requests, refusals, restarts, damage, full disks and slow servers.

use crate::fake::{Cluster, Faults, ROOT, STORAGE_TARGETS, make};
use nyala_client::{Client, FileHandle, OpenOptions};
use nyala_wire::ErrorCode;
use nyala_wire::meta::SetAttr;
use std::time::Duration;

const EVERYTHING: Faults = Faults {
    lose_request: 30,
    lose_reply: 30,
    twice: 50,
    busy: 20,
    damaged: 20,
    flip_read: 20,
    slow: 100,
    forget_session: 0,
};

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Random reads, writes, truncates, flushes and reopens of one file against a model.
async fn work(client: &Client, name: &str, seed: u64, steps: usize, span: u64) {
    let mut random = Random(seed);
    let mut handle = make(client, name).await;
    let mut model: Vec<u8> = Vec::new();
    for step in 0..steps {
        let offset = random.below(span);
        let len = random.below(span / 4) as usize + 1;
        match random.below(10) {
            0..=3 => {
                let data: Vec<u8> = (0..len).map(|i| (i + step * 13) as u8).collect();
                handle.write(offset, &data).await.unwrap();
                let end = offset as usize + len;
                model.resize(model.len().max(end), 0);
                model[offset as usize..end].copy_from_slice(&data);
            }
            4..=6 => {
                let got = handle.read(offset, len).await.unwrap().concat();
                let (from, to) = ((offset as usize).min(model.len()), (offset as usize + len).min(model.len()));
                assert!(got == model[from..to], "{name} seed {seed} step {step}: read {offset}+{len}");
            }
            7 => {
                let set = SetAttr { size: Some(offset), ..SetAttr::default() };
                client.setattr(handle.inode(), set).await.unwrap();
                model.resize(offset as usize, 0);
            }
            8 => handle.fsync(false).await.unwrap(),
            _ => {
                let inode = handle.inode();
                handle.release().await.unwrap();
                handle = client.open(inode, OpenOptions::default()).await.unwrap();
            }
        }
        let size = client.getattr(handle.inode()).await.unwrap().size;
        assert_eq!(size, model.len() as u64, "{name} seed {seed} step {step}");
    }
    handle.release().await.unwrap();
}

async fn verify_elsewhere(cluster: &Cluster, one: &Client, name: &str) {
    let inode = one.lookup(ROOT, name.as_bytes()).await.unwrap().inode;
    let two = cluster.client().await;
    let mine = one.open(inode, OpenOptions::default()).await.unwrap().read(0, 10_000_000).await.unwrap().concat();
    let theirs = two.open(inode, OpenOptions::default()).await.unwrap().read(0, 10_000_000).await.unwrap().concat();
    assert!(mine == theirs);
}

#[tokio::test]
async fn random_work_under_all_faults_matches_the_model() {
    for seed in 1..=4 {
        let cluster = Cluster::new(seed);
        let mut config = cluster.config();
        config.max_dirty_age = Duration::from_millis(20);
        let client = cluster.client_with(config).await;
        cluster.set_faults(EVERYTHING);
        tokio::join!(
            work(&client, "inline", seed, 60, 4000),
            work(&client, "spilling", seed + 100, 60, 9000),
            work(&client, "striped", seed + 200, 60, 400_000),
        );
        cluster.set_faults(Faults::default());
        verify_elsewhere(&cluster, &client, "striped").await;
        verify_elsewhere(&cluster, &client, "spilling").await;
        client.shutdown().await.unwrap();
        let stats = client.stats();
        assert!(stats.retries > 0 && stats.dirty_bytes == 0, "{stats:?}");
        cluster.check();
    }
}

#[tokio::test]
async fn lost_sessions_are_opened_again_with_their_files() {
    let cluster = Cluster::new(21);
    let mut config = cluster.config();
    config.delegations = false;
    let client = cluster.client_with(config).await;
    let keep = make(&client, "kept").await;
    cluster.set_faults(Faults { forget_session: 50, ..Faults::default() });
    work(&client, "file", 5, 60, 200_000).await;
    cluster.set_faults(Faults::default());
    cluster.forget_sessions();
    // The next request, or the keep-alive, notices.
    // sleeps: the keep-alive notices by then
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert!(cluster.is_held(keep.inode()));
    cluster.check();
}

#[tokio::test]
async fn changes_are_done_exactly_once() {
    let cluster = Cluster::new(22);
    let client = cluster.client().await;
    cluster.set_faults(Faults { lose_reply: 300, lose_request: 100, twice: 200, slow: 200, ..Faults::default() });
    let mut tasks = Vec::new();
    for number in 0..400 {
        let client = client.clone();
        tasks.push(tokio::spawn(async move {
            let name = format!("f{number}");
            // Exclusive: done twice, it would fail; a removal done twice would fail too.
            let handle = make(&client, &name).await;
            handle.release().await.unwrap();
            client.unlink(ROOT, name.as_bytes()).await.unwrap();
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    client.shutdown().await.unwrap();
    cluster.check();
    assert!(client.stats().retries > 100);
}

#[tokio::test]
async fn a_restart_of_the_whole_cluster_is_only_a_pause() {
    let cluster = Cluster::new(23);
    let client = cluster.client().await;
    let handle = make(&client, "file").await;
    handle.write(0, &[1; 500_000]).await.unwrap();
    cluster.0.lock().down = (1..=5).collect();
    handle.write(500_000, &[2; 500_000]).await.unwrap();
    let restart = async {
        // sleeps: servers are down for so long
        tokio::time::sleep(Duration::from_millis(300)).await;
        cluster.0.lock().down.clear();
    };
    let (flushed, ()) = tokio::join!(handle.flush(), restart);
    flushed.unwrap();
    let data = handle.read(0, 2_000_000).await.unwrap().concat();
    assert!(data == [vec![1; 500_000], vec![2; 500_000]].concat());
    cluster.check();
}

#[tokio::test]
async fn the_memory_limit_holds_and_writers_wait() {
    let cluster = Cluster::new(24);
    cluster.0.lock().write_delay = Duration::from_millis(3);
    let mut config = cluster.config();
    config.write_buffer_bytes = 1 << 20;
    let client = cluster.client_with(config).await;
    let mut files = Vec::new();
    for number in 0..4 {
        files.push(make(&client, &format!("f{number}")).await);
    }
    // Small files hold memory too.
    let small: Vec<FileHandle> = {
        let mut small = Vec::new();
        for number in 0..50 {
            small.push(make(&client, &format!("s{number}")).await);
        }
        small
    };
    let write = |handle: FileHandle| {
        let client = client.clone();
        tokio::spawn(async move {
            for at in 0..20 {
                handle.write(at * 300_000, &vec![at as u8; 300_000]).await.unwrap();
                assert!(client.stats().dirty_bytes <= 1 << 20);
            }
            handle.release().await.unwrap();
        })
    };
    let tasks: Vec<_> = files.into_iter().map(write).collect();
    for handle in &small {
        handle.write(0, &[3; 4000]).await.unwrap();
        assert!(client.stats().dirty_bytes <= 1 << 20);
    }
    for task in tasks {
        task.await.unwrap();
    }
    client.shutdown().await.unwrap();
    assert_eq!(client.stats().dirty_bytes, 0);
    let total: usize = cluster.0.lock().storage.chunks.values().map(Vec::len).sum();
    assert_eq!(total, 4 * 20 * 300_000);
    cluster.check();
}

#[tokio::test]
async fn a_failed_write_is_reported_once_per_handle_by_fsync_whoever_closes_and_others_survive() {
    let cluster = Cluster::new(25);
    let mut config = cluster.config();
    config.close_delay = Duration::ZERO;
    let client = cluster.client_with(config).await;
    let one = make(&client, "full").await;
    let two = client.open(one.inode(), OpenOptions::default()).await.unwrap();
    let other = make(&client, "other").await;
    other.write(0, b"small").await.unwrap();
    cluster.0.lock().storage.fail_writes = Some(ErrorCode::NO_SPACE);
    one.write(0, &[1; 100_000]).await.unwrap();
    // A child closes its copy of the descriptor, and looks at no result.
    assert_eq!(one.flush().await.unwrap_err().errno(), 28);
    assert_eq!(one.fsync(false).await.unwrap_err().errno(), 28);
    one.flush().await.unwrap();
    one.fsync(false).await.unwrap();
    cluster.0.lock().storage.fail_writes = None;
    assert_eq!(two.fsync(false).await.unwrap_err().errno(), 28);
    two.fsync(false).await.unwrap();
    other.release().await.unwrap();
    one.write(0, &[2; 100_000]).await.unwrap();
    one.release().await.unwrap();
    assert_eq!(two.read(0, 200_000).await.unwrap().concat(), [2; 100_000]);
    // Metadata refuses: release says so.
    cluster.0.lock().accidents.fail_commits = Some(ErrorCode::NO_SPACE);
    let third = make(&client, "third").await;
    third.write(0, b"x").await.unwrap();
    assert_eq!(third.release().await.unwrap_err().errno(), 28);
    assert_eq!(client.stats().dirty_bytes, 0);
}

#[tokio::test]
async fn a_dead_server_ends_in_an_error_after_the_retry_timeout() {
    let cluster = Cluster::new(26);
    let mut config = cluster.config();
    config.retry_timeout = Duration::from_millis(200);
    let client = cluster.client_with(config).await;
    let handle = make(&client, "file").await;
    cluster.0.lock().down = (1..=2 + STORAGE_TARGETS).collect();
    handle.write(0, &[1; 100_000]).await.unwrap();
    assert_eq!(handle.flush().await.unwrap_err().errno(), 110);
    assert_eq!(client.getattr(ROOT).await.unwrap_err().errno(), 110);
    assert_eq!(client.stats().dirty_bytes, 0);
}

#[tokio::test]
async fn written_data_is_kept_while_somebody_without_the_secret_answers() {
    let cluster = Cluster::new(30);
    let client = cluster.client().await;
    let (small, big) = (make(&client, "small").await, make(&client, "big").await);
    small.write(0, b"small").await.unwrap();
    big.write(0, &[1; 100_000]).await.unwrap();
    cluster.0.lock().strangers = (1..=2 + STORAGE_TARGETS).collect();
    let back = async {
        // sleeps: servers are strangers for so long
        tokio::time::sleep(Duration::from_millis(400)).await;
        // Who only asks hears of it at once.
        assert_eq!(client.entry_info(ROOT).await.unwrap_err().errno(), 5);
        cluster.0.lock().strangers = vec![1];
        // sleeps: servers are strangers for so long
        tokio::time::sleep(Duration::from_millis(400)).await;
        cluster.0.lock().strangers.clear();
    };
    let (one, other, ()) = tokio::join!(small.fsync(false), big.fsync(false), back);
    one.unwrap();
    other.unwrap();
    verify_elsewhere(&cluster, &client, "big").await;
    verify_elsewhere(&cluster, &client, "small").await;
    assert_eq!(cluster.0.lock().storage.unsynced.len(), 0);
    assert_eq!(client.stats().dirty_bytes, 0);
    cluster.check();
}

#[tokio::test]
async fn damaged_data_is_never_returned() {
    let cluster = Cluster::new(27);
    let client = cluster.client().await;
    let handle = make(&client, "file").await;
    handle.write(0, &[1; 100_000]).await.unwrap();
    handle.flush().await.unwrap();
    cluster.0.lock().storage.corrupt = true;
    let error = handle.read(10, 50_000).await.unwrap_err();
    assert_eq!(error.errno(), 5);
    assert!(error.to_string().contains("checksum"), "{error}");
    cluster.0.lock().storage.corrupt = false;
    assert_eq!(handle.read(10, 50_000).await.unwrap().concat(), [1; 50_000]);
    assert!(client.stats().checksum_errors > 0);
}

#[tokio::test]
async fn data_that_changed_on_its_way_is_asked_for_again_and_no_damage() {
    let cluster = Cluster::new(29);
    let client = cluster.client().await;
    let handle = make(&client, "file").await;
    handle.write(0, &[1; 100_000]).await.unwrap();
    handle.flush().await.unwrap();
    cluster.0.lock().storage.in_place = true;
    assert_eq!(handle.read(10, 50_000).await.unwrap().concat(), [1; 50_000]);
    assert_eq!(client.stats().checksum_errors, 0);
    let other = cluster.client().await;
    let again = other.open(handle.inode(), nyala_client::OpenOptions::default()).await.unwrap();
    cluster.0.lock().storage.corrupt = true;
    assert_eq!(again.read(10, 50_000).await.unwrap_err().errno(), 5);
    assert!(other.stats().checksum_errors > 0, "the compared read found it as well");
}

#[test]
fn a_client_may_be_used_from_several_threads_and_outlive_the_runtime_that_made_it() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let cluster = Cluster::new(28);
    let client = runtime().block_on(cluster.client());
    let handle = runtime().block_on(async {
        let handle = make(&client, "file").await;
        // The runtime goes away with this write under way.
        cluster.0.lock().write_delay = Duration::from_millis(20);
        handle.write(0, &[5; 300_000]).await.unwrap();
        handle
    });
    let threads: Vec<_> = (0..3)
        .map(|number| {
            let client = client.clone();
            std::thread::spawn(move || {
                runtime().block_on(work(&client, &format!("t{number}"), number, 30, 200_000));
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    runtime().block_on(async {
        handle.flush().await.unwrap();
        assert!(handle.read(0, 300_000).await.unwrap().concat() == [5; 300_000]);
        client.shutdown().await.unwrap();
    });
}
