// SPDX-License-Identifier: Apache-2.0

//! What slows a cluster down or will is named by `nyala health check`, by the REST API and by the web page within ten seconds, with what to do,
//! and no longer once it is over: a disk that is slow, one that does not answer, and full disks of logs.

mod looks;
mod throttle;

use crate::full_disk::{empty_of_others, fill_by_others, give_disk};
use looks::Looks;
use nyala_e2e::{Cluster, Options, serial};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use throttle::Throttle;

const THREADS: u64 = 4;
const FILES: u64 = 4;

/// Writes and syncs small pieces of files that lie on one target each, until it is told to stop.
fn load(dir: &Path, thread: u64, stop: &AtomicBool) {
    let open = |n| File::create(dir.join(format!("t{thread}-{n}"))).unwrap();
    let files: Vec<File> = (0..FILES).map(open).collect();
    for step in 0.. {
        let file = &files[(step % FILES) as usize];
        file.write_all_at(&[step as u8; 4096], step % 64 * 4096).unwrap();
        file.sync_all().unwrap();
        if stop.load(Ordering::Relaxed) {
            return;
        }
    }
}

/// A cluster whose storage targets have disks of their own; so has what else is named.
fn with_disks(others: &[(&str, &str)]) -> Cluster {
    let more = ["--inline-size", "0", "--targets", "1"].map(str::to_owned).into();
    let cluster = Cluster::start(Options { meta: 1, storage: 2, storage_services: 2, more });
    cluster.down().must();
    let targets = [("storage1/t1", "256M"), ("storage2/t1", "256M")];
    for (name, size) in targets.iter().chain(others) {
        give_disk(&cluster, &cluster.dir().join(name), size, "mkfs.ext4 -q -m 0");
    }
    cluster.up().must();
    cluster.wait_healthy();
    cluster
}

#[test]
fn e2e_health_names_a_slow_disk_and_one_that_does_not_answer() {
    let _one = serial();
    let cluster = with_disks(&[]);
    let (dir, stop) = (cluster.test_dir("load"), AtomicBool::new(false));
    let looks = Looks::at(&cluster);
    std::thread::scope(|scope| {
        let stopped = Stop(&stop);
        for thread in 0..THREADS {
            let (dir, stop) = (&dir, &stop);
            scope.spawn(move || load(dir, thread, stop));
        }
        looks.wait_gone("the disk of");
        let throttle = Throttle::of(cluster.pid("storage1"), &cluster.dir().join("storage1/t1"));
        throttle.write_operations(2);
        let slow = &format!("the disk of storage target {} ", id_of(&cluster.dir().join("storage1/t1")));
        looks.wait_named(slow, "is slow", "iostat -x 1");
        throttle.off();
        looks.wait_gone(slow);
        throttle.write_bytes(64);
        looks.wait_named(slow, "does not answer", "dmesg");
        throttle.off();
        looks.wait_gone("the disk of");
        drop(stopped);
    });
    cluster.assert_fsck_clean();
}

#[test]
fn e2e_health_names_full_disks_of_logs() {
    let _one = serial();
    let cluster = with_disks(&[("mgmt", "64M"), ("meta1", "96M")]);
    let looks = Looks::at(&cluster);
    looks.wait_gone("the disk of the log");
    for (name, whose) in [("mgmt", "mgmt node"), ("meta1", "meta target 1")] {
        let disk = cluster.dir().join(name);
        fill_by_others(&disk, "bytes");
        looks.wait_named(&format!("the disk of the log and tables of {whose} "), "full", "Make room");
        empty_of_others(&disk);
        looks.wait_gone("the disk of the log");
    }
    cluster.assert_fsck_clean();
}

/// The id that is in the directory of a target.
fn id_of(target: &Path) -> u16 {
    let text = std::fs::read_to_string(target.join("target.toml")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("target = "));
    line.and_then(|id| id.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

/// The load ends whatever comes of the test.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
