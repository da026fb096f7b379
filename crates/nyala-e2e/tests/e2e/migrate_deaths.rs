// SPDX-License-Identifier: Apache-2.0

//! `nyala entry migrate` while the command, metadata and storage services die.

use crate::migrate::on;
use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::{Cluster, Options, beside_others, binary};
use std::fs::{self, File};
use std::time::Duration;

/// Whoever dies while a file is moved, it is the file that it was, and can be moved afterwards.
#[test]
fn e2e_entry_migrate_and_deaths() {
    let _one = beside_others();
    let cluster = Cluster::start(Options::default());
    let dir = cluster.test_dir("deaths");
    let set = ["entry", "set", "--num-targets", "2", "--chunk-size", "64k", "--inline-size", "0", &text(&dir)];
    cluster.nyala(set).must();
    let (path, content) = (dir.join("large"), pattern(7, (64 << 20) + 4321));
    fs::write(&path, &content).unwrap();
    File::open(&path).unwrap().sync_all().unwrap();
    let victims = ["the command".to_owned()].into_iter().chain(
        cluster.services().into_iter().filter(|name| ["meta", "storage"].iter().any(|kind| name.starts_with(kind))),
    );
    for (round, victim) in victims.enumerate() {
        let leaves = on(&cluster, &path)[0].to_string();
        let mut command = std::process::Command::new(binary::nyala());
        command.args(["entry", "migrate", &text(&path), "--targets", &leaves, "--yes"]).current_dir(cluster.root());
        let mut child = command.spawn().unwrap();
        // sleeps: until it is in the midst of it, another moment each time
        std::thread::sleep(Duration::from_millis(60 + 40 * round as u64));
        if victim == "the command" {
            child.kill().unwrap();
        } else {
            cluster.kill(&victim);
            cluster.start_service(&victim);
        }
        let ended = child.wait().unwrap();
        println!("{victim} died: the command {ended}");
        cluster.wait_healthy();
        assert!(fs::read(&path).unwrap() == content, "{victim} died, and it is another file");
        cluster.nyala(["entry", "migrate", &text(&path), "--targets", &leaves, "--yes"]).must();
        assert!(!on(&cluster, &path).contains(&leaves.parse().unwrap()));
        assert!(fs::read(&path).unwrap() == content, "moved after {victim} died, it is another file");
    }
}
