// SPDX-License-Identifier: Apache-2.0

//! Sets that are in use, that a cluster knows, or that may go.

use super::*;
use crate::exit::Exit;
use nyala_storage::SetSpec;
use nyala_storage::drive_set::{make, open};
use nyala_store::own_dir::Identity;
use nyala_wire::ClusterId;
use nyala_wire::map::{CapacityPool, ClusterMap, Consistency, Reachability, Target, TargetKind};
use nyala_wire::{NodeId, PoolId};
use std::path::{Path, PathBuf};

const CLUSTER: ClusterId = ClusterId([7; 16]);

fn dirs(root: &Path, names: &[&str]) -> Vec<String> {
    let dirs: Vec<PathBuf> = names.iter().map(|name| root.join(name)).collect();
    dirs.iter().for_each(|dir| std::fs::create_dir(dir).unwrap());
    dirs.iter().map(|dir| dir.display().to_string()).collect()
}

fn is_empty(dir: &str) -> bool {
    std::fs::read_dir(dir).unwrap().next().is_none()
}

fn spec(drives: &[String]) -> SetSpec {
    SetShape { level: Some("5".into()), ..SetShape::default() }.spec(drives, &[]).unwrap()
}

fn delete(drives: &[String], more: fn(&mut RaidDeleteArgs)) -> Outcome {
    let mut args = RaidDeleteArgs { drives: drives.to_vec(), yes: true, ..Default::default() };
    more(&mut args);
    run(args, Output::Json)
}

fn yes(_: &mut RaidDeleteArgs) {}

/// The target on a set has registered.
fn register(drives: &[String], target: u16) {
    for drive in drives {
        let path = Path::new(drive).join("target");
        let mut own =
            nyala_store::own_dir::OwnDir::open(&path, nyala_store::own_dir::Kind::StorageTarget, CLUSTER).unwrap();
        own.registered(CLUSTER, TargetId(target)).unwrap();
    }
}

#[test]
fn a_set_is_deleted_when_that_is_said_and_its_drives_are_used_again() {
    let root = tempfile::tempdir().unwrap();
    let drives = dirs(root.path(), &["a", "b", "c"]);
    make(&spec(&drives), None).unwrap();
    assert_eq!(delete(&drives, |args| args.yes = false), Ok(Exit::Ok));
    let used = open(&spec(&drives), None).expect("nothing was changed");
    let refused = delete(&drives, yes).unwrap_err().message;
    assert!(refused.contains("a storage service uses this drive"), "{refused}");
    drop(used);
    assert_eq!(delete(&drives, yes), Ok(Exit::Ok));
    assert!(drives.iter().all(|drive| is_empty(drive)));
    assert_eq!(delete(&drives, yes), Ok(Exit::Ok), "there is nothing more to delete");
    make(&spec(&drives), None).unwrap();
    open(&spec(&drives), None).expect("a new set");
}

#[test]
fn a_target_that_a_cluster_may_know_is_not_deleted() {
    let root = tempfile::tempdir().unwrap();
    let drives = dirs(root.path(), &["a", "b", "c"]);
    make(&spec(&drives), None).unwrap();
    // Only one of the drives knows that it registered.
    register(&drives[2..], 42);
    let nobody = |args: &mut RaidDeleteArgs| args.cluster.dir = Some("/nonexistent".into());
    let refused = delete(&drives, nobody).unwrap_err().message;
    assert!(refused.contains("target 42") && refused.contains("--cluster-gone"), "{refused}");
    assert!(drives.iter().all(|drive| Path::new(drive).join("table").exists()));
    assert_eq!(delete(&drives, |args| args.cluster_gone = true), Ok(Exit::Ok));
    assert!(drives.iter().all(|drive| is_empty(drive)));
}

#[test]
fn what_to_do_first_is_said() {
    let target = Target {
        id: TargetId(42),
        alias: "era1".into(),
        kind: TargetKind::Storage,
        node: NodeId(1),
        pool: PoolId(1),
        reachability: Reachability::Offline,
        consistency: Consistency::Good,
        capacity_pool: CapacityPool::Normal,
    };
    let map = ClusterMap { cluster: CLUSTER, targets: vec![target], ..ClusterMap::default() };
    let known = |cluster, target| {
        let identity = Identity::new(nyala_store::own_dir::Kind::StorageTarget, CLUSTER);
        expect_removed(&map, &Identity { cluster, target: TargetId(target), ..identity })
    };
    let refused = known(CLUSTER, 42).unwrap_err().message;
    for word in ["era1", "nyala entry migrate", "nyala target remove 42 --yes"] {
        assert!(refused.contains(word), "{word}: {refused}");
    }
    assert!(known(CLUSTER, 43).is_ok(), "it was removed");
    assert!(known(ClusterId([8; 16]), 43).unwrap_err().message.contains("--mgmt"), "that cluster does not say so");
}
