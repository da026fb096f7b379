// SPDX-License-Identifier: Apache-2.0

//! Members of mirror groups that hold something else than their primary: found while clients work, and given what the primary has.

use super::damage::number;
use super::tables::{Tables, entry};
use super::{classes, fsck, set};
use crate::layout::target_dirs;
use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::run::sh;
use nyala_e2e::{Cluster, Options, beside_others};
use nyala_namespace::keys;
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Until mirror members have forgotten that a change was under way.
const FORGET: Duration = Duration::from_secs(4);

/// Names of a group's members, the primary first.
fn members(cluster: &Cluster, kind: &str) -> Vec<String> {
    let groups = cluster.json(&["mirror", "list"]);
    let group = groups.as_array().and_then(|all| all.iter().find(|group| group["type"] == kind)).cloned();
    let members = group.and_then(|group| group["members"].as_array().cloned()).unwrap_or_default();
    members.iter().filter_map(|member| member["node_alias"].as_str().map(str::to_owned)).collect()
}

/// Checks while names come and go all the time.
///
/// The check begins once the load runs, so that a slow disk does not end one before the other has begun.
fn under_load(cluster: &Cluster, dir: &Path, more: &[&str]) -> (i32, Value) {
    let (stop, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let round = rounds.load(Ordering::Relaxed);
                let path = dir.join(format!("n{}", round % 7));
                fs::write(&path, pattern(round, 500)).unwrap();
                fs::rename(&path, dir.join("moved")).unwrap();
                rounds.store(round + 1, Ordering::Relaxed);
            }
        });
        while rounds.load(Ordering::Relaxed) < 20 && !worker.is_finished() {
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(5));
        }
        let before = rounds.load(Ordering::Relaxed);
        let report = fsck(cluster, more);
        stop.store(true, Ordering::Relaxed);
        worker.join().unwrap();
        assert!(rounds.load(Ordering::Relaxed) > before, "the load did something while it was checked");
        report
    })
}

#[test]
fn e2e_fsck_finds_and_refills_a_metadata_member_that_differs() {
    let _one = beside_others();
    let more = vec!["--mirror".to_owned()];
    let cluster = Cluster::start(Options { meta: 1, storage: 2, storage_services: 2, more });
    let root = cluster.test_dir("mirrored");
    for number in 0..3000 {
        fs::write(root.join(format!("f{number}")), pattern(number, number as usize % 900)).unwrap();
    }
    let busy = cluster.test_dir("busy");
    let (code, report) = under_load(&cluster, &busy, &[]);
    assert_eq!((code, classes(&report, "findings")), (0, set(&[])), "changes under way are no differences: {report:#}");

    // A member lacks a row, has one with another value, and one more.
    let [lost, other] = ["f7", "f8"].map(|name| number(&root.join(name)));
    let (dir, members) = (number(&root), members(&cluster, "meta"));
    cluster.stop_service(&members[1]);
    let tables = Tables::of(&cluster, &[&members[1]]);
    tables.remove(&entry(dir, "f7"));
    tables.put(&keys::inode(dir), &keys::data(other), b"another");
    tables.put(&keys::inode(dir), &keys::xattr(lost, b"user.more"), b"1");
    tables.close();
    cluster.start_service(&members[1]);
    cluster.wait_healthy();
    let (code, report) = under_load(&cluster, &busy, &[]);
    assert_eq!((code, classes(&report, "findings")), (6, set(&["mirror-tables"])), "{report:#}");
    assert!(report["findings"][0]["detail"].as_str().unwrap().contains("D\\x"), "it names rows: {report:#}");

    let (code, report) = under_load(&cluster, &busy, &["--repair"]);
    assert_eq!((code, classes(&report, "repaired")), (0, set(&["mirror-tables"])), "{report:#}");
    cluster.wait_healthy();
    let (code, report) = fsck(&cluster, &[]);
    assert_eq!((code, classes(&report, "findings")), (0, set(&[])), "{report:#}");

    // It holds everything: it serves alone.
    cluster.kill(&members[0]);
    assert_eq!(fs::read(root.join("f7")).unwrap(), pattern(7, 7));
    assert_eq!(fs::read(root.join("f8")).unwrap(), pattern(8, 8));
    cluster.start_service(&members[0]);
    cluster.wait_healthy();
    cluster.assert_fsck_clean();
}

/// A target goes back to an older state, with checksums that fit, and nobody remembers.
#[test]
fn e2e_fsck_finds_and_copies_chunk_files_that_differ() {
    let _one = beside_others();
    let more = ["--mirror", "--meta-spares", "0"].map(str::to_owned).to_vec();
    let cluster = Cluster::start(Options { meta: 1, storage: 2, storage_services: 2, more });
    let path = cluster.test_dir("different").join("f");
    let content = pattern(1, 3 << 20);
    let write = |content: &[u8]| {
        let mut file = File::create(&path).unwrap();
        file.write_all(content).unwrap();
        file.sync_all().unwrap();
    };
    write(&content);
    let secondary = members(&cluster, "storage").remove(1);
    let target = target_dirs(&cluster).into_iter().map(|(_, dir)| dir).find(|dir| text(dir).contains(&secondary));
    let (target, copy) = (target.unwrap(), cluster.root().join("copy"));
    let limit = Duration::from_secs(30);
    // sleeps: mirror members forget what was under way after this time
    std::thread::sleep(FORGET);
    cluster.down().must();
    sh(&format!("cp -a '{}' '{}'", target.display(), copy.display()), limit).must();
    cluster.up().must();
    cluster.wait_healthy();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&pattern(2, 8192), 1 << 20).unwrap();
    file.sync_all().unwrap();
    drop(file);
    // sleeps: mirror members forget what was under way after this time
    std::thread::sleep(FORGET);
    cluster.down().must();
    sh(&format!("rm -r '{0}' && mv '{1}' '{0}'", target.display(), copy.display()), limit).must();
    cluster.up().must();
    cluster.wait_healthy();
    // After a start any member may lead: the one that is right is to.
    let right = members(&cluster, "storage").into_iter().find(|name| *name != secondary).unwrap();
    if members(&cluster, "storage")[0] != right {
        let to = target_dirs(&cluster).into_iter().find(|(_, dir)| text(dir).contains(&right)).unwrap().0;
        cluster.nyala(["mirror", "switch", "1", &to.to_string(), "--dir", &text(&cluster.dir())]).must();
        cluster.wait_healthy();
    }

    let (code, report) = fsck(&cluster, &["--no-mirrors"]);
    assert_eq!((code, classes(&report, "findings")), (0, set(&[])), "each by itself is good: {report:#}");
    let (code, report) = fsck(&cluster, &[]);
    assert_eq!((code, classes(&report, "findings")), (6, set(&["mirror-chunk"])), "{report:#}");
    assert!(report["findings"][0]["detail"].as_str().unwrap().starts_with("8192 bytes"), "{report:#}");
    let (code, report) = fsck(&cluster, &["--repair"]);
    assert_eq!((code, classes(&report, "repaired")), (0, set(&["mirror-chunk"])), "{report:#}");
    cluster.assert_fsck_clean();

    let mut wanted = content;
    wanted[1 << 20..(1 << 20) + 8192].copy_from_slice(&pattern(2, 8192));
    cluster.stop_service(&right);
    cluster.stop_service("mount");
    cluster.start_service("mount");
    assert!(fs::read(&path).unwrap() == wanted, "the other one has it now");
    cluster.start_service(&right);
    cluster.wait_healthy();
}
