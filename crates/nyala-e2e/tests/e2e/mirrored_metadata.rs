// SPDX-License-Identifier: Apache-2.0

//! A metadata server that is mirrored: its primary dies, stands still or loses its role under a checked load, again and again.

use crate::kills::Load;
use nyala_e2e::{Cluster, Options, alone, cleanup, long};
use std::time::{Duration, Instant};

fn options(meta: u16) -> Options {
    Options { meta, more: vec!["--mirror".to_owned()], ..Options::default() }
}

/// Names of the group's members, the primary first, once all are good.
fn members(cluster: &Cluster) -> Vec<String> {
    let began = Instant::now();
    loop {
        let groups = cluster.json(&["mirror", "list"]);
        let group = groups.as_array().and_then(|all| all.iter().find(|group| group["type"] == "meta"));
        let members = group.and_then(|group| group["members"].as_array().cloned()).unwrap_or_default();
        if members.len() == 2 && members.iter().all(|member| member["state"] == "good") {
            return members.iter().filter_map(|member| member["node_alias"].as_str().map(str::to_owned)).collect();
        }
        let waited = began.elapsed();
        assert!(waited < Duration::from_secs(60), "not good after {waited:?}: {groups}\n{}", cluster.logs(40));
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Kills the primary: the load goes on long before that is back; then it is brought up to date.
#[test]
fn e2e_mirrored_metadata_outlives_its_primary() {
    let _one = alone();
    let cluster = Cluster::start(options(1));
    let mut load = Load::start(&cluster, "load");
    load.progress(&cluster, 30);
    let (mut longest, mut longest_still) = (Duration::ZERO, Duration::ZERO);
    for round in 0..if long() { 100 } else { 5 } {
        let primary = members(&cluster).remove(0);
        let dies = round % 3 != 2;
        let began = Instant::now();
        match dies {
            true => cluster.kill(&primary),
            false => cleanup::signal(cluster.pid(&primary), libc::SIGSTOP),
        }
        load.progress(&cluster, 1);
        let pause = began.elapsed();
        let what = if dies { "dies" } else { "stands still" };
        println!("round {round}: {primary} {what}, the load goes on after {pause:?}");
        load.progress(&cluster, 10);
        if dies {
            longest = longest.max(pause);
            cluster.start_service(&primary);
        } else {
            longest_still = longest_still.max(pause);
            cleanup::signal(cluster.pid(&primary), libc::SIGCONT);
        }
    }
    members(&cluster);
    load.finish(&cluster);
    cluster.assert_fsck_clean();
    println!("longest pause after a process died: {longest:?}, and when one stood still: {longest_still:?}");
    // A second, and a lease and a bit, on a machine that does nothing else.
    assert!(longest < Duration::from_secs(4) && longest_still < Duration::from_secs(12));
}
