// SPDX-License-Identifier: Apache-2.0

//! What slows a cluster down or will is named by `nyala health check`, by the REST API and by the web page within ten seconds, with what to do,
//! and no longer once it is over: a disk that is slow, one that does not answer, and full disks of logs.

mod looks;
mod throttle;

use crate::full_disk::{empty_of_others, fill_by_others, give_disk};
use looks::Looks;
use nyala_e2e::run::kill_group;
use nyala_e2e::{Cluster, Options, alone};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use throttle::Throttle;

const THREADS: u64 = 4;
const FILES: u64 = 4;

/// Writes and syncs small pieces of files that lie on one target each, until it is dropped.
///
/// Programs of their own: were the files open in this process, each command that a test runs would wait for the slow disk, since who starts
/// another program closes them in the copy of this process.
struct Load(Vec<Child>);

impl Load {
    fn on(dir: &Path) -> Load {
        let script = "while :; do for n in $(seq $2); do dd if=/dev/zero of=\"$0/t$1-$n\" bs=4k count=4 conv=notrunc,fsync; done; done";
        let start = |thread: u64| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).arg(dir).args([thread.to_string(), FILES.to_string()]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
            command.spawn().unwrap()
        };
        Load((0..THREADS).map(start).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(kill_group);
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
    let _one = alone();
    let cluster = with_disks(&[]);
    let dir = cluster.test_dir("load");
    let looks = Looks::at(&cluster);
    let load = Load::on(&dir);
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
    drop(load);
    cluster.assert_fsck_clean();
}

#[test]
fn e2e_health_names_full_disks_of_logs() {
    let _one = alone();
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
