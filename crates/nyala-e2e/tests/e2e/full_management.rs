// SPDX-License-Identifier: Apache-2.0

//! Management whose disk is full: programs go on in the mount, what it has to decide it decides, or later; it ends neither by
//! itself nor when it is killed and started there, and needs no help when there is room again.

use crate::full_disk::{empty_of_others, fill_by_others, give_disk};
use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::shared::long;
use nyala_e2e::{Cluster, Options, beside_others};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A command that management cannot do yet is given again.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Writes, reads, compares and removes without end.
fn load(dir: &Path, stop: &AtomicBool, steps: &AtomicU64) {
    while !stop.load(Ordering::Relaxed) {
        let number = steps.fetch_add(1, Ordering::Relaxed);
        let (path, content) =
            (dir.join(format!("f{}", number % 50)), pattern(number, 100 + number as usize % 40 * 1000));
        put(&path, &content).unwrap_or_else(|error| panic!("step {number}: {error}"));
        assert!(fs::read(&path).unwrap() == content, "step {number}");
        if number.is_multiple_of(3) {
            fs::remove_file(&path).unwrap_or_else(|error| panic!("step {number}: {error}"));
        }
    }
}

/// Changes what management knows of the group. Returns how often it had to be said.
fn change(cluster: &Cluster, stopped: bool) -> u32 {
    let (dir, word) = (text(&cluster.dir()), if stopped { "stop" } else { "start" });
    let began = Instant::now();
    for tries in 1.. {
        let done = cluster.nyala(["mirror", "resync", word, "1", "--dir", &dir]);
        if done.ok() {
            return tries;
        }
        assert!(began.elapsed() < COMMAND_TIMEOUT, "{}\n{}", done.describe(), cluster.logs(20));
    }
    unreachable!("numbers do not end")
}

fn changes(cluster: &Cluster, count: u32) -> u32 {
    (0..count).map(|number| change(cluster, number % 2 == 0)).sum::<u32>() - count
}

fn pids(cluster: &Cluster, names: &[&str]) -> Vec<i32> {
    names.iter().map(|name| cluster.pid(name)).collect()
}

/// What has to go on while the disk is full.
fn while_full(cluster: &Cluster, count: u32) -> u32 {
    let before = pids(cluster, &["mgmt", "meta1", "mount"]);
    let mut again = changes(cluster, count);
    // Registrations are changes too.
    cluster.kill("storage1");
    cluster.start_service("storage1");
    cluster.wait_healthy();
    assert_eq!(pids(cluster, &["mgmt", "meta1", "mount"]), before, "nothing restarts because a disk is full");
    cluster.kill("mgmt");
    cluster.start_service("mgmt");
    cluster.wait_healthy();
    again += changes(cluster, count);
    cluster.stop_service("storage2");
    cluster.start_service("storage2");
    cluster.wait_healthy();
    again
}

#[test]
fn e2e_full_disk_of_management_ends_nothing() {
    let _one = beside_others();
    let cluster = Cluster::start(Options {
        meta: 1,
        storage: 2,
        storage_services: 2,
        more: ["--mirror", "--meta-spares", "0"].map(str::to_owned).into(),
    });
    cluster.down().must();
    let disk = cluster.dir().join("mgmt");
    give_disk(&cluster, &disk, "64M", "mkfs.ext4 -q -m 0 -N 100");
    cluster.up().must();
    cluster.wait_healthy();
    let dir = cluster.test_dir("load");
    let (stop, steps) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| load(&dir, &stop, &steps));
        for round in 0..if long() { 10 } else { 2 } {
            let what = ["bytes", "inodes"][round % 2];
            let (began, before) = (Instant::now(), steps.load(Ordering::Relaxed));
            fill_by_others(&disk, what);
            let again = while_full(&cluster, if long() { 60 } else { 10 });
            empty_of_others(&disk);
            let tries = changes(&cluster, 4);
            assert_eq!(tries, 0, "there is room again");
            let steps = steps.load(Ordering::Relaxed) - before;
            println!(
                "round {round}: without {what}, {steps} steps of the load, {again} commands given again, {:?}",
                began.elapsed()
            );
            assert!(steps > 20, "the load stood still");
            assert!(!worker.is_finished(), "the load ended");
        }
        stop.store(true, Ordering::Relaxed);
        worker.join().unwrap();
    });
    cluster.down().must();
    cluster.up().must();
    cluster.wait_healthy();
    cluster.assert_fsck_clean();
}
