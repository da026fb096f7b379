// SPDX-License-Identifier: Apache-2.0

//! Connections from one address that prove nothing, on every port of every service: others get in, and nothing grows. Services
//! with few descriptors are slower, never wrong.

mod asks;
mod crowd;

use crate::kills::Load;
use asks::{ask_all, ask_rest, mount_anew};
use crowd::{Crowd, sizes};
use nyala_e2e::posix::pattern;
use nyala_e2e::{Cluster, Options, alone, beside_others, cleanup, long, wait_until};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

const STRANGERS: usize = 5000;
/// What a new client may wait for one connection.
const WITHIN: Duration = Duration::from_secs(1);
/// Places for strangers on a port and on the REST port, and connections of others that come and go.
const CONNECTIONS: usize = 256 + 64 + 40;
const MEMORY_KIB: u64 = 64 << 10;
/// The limit of the second test.
const FEW: u32 = 256;
/// Files that are open at once there: more than that.
const OPEN_FILES: u64 = 400;

#[test]
fn e2e_strangers_on_every_port_keep_nobody_out() {
    let _one = alone();
    let cluster = Cluster::start(Options { meta: 1, storage: 2, storage_services: 1, ..Options::default() });
    fs::write(cluster.mount().join("known"), pattern(3, 300_000)).unwrap();
    let mut load = Load::start(&cluster, "load");
    load.progress(&cluster, 20);
    // What the machine itself needs for it, without strangers.
    let worst = |ask: &dyn Fn() -> Duration, times: usize| (0..times).map(|_| ask()).max().unwrap_or_default();
    let asking = || ask_all(&cluster).took;
    let (alone, rest_alone, mount_alone) =
        (worst(&asking, 5), worst(&|| ask_rest(&cluster), 5), worst(&|| mount_anew(&cluster), 2));
    let before = sizes(&cluster);
    let crowd = Crowd::come(&cluster, STRANGERS);
    let (began, lasts) = (Instant::now(), Duration::from_secs(if long() { 600 } else { 15 }));
    let (mut slowest, mut rest_slowest, mut mount_slowest) = Default::default();
    let mut most: Vec<(String, usize, u64)> = before.iter().map(|(name, ..)| (name.clone(), 0, 0)).collect();
    while began.elapsed() < lasts {
        slowest = asking().max(slowest);
        rest_slowest = ask_rest(&cluster).max(rest_slowest);
        mount_slowest = mount_anew(&cluster).max(mount_slowest);
        for (most, now) in most.iter_mut().zip(sizes(&cluster)) {
            (most.1, most.2) = (most.1.max(now.1), most.2.max(now.2));
        }
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(200));
    }
    println!("slowest alone: all services {alone:?}, REST {rest_alone:?}, mount {mount_alone:?}");
    println!("with strangers: all services {slowest:?}, REST {rest_slowest:?}, mount {mount_slowest:?}");
    println!("connections and KiB before {before:?}\nand at most {most:?}");
    load.progress(&cluster, 10);
    crowd.leave(500);
    for ((name, open, kib), (_, most_open, most_kib)) in before.iter().zip(&most) {
        assert!(*most_open <= open + CONNECTIONS, "{name}: {most_open} connections, {open} before");
        assert!(*most_kib <= kib + MEMORY_KIB, "{name}: {most_kib} KiB, {kib} before");
    }
    // It connects to management, twice at most, and then to each service.
    assert!(slowest <= alone * 2 + WITHIN * 5, "{slowest:?}, alone {alone:?}");
    assert!(rest_slowest <= rest_alone * 2 + WITHIN, "{rest_slowest:?}, alone {rest_alone:?}");
    assert!(mount_slowest <= mount_alone * 2 + WITHIN * 4, "{mount_slowest:?}, alone {mount_alone:?}");
    load.finish(&cluster);
    wait_until(
        Duration::from_secs(30),
        || sizes(&cluster).iter().zip(&before).all(|(now, before)| now.1 <= before.1 + 40),
        || format!("{:?}, before {before:?}", sizes(&cluster)),
    );
}

/// So many files open and written at once, synced and read again; whatever it costs, each byte is there.
fn many_open_files(cluster: &Cluster, round: u64) {
    let dir = cluster.test_dir(&format!("many{round}"));
    let content = |number: u64| pattern(round * OPEN_FILES + number, 20_000 + number as usize);
    let open = |number: u64| File::options().create_new(true).read(true).write(true).open(dir.join(number.to_string()));
    let files: Vec<File> = (0..OPEN_FILES).map(|number| open(number).unwrap()).collect();
    for (number, file) in (0..).zip(&files) {
        file.write_all_at(&content(number), 0).unwrap_or_else(|error| panic!("{number}: {error}"));
    }
    for (number, file) in files.iter().enumerate().filter(|(number, _)| number % 4 == 0) {
        file.sync_all().unwrap_or_else(|error| panic!("sync of {number}: {error}"));
    }
    drop(files);
    for number in 0..OPEN_FILES {
        assert!(fs::read(dir.join(number.to_string())).unwrap() == content(number), "{number}");
    }
}

#[test]
fn e2e_few_descriptors_are_slower_never_wrong() {
    let _one = beside_others();
    let more = vec!["--inline-size".to_owned(), "0".into()];
    let cluster = Cluster::prepare(Options { meta: 2, storage: 4, storage_services: 2, more });
    cluster.up_with_descriptors(FEW).must();
    cluster.wait_healthy();
    for name in cluster.services() {
        let limits = fs::read_to_string(format!("/proc/{}/limits", cluster.pid(&name))).unwrap();
        let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap_or_default();
        assert!(files.contains(&format!(" {FEW} ")), "{name}: {files}");
    }
    let mut load = Load::start(&cluster, "load");
    load.progress(&cluster, 20);
    // Every descriptor that is left is taken by somebody, again and again.
    let crowd = Crowd::come(&cluster, FEW as usize * 2);
    for round in 0..if long() { 20 } else { 2 } {
        many_open_files(&cluster, round);
        load.progress(&cluster, 5);
    }
    for (name, open, kib) in sizes(&cluster) {
        println!("{name}: {open} connections, {kib} KiB");
    }
    crowd.leave(FEW.into());
    load.progress(&cluster, 10);
    load.finish(&cluster);
    cluster.wait_healthy();
    assert!(cleanup::alive(cluster.pid("mount"), &cluster.dir()));
}
