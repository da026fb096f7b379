// SPDX-License-Identifier: Apache-2.0

//! Damage on a disk is found before anybody reads it, and repaired where another copy is; members that hold different things are found.

use crate::layout::{chunk_files, info, target_dirs};
use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::run::sh;
use nyala_e2e::{Cluster, Options, beside_others, wait_until};
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const LEN: usize = (3 << 20) + 777;
/// Until mirror members have forgotten that a change was under way.
const FORGET: Duration = Duration::from_secs(4);

/// Two storage services with a target each, which mirror each other.
fn mirrored() -> Cluster {
    let more = ["--mirror", "--meta-spares", "0"].map(str::to_owned).to_vec();
    Cluster::start(Options { meta: 1, storage: 2, storage_services: 2, more })
}

fn write(path: &Path, content: &[u8]) {
    let mut file = File::create(path).unwrap();
    file.write_all(content).unwrap();
    file.sync_all().unwrap();
}

fn inode(cluster: &Cluster, path: &Path) -> String {
    info(cluster, path)["inode"].as_str().unwrap().to_owned()
}

/// Flips a bit in the only chunk file that a target has of an inode.
pub fn flip(target: &Path, inode: &str, offset: u64) {
    let (_, path) = chunk_files(target, inode).remove(0);
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], offset).unwrap();
}

/// What a command says in JSON, and its exit code.
fn ask(cluster: &Cluster, args: &[&str]) -> (i32, Value) {
    let dir = text(&cluster.dir());
    let done = cluster.nyala(args.iter().copied().chain(["--dir", &dir, "--output", "json"]));
    let value = serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}", done.describe()));
    (done.code().unwrap(), value)
}

/// Damaged places: target, offset, length, repaired.
fn damaged_ranges(scrubbed: &Value) -> Vec<(u64, u64, u64, bool)> {
    let number = |place: &Value, key: &str| place[key].as_u64().unwrap();
    let damage = scrubbed.as_array().unwrap().iter().flat_map(|target| target["damage"].as_array().unwrap());
    let place = |place: &Value| {
        let at = (number(place, "target"), number(place, "offset"), number(place, "length"));
        (at.0, at.1, at.2, place["repaired"].as_bool().unwrap())
    };
    damage.map(place).collect()
}

/// Runs the check while a program writes all the time.
fn equal_under_load(cluster: &Cluster, path: &Path) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let file = OpenOptions::new().write(true).open(path).unwrap();
            let mut round = 0_usize;
            while !stop.load(Ordering::Relaxed) {
                round += 1;
                file.write_all_at(&pattern(round as u64, 30_000), (round % 90 * 33_333) as u64).unwrap();
            }
            file.sync_all().unwrap();
            round
        });
        let (code, checked) = ask(cluster, &["mirror", "check"]);
        stop.store(true, Ordering::Relaxed);
        assert!(writer.join().unwrap() > 10);
        assert_eq!(code, 0, "writes that are under way are no differences: {checked}");
        assert!(checked["compared"][0]["bytes"].as_u64().unwrap() > 0, "{checked}");
    });
}

#[test]
fn e2e_scrub_repairs_what_is_mirrored() {
    let _one = beside_others();
    let cluster = mirrored();
    let (dir, plain) = (cluster.test_dir("mirrored"), cluster.test_dir("plain"));
    cluster.nyala(["entry", "set", "--pattern", "raid0", "--num-targets", "1", &text(&plain)]).must();
    let (path, alone) = (dir.join("f"), plain.join("f"));
    let content = pattern(7, LEN);
    write(&path, &content);
    write(&alone, &pattern(8, 50_000));
    assert_eq!(ask(&cluster, &["mirror", "check"]).0, 0, "what is not mirrored is no difference");
    let (code, clean) = ask(&cluster, &["scrub"]);
    assert!(code == 0 && damaged_ranges(&clean).is_empty(), "{clean}");

    let (of_path, of_alone) = (inode(&cluster, &path), inode(&cluster, &alone));
    let targets = target_dirs(&cluster);
    // Two blocks of a run and the short one at the end, on one member; a block on the other.
    for offset in [100, 5000, LEN as u64 - 5] {
        flip(&targets[0].1, &of_path, offset);
    }
    flip(&targets[1].1, &of_path, 1 << 20);
    let holder = targets.iter().find(|(_, dir)| !chunk_files(dir, &of_alone).is_empty()).unwrap();
    flip(&holder.1, &of_alone, 9000);
    let last = LEN as u64 / 4096 * 4096;
    let in_mirror = |repaired| {
        let (one, other) = (targets[0].0, targets[1].0);
        vec![(one, 0, 8192, repaired), (one, last, 4096, repaired), (other, 1 << 20, 4096, repaired)]
    };
    let with_plain = |mut all: Vec<_>| {
        all.push((holder.0, 8192, 4096, false));
        all.sort_unstable();
        all
    };
    let found = |args: &[&str]| {
        let (code, scrubbed) = ask(&cluster, args);
        let mut found = damaged_ranges(&scrubbed);
        found.sort_unstable();
        (code, found)
    };
    assert_eq!(found(&["scrub", "--no-repair"]), (6, with_plain(in_mirror(false))));
    assert_eq!(ask(&cluster, &["mirror", "check"]).1["compared"][0]["damaged_bytes"], 5 * 4096);
    assert_eq!(found(&["scrub", "--rate", "0"]), (6, with_plain(in_mirror(true))));
    assert_eq!(found(&["scrub"]), (6, with_plain(vec![])), "what was repaired is good");
    write(&alone, &pattern(9, 50_000));
    assert_eq!(found(&["scrub"]), (0, vec![]));
    assert_eq!(ask(&cluster, &["mirror", "check"]).0, 0);
    assert!(fs::read(&path).unwrap() == content);
    equal_under_load(&cluster, &path);
}

/// A member that holds something else, with checksums that fit: it slept while the other one went on, and nobody remembers.
#[test]
fn e2e_mirror_check_finds_a_difference() {
    let _one = beside_others();
    let cluster = mirrored();
    let path = cluster.test_dir("different").join("f");
    write(&path, &pattern(1, LEN));
    let target: PathBuf = target_dirs(&cluster).remove(0).1;
    let copy = cluster.root().join("copy");
    let limit = Duration::from_secs(30);
    // What is remembered to be in question after a start would be copied: nothing is, a moment after a sync.
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
    let inode = inode(&cluster, &path);
    // sleeps: mirror members forget what was under way after this time
    std::thread::sleep(FORGET);
    cluster.down().must();
    sh(&format!("rm -r '{0}' && mv '{1}' '{0}'", target.display(), copy.display()), limit).must();
    cluster.up().must();
    cluster.wait_healthy();
    assert_eq!(ask(&cluster, &["scrub"]).0, 0, "each by itself is good");
    for args in [&["mirror", "check"][..], &["mirror", "check", "--quick"]] {
        let (code, checked) = ask(&cluster, args);
        let row = &checked["compared"][0];
        assert_eq!((code, &row["different_bytes"]), (6, &8192.into()), "{checked}");
        let place = &row["differences"][0];
        assert_eq!((place["inode"].as_str(), place["offset"].as_u64()), (Some(inode.as_str()), Some(1 << 20)));
    }
}

/// Services with these settings from now on.
fn restart_with(cluster: &Cluster, setting: &str) {
    cluster.down().must();
    for name in ["storage1", "storage2"] {
        let path = cluster.dir().join("conf").join(format!("{name}.toml"));
        let settings = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{setting}\n{settings}")).unwrap();
    }
    cluster.up().must();
    cluster.wait_healthy();
}

/// Asks until it is so.
fn until(what: &str, holds: impl FnMut() -> bool) {
    wait_until(Duration::from_secs(60), holds, || what.to_owned());
}

#[test]
fn e2e_services_scrub_by_themselves() {
    let _one = beside_others();
    let cluster = mirrored();
    let (dir, plain) = (cluster.test_dir("mirrored"), cluster.test_dir("plain"));
    cluster.nyala(["entry", "set", "--pattern", "raid0", "--num-targets", "1", &text(&plain)]).must();
    let (path, alone) = (dir.join("f"), plain.join("f"));
    write(&path, &pattern(7, LEN));
    write(&alone, &pattern(8, 50_000));
    restart_with(&cluster, "scrub-interval = \"1s\"\nscrub-rate = \"0\"");
    let status = || ask(&cluster, &["scrub", "status"]);
    let damaged = |said: &Value| {
        said.as_array().unwrap().iter().map(|target| target["damaged_bytes"].as_u64().unwrap()).sum::<u64>()
    };
    let ended = |said: &Value| said.as_array().unwrap().iter().all(|target| target["ended_s"].as_u64().is_some());
    until("all is scrubbed once", || ended(&status().1));
    assert_eq!((status().0, damaged(&status().1)), (0, 0));

    let (of_path, of_alone) = (inode(&cluster, &path), inode(&cluster, &alone));
    let targets = target_dirs(&cluster);
    let copies = || [0, 1].map(|at| fs::read(chunk_files(&targets[at].1, &of_path).remove(0).1).unwrap());
    let right = copies();
    flip(&targets[0].1, &of_path, 5000);
    flip(&targets[1].1, &of_path, 1 << 20);
    let holder = targets.iter().find(|(_, dir)| !chunk_files(dir, &of_alone).is_empty()).unwrap();
    flip(&holder.1, &of_alone, 9000);
    assert!(copies() != right);
    until("the mirror is right again", || copies() == right);
    until("the damage that nobody can repair is known", || damaged(&status().1) == 4096);
    let (code, said) = status();
    let place = said.as_array().unwrap().iter().find_map(|target| target["damage"].get(0)).unwrap();
    assert_eq!((code, place["inode"].as_str(), place["offset"].as_u64()), (6, Some(of_alone.as_str()), Some(8192)));
    let (code, health) = ask(&cluster, &["health", "check"]);
    let problems = health["problems"].to_string();
    assert!(code == 6 && problems.contains("4096 damaged bytes that could not be repaired"), "{problems}");
    write(&alone, &pattern(9, 50_000));
    until("what was written anew is forgotten", || status().0 == 0);
}
