// SPDX-License-Identifier: Apache-2.0

//! A service remembers its targets: what is missing is refused alone, and nothing is made silently.

use crate::common::{CLUSTER, Cluster, client};
use nyala_storage::{StorageConfig, TargetSpec};
use nyala_store::own_dir::{Kind, OwnDir};
use nyala_wire::storage::{ChunkFileId, StorageOp, StorageRequest};
use nyala_wire::{ClusterId, InodeId, TargetId, codec, message_type};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn two(cluster: &Cluster) -> (StorageConfig, [PathBuf; 2]) {
    let mut config = cluster.config("a");
    let dirs = ["t1", "t2"].map(|name| cluster.dir.path().join(name));
    config.targets = dirs.iter().map(|dir| TargetSpec { dir: dir.clone(), ..TargetSpec::default() }).collect();
    (config, dirs)
}

/// Runs the service; which of the targets 11 and 12 it serves, and which it reports.
fn run_service(cluster: &Cluster, config: &StorageConfig) -> (Vec<u16>, Vec<u16>) {
    let storage = cluster.storage(config.clone());
    let answers = client(async {
        let connection = cluster.connect(&storage).await;
        let file = ChunkFileId { inode: InodeId(9), index: 0 };
        let mut answers = Vec::new();
        for target in [11, 12] {
            let request = StorageRequest::new(TargetId(target), file, StorageOp::Stat);
            let request = nyala_transport::Request::new(message_type::STORAGE, codec::encode(&request));
            if !connection.call(request).await.unwrap().is_error() {
                answers.push(target);
            }
        }
        answers
    });
    // sleeps: both have reported by then, and a third one would have
    std::thread::sleep(Duration::from_millis(200));
    let mut reported: Vec<u16> = cluster.knobs.reported.lock().unwrap().iter().map(|target| target.0).collect();
    reported.sort_unstable();
    storage.stop().unwrap();
    (answers, reported)
}

fn refused(config: &StorageConfig) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(nyala_storage::run(config.clone(), std::future::ready(()))).unwrap_err().to_string()
}

fn set_aside(dir: &Path) -> PathBuf {
    let aside = dir.with_extension("aside");
    std::fs::rename(dir, &aside).unwrap();
    aside
}

#[test]
fn a_disk_that_is_not_mounted_becomes_no_target() {
    let cluster = Cluster::start_in(Path::new("/tmp"));
    let (config, [t1, t2]) = two(&cluster);
    assert_eq!(run_service(&cluster, &config), (vec![11, 12], vec![11, 12]));
    let aside = set_aside(&t2);
    for mount_point in [false, true] {
        if mount_point {
            std::fs::create_dir(&t2).unwrap();
        }
        assert_eq!(run_service(&cluster, &config), (vec![11], vec![11]));
        let left = std::fs::read_dir(&t2).map_or(0, |entries| entries.count());
        assert!(t2.exists() == mount_point && left == 0, "nothing was made");
    }
    // Alone it ends the service, with a sentence.
    let alone = StorageConfig { targets: vec![config.targets[1].clone()], ..config.clone() };
    let why = refused(&alone);
    assert!(why.contains("is empty: is its disk mounted?") && why.contains("nyala target add"), "{why}");
    // Mounted again, it is what it was.
    std::fs::remove_dir(&t2).unwrap();
    std::fs::rename(&aside, &t2).unwrap();
    assert_eq!(run_service(&cluster, &config), (vec![11, 12], vec![11, 12]));
    // The same when the service's own directory is new: targets that exist say that the cluster is not.
    std::fs::remove_dir_all(&config.dir).unwrap();
    set_aside(&t1);
    assert_eq!(run_service(&cluster, &config), (vec![12], vec![12]));
    assert!(!t1.exists());
}

#[test]
fn a_new_target_is_made_when_told() {
    let cluster = Cluster::start_in(Path::new("/tmp"));
    let (config, [_, t2]) = two(&cluster);
    let first = StorageConfig { targets: vec![config.targets[0].clone()], ..config.clone() };
    assert_eq!(run_service(&cluster, &first), (vec![11], vec![11]));
    assert_eq!(run_service(&cluster, &config), (vec![11], vec![11]));
    drop(OwnDir::open(&t2, Kind::StorageTarget, ClusterId([9; 16])).unwrap());
    assert_eq!(run_service(&cluster, &config), (vec![11, 12], vec![11, 12]));
}

#[test]
fn a_target_that_is_refused_does_not_take_the_others_down() {
    let cluster = Cluster::start_in(Path::new("/tmp"));
    let (config, [t1, t2]) = two(&cluster);
    assert_eq!(run_service(&cluster, &config), (vec![11, 12], vec![11, 12]));
    let file = t1.join("target.toml");
    let good = std::fs::read_to_string(&file).unwrap();
    let foreign = good.replace(&CLUSTER.to_string(), &"08".repeat(16));
    assert_ne!(foreign, good);
    for bad in [foreign.as_str(), "not = [ours"] {
        std::fs::write(&file, bad).unwrap();
        assert_eq!(run_service(&cluster, &config), (vec![12], vec![12]), "{bad}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), bad, "left alone");
    }
    std::fs::write(&file, &good).unwrap();
    let mut wished = config.clone();
    wished.targets[0].id = Some(TargetId(13));
    assert_eq!(run_service(&cluster, &wished), (vec![12], vec![12]));
    // Management refuses one: its figures are not told either.
    *cluster.knobs.unwanted.lock().unwrap() = TargetId(12);
    assert_eq!(run_service(&cluster, &config), (vec![11], vec![11]));
    let alone = StorageConfig { targets: vec![config.targets[1].clone()], ..config };
    let why = refused_when_it_serves(&alone);
    assert!(why.contains("it was replaced") && why.contains(t2.to_str().unwrap()), "{why}");
}

/// As [`refused`], for what is known only after registration.
fn refused_when_it_serves(config: &StorageConfig) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(nyala_storage::run(config.clone(), std::future::pending())).unwrap_err().to_string()
}
