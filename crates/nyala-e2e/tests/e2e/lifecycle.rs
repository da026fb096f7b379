// SPDX-License-Identifier: Apache-2.0

//! `up`, `down`, `status`, `start`, `stop`: what was there is there again.

use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::run::sh;
use nyala_e2e::{Cluster, Options, beside_others};
use std::fs;
use std::time::Duration;

fn fill(cluster: &Cluster) {
    let dir = cluster.test_dir("kept");
    for number in 0..200 {
        let sub = dir.join(format!("d{}", number % 10));
        fs::create_dir_all(&sub).unwrap();
        fs::write(sub.join(format!("f{number}")), pattern(number, (number * number) as usize * 7)).unwrap();
    }
    std::os::unix::fs::symlink("d1/f1", dir.join("link")).unwrap();
    nyala_e2e::sys::setxattr(&dir.join("d2"), "user.kept", b"yes", 0).unwrap();
}

fn check(cluster: &Cluster) {
    let dir = cluster.mount().join("kept");
    for number in 0..200 {
        let path = dir.join(format!("d{}/f{number}", number % 10));
        assert!(fs::read(&path).unwrap() == pattern(number, (number * number) as usize * 7), "{}", path.display());
    }
    assert_eq!(fs::read(dir.join("link")).unwrap(), pattern(1, 7));
    assert_eq!(nyala_e2e::sys::getxattr(&dir.join("d2"), "user.kept").unwrap(), b"yes");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 11);
}

#[test]
fn e2e_up_down_restart() {
    let _one = beside_others();
    // Metadata servers that start again wait so long for a client that was killed.
    let more = ["--session-timeout", "4s"].map(str::to_owned).to_vec();
    let cluster = Cluster::start(Options { more, ..Options::default() });
    fill(&cluster);
    check(&cluster);
    let mut all = cluster.services();
    all.push("mount".into());
    all.sort();
    assert_eq!(cluster.running(), all);

    let pids: Vec<i32> = all.iter().map(|name| cluster.pid(name)).collect();
    cluster.up().must();
    assert_eq!(
        all.iter().map(|name| cluster.pid(name)).collect::<Vec<_>>(),
        pids,
        "a second `up` leaves alone what runs"
    );

    cluster.down().must();
    assert_eq!(cluster.running(), [] as [String; 0]);
    assert!(pids.iter().all(|pid| !nyala_e2e::cleanup::alive(*pid, &cluster.dir())), "no process is left");
    assert_eq!(fs::read_dir(cluster.mount()).unwrap().count(), 0, "nothing is mounted");
    cluster.down().must();

    for round in 0..2 {
        cluster.up().must();
        cluster.wait_healthy();
        check(&cluster);
        fs::write(cluster.mount().join(format!("round{round}")), format!("{round}")).unwrap();
        cluster.down().must();
    }
    cluster.up().must();
    cluster.wait_healthy();
    assert_eq!(fs::read(cluster.mount().join("round0")).unwrap(), b"0");
    assert_eq!(fs::read(cluster.mount().join("round1")).unwrap(), b"1");

    // After a kill of everything, the mount included, `up` alone mends it.
    cluster.kill_all(&all);
    let status = cluster.nyala(["status", "--dir", &text(&cluster.dir())]);
    assert!(!status.ok(), "a dead cluster is not reported as healthy: {}", status.describe());
    cluster.up().must();
    cluster.wait_healthy();
    check(&cluster);
    for name in ["storage1", "meta2", "mgmt"] {
        cluster.stop_service(name);
        assert!(!cluster.running().contains(&name.to_owned()));
        cluster.start_service(name);
        cluster.wait_healthy();
    }
    check(&cluster);
    in_use(&cluster);
}

/// `down` while a program works in the mount: it either refuses and says so, or with --force takes all away.
fn in_use(cluster: &Cluster) {
    let held = fs::File::open(cluster.mount().join("kept/d1/f1")).unwrap();
    let down = cluster.down();
    if !down.ok() {
        assert!(
            down.err.to_lowercase().contains("busy") || down.err.to_lowercase().contains("in use"),
            "{}",
            down.describe()
        );
        cluster.nyala(["down", "--dir", &text(&cluster.dir()), "--force"]).must();
    }
    drop(held);
    assert_eq!(cluster.running(), [] as [String; 0]);
    let table = sh("cat /proc/self/mountinfo", Duration::from_secs(5)).must();
    assert!(!table.contains(&text(&cluster.mount())), "still mounted");
}
