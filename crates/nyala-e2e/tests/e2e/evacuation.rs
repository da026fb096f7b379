// SPDX-License-Identifier: Apache-2.0

//! A target whose disk makes more errors than its limit is emptied by itself: files move to other targets, another target takes its place in its
//! mirror group, new files go elsewhere, and nothing wrong is read meanwhile.

use crate::layout::{chunk_files, info, target_dirs};
use crate::scrub::flip;
use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::{Cluster, Options, beside_others, wait_until};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(300);
/// Five errors are enough, and scrubs find them at once.
const SETTINGS: &str = "scrub-interval = \"1s\"\nscrub-rate = \"0\"\nevacuate-errors = 5\n";
const BLOCK: u64 = 4096;

fn cluster(storage: u16, more: &[&str]) -> Cluster {
    let more = more.iter().map(|flag| (*flag).to_owned()).collect();
    let cluster = Cluster::start(Options { meta: 1, storage, storage_services: storage, more });
    cluster.down().must();
    for name in (1..=storage).map(|n| format!("storage{n}")) {
        let path = cluster.dir().join("conf").join(format!("{name}.toml"));
        let settings = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{SETTINGS}{settings}")).unwrap();
    }
    cluster.up().must();
    cluster.wait_healthy();
    cluster
}

fn until(what: &str, cluster: &Cluster, holds: impl FnMut() -> bool) {
    wait_until(LIMIT, holds, || format!("{what}: {}\n{}", cluster.json(&["target", "list"]), cluster.logs(30)));
}

/// Targets whose disks fail.
fn failing(cluster: &Cluster) -> Vec<u64> {
    let targets = cluster.json(&["target", "list", "--kind", "storage"]);
    let fails = targets.as_array().unwrap().iter().filter(|target| target["failing_errors"].is_u64());
    fails.map(|target| target["id"].as_u64().unwrap()).collect()
}

fn targets_of(cluster: &Cluster, path: &Path) -> Vec<u64> {
    let stripe = info(cluster, path)["stripe"]["targets"].clone();
    stripe.as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect()
}

fn make(dir: &Path, name: &str, number: u64, len: usize) -> (PathBuf, Vec<u8>) {
    let (path, content) = (dir.join(name), pattern(number, len));
    fs::write(&path, &content).unwrap();
    fs::File::open(&path).unwrap().sync_all().unwrap();
    (path, content)
}

fn check(made: &[(PathBuf, Vec<u8>)]) {
    made.iter().for_each(|(path, content)| assert!(fs::read(path).unwrap() == *content, "{}", path.display()));
}

/// Damages six blocks of what a target has of a file.
fn damage(target: &Path, cluster: &Cluster, path: &Path) {
    let inode = info(cluster, path)["inode"].as_str().unwrap().to_owned();
    (0..6).for_each(|block| flip(target, &inode, block * 2 * BLOCK + 7));
}

fn health(cluster: &Cluster) -> String {
    let done = cluster.nyala(["health", "check", "--output", "json", "--dir", &text(&cluster.dir())]);
    assert_eq!(done.code(), Some(6), "{}", done.describe());
    done.out
}

#[test]
fn e2e_files_leave_a_target_whose_disk_fails() {
    let _one = beside_others();
    let cluster = cluster(4, &["--mirror", "--meta-spares", "0", "--chunk-size", "64k"]);
    let (plain, coded) = (cluster.test_dir("plain"), cluster.test_dir("coded"));
    cluster.nyala(["entry", "set", "--pattern", "raid0", "--num-targets", "3", &text(&plain)]).must();
    cluster.nyala(["entry", "set", "--pattern", "ec", "--data", "2", "--parity", "1", &text(&coded)]).must();
    let mut made: Vec<_> = (0..12).map(|n| make(&plain, &format!("p{n}"), n, 300_000 + n as usize * 7777)).collect();
    made.extend((0..6).map(|n| make(&coded, &format!("c{n}"), 50 + n, 400_000 + n as usize * 4444)));
    cluster.nyala(["entry", "encode", &text(&coded)]).must();
    let (victim, _) = make(&plain, "victim", 99, 600_000);
    let dirs = target_dirs(&cluster);
    let inode = info(&cluster, &victim)["inode"].as_str().unwrap().to_owned();
    let (bad, dir) = dirs.iter().find(|(_, dir)| !chunk_files(dir, &inode).is_empty()).unwrap().clone();
    let on_bad = || made.iter().filter(|(path, _)| targets_of(&cluster, path).contains(&bad)).count();
    assert!(on_bad() > 0);

    damage(&dir, &cluster, &victim);
    until("the target is called failing", &cluster, || failing(&cluster) == [bad]);
    check(&made);
    until("its files are elsewhere", &cluster, || {
        // sleeps: looking at a file recalls its delegation, and a file that others want stays until the next pass
        std::thread::sleep(Duration::from_secs(15));
        on_bad() == 0
    });
    check(&made);
    let coded_on = |n: usize| info(&cluster, &made[12 + n].0)["stripe"]["pattern"].clone();
    assert!((0..6).all(|n| coded_on(n) == "ec"));
    let new: Vec<_> = (0..8).map(|n| make(&plain, &format!("new{n}"), 200 + n, 100_000)).collect();
    assert!(new.iter().all(|(path, _)| !targets_of(&cluster, path).contains(&bad)));
    let said = health(&cluster);
    assert!(said.contains(&format!("the disk of storage target {bad}")) && said.contains("target add DIR"), "{said}");
    assert!(targets_of(&cluster, &victim).contains(&bad), "what cannot be read stays");
    assert!(said.contains("damaged bytes that could not be repaired"), "{said}");

    cluster.nyala(["target", "set-state", &bad.to_string(), "good", "--yes", "--dir", &text(&cluster.dir())]).must();
    fs::remove_file(&victim).unwrap();
    cluster.wait_healthy();
    assert!(failing(&cluster).is_empty(), "what was forgiven counts no more");
    check(&made);
    cluster.assert_fsck_clean();
}

/// Members of the only mirror group, the primary first, with their states.
fn members(cluster: &Cluster) -> Vec<(u64, String)> {
    let groups: Value = cluster.json(&["mirror", "list"]);
    let state = |member: &Value| (member["target"].as_u64().unwrap(), member["state"].as_str().unwrap().to_owned());
    groups[0]["members"].as_array().unwrap().iter().map(state).collect()
}

#[test]
fn e2e_a_spare_takes_the_place_of_a_member_whose_disk_fails() {
    let _one = beside_others();
    let cluster = cluster(3, &[]);
    let dirs = target_dirs(&cluster);
    let [bad, other, spare] = [0, 1, 2].map(|at: usize| dirs[at].0);
    cluster.json(&["mirror", "create", "--primary", &bad.to_string(), "--secondary", &other.to_string()]);
    let dir = cluster.test_dir("mirrored");
    cluster.nyala(["entry", "set", "--pattern", "mirror", "--num-targets", "1", &text(&dir)]).must();
    let mut made: Vec<_> = (0..10).map(|n| make(&dir, &format!("m{n}"), n, 200_000 + n as usize * 3333)).collect();
    // In a file each: a repair brings back all that is around the block that was read.
    made[..6].iter().for_each(|(path, _)| flip(&dirs[0].1, info(&cluster, path)["inode"].as_str().unwrap(), 7));
    let good = |targets: [u64; 2]| targets.map(|target| (target, "good".to_owned())).to_vec();
    let mut round = 0;
    until("the spare has its place", &cluster, || {
        round += 1;
        made.push(make(&dir, &format!("meanwhile{round}"), 100 + round, 50_000));
        check(&made);
        members(&cluster) == good([other, spare])
    });
    assert_eq!(failing(&cluster), [bad]);
    check(&made);
    cluster.nyala(["mirror", "check", "--dir", &text(&cluster.dir())]).must();
    // The spare alone has everything.
    let holder = dirs[1].1.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap();
    cluster.kill(holder);
    check(&made);
    cluster.start_service(holder);
    until("both are good again", &cluster, || members(&cluster).iter().all(|(_, state)| state == "good"));
}
