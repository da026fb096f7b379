// SPDX-License-Identifier: Apache-2.0

//! A target on a RAID 6 of six drives: one dies, one lies, files stay right; it is replaced, rebuilt and checked, and another one is away for a while. In the
//! end the set is deleted.

use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::{Cluster, Options, beside_others};
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const FILES: u64 = 12;

fn content(number: u64) -> Vec<u8> {
    pattern(number, 300_000 + number as usize * 123_457)
}

/// What a command says in JSON, and its exit code.
fn ask(cluster: &Cluster, args: &[&str]) -> (i32, Value) {
    let dir = text(&cluster.dir());
    let done = cluster.nyala(args.iter().copied().chain(["--dir", &dir, "--output", "json"]));
    let value: serde_json::Value =
        serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}", done.describe()));
    (done.code().unwrap(), value[0].clone())
}

/// Flips a byte in the middle of the largest chunk file's strips on a drive.
fn flip(drive: &Path) {
    let dirs = fs::read_dir(drive.join("objects")).unwrap().flatten();
    let files = dirs.flat_map(|dir| fs::read_dir(dir.path()).unwrap().flatten());
    // Files of the target's own tables have numbers with a bit set far up.
    let files = files.filter(|file| file.file_name().to_string_lossy().starts_with("00"));
    let largest = files.max_by_key(|file| file.metadata().unwrap().len()).unwrap();
    let file = File::options().read(true).write(true).open(largest.path()).unwrap();
    let (mut byte, at) = ([0], file.metadata().unwrap().len() / 2);
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x40], at).unwrap();
}

/// A second target lies on a set from now on.
fn settle_on_a_set(cluster: &Cluster) -> Vec<PathBuf> {
    let drives: Vec<PathBuf> = (0..6).map(|at| cluster.root().join(format!("drive{at}"))).collect();
    drives.iter().for_each(|drive| fs::create_dir(drive).unwrap());
    let names: Vec<String> = drives.iter().map(|drive| text(drive)).collect();
    let create = ["raid", "create", "--level", "6", "--strip", "16k"].map(str::to_owned);
    let create = |yes: Option<&str>| {
        let all = create.iter().cloned().chain(names.iter().cloned()).chain(yes.map(str::to_owned));
        cluster.nyala(all).must()
    };
    assert!(create(None).contains("add --yes"));
    assert!(fs::read_dir(&drives[0]).unwrap().next().is_none());
    create(Some("--yes"));
    cluster.stop_service("storage1");
    let path = cluster.dir().join("conf/storage1.toml");
    let settings = fs::read_to_string(&path).unwrap();
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    fs::write(&path, format!("{settings}\n[[targets]]\nid = 150\ndrives = [{}]\n", quoted.join(", "))).unwrap();
    cluster.start_service("storage1");
    wait_healthy(cluster);
    drives
}

/// Waits until the metadata target and both storage targets serve.
fn wait_healthy(cluster: &Cluster) {
    let began = Instant::now();
    let online = |target: &Value| target["reachability"].as_str().is_some_and(|is| is.eq_ignore_ascii_case("online"));
    loop {
        let targets = cluster.json(&["target", "list", "--state"]);
        if targets.as_array().unwrap().iter().filter(|target| online(target)).count() == 3 {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{targets}\n{}", cluster.logs(30));
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn check_all(dir: &Path, when: &str) {
    for number in 0..FILES {
        let found = fs::read(dir.join(format!("f{number}"))).unwrap();
        assert!(found == content(number), "{when}: file {number}");
    }
}

fn restart(cluster: &Cluster) {
    cluster.kill("storage1");
    cluster.start_service("storage1");
    wait_healthy(cluster);
}

#[test]
fn e2e_raid_drives_die_and_lie_and_are_replaced() {
    let _one = beside_others();
    let cluster = Cluster::start(Options { meta: 1, storage: 1, storage_services: 1, more: vec![] });
    let drives = settle_on_a_set(&cluster);
    let dir = cluster.test_dir("raid");
    cluster.nyala(["entry", "set", "--num-targets", "2", "--chunk-size", "64k", &text(&dir)]).must();
    for number in 0..FILES {
        let path = dir.join(format!("f{number}"));
        fs::write(&path, content(number)).unwrap();
        File::open(&path).unwrap().sync_all().unwrap();
    }
    let (code, shown) = ask(&cluster, &["raid", "show"]);
    assert_eq!((code, shown["level"].as_str(), shown["target"].as_u64()), (0, Some("6"), Some(150)), "{shown}");
    cluster.kill("storage1");
    fs::remove_dir_all(&drives[3]).unwrap();
    fs::create_dir(&drives[3]).unwrap();
    flip(&drives[0]);
    cluster.start_service("storage1");
    wait_healthy(&cluster);
    check_all(&dir, "with a dead drive and one that lies");
    let (code, shown) = ask(&cluster, &["raid", "show", "150"]);
    assert_eq!((code, shown["members"][3]["state"].as_str()), (6, Some("missing")), "{shown}");
    let dry = cluster.nyala(["raid", "replace", "150", "3", &text(&drives[3]), "--dir", &text(&cluster.dir())]).must();
    assert!(dry.contains("add --yes") && fs::read_dir(&drives[3]).unwrap().next().is_none());
    ask(&cluster, &["raid", "replace", "150", "3", &text(&drives[3]), "--yes"]);
    let (code, rebuilt) = ask(&cluster, &["raid", "rebuild", "150", "--rate", "0", "--wait"]);
    assert_eq!((code, rebuilt["members"][3]["state"].as_str()), (0, Some("good")), "{rebuilt}");
    let (_, first) = ask(&cluster, &["raid", "check", "150"]);
    assert_eq!(first["scrub"]["lost"].as_u64(), Some(0), "{first}");
    let (code, second) = ask(&cluster, &["raid", "check", "150"]);
    assert_eq!((code, second["scrub"]["healed"].as_u64()), (0, Some(0)), "{second}");
    assert!(second["healed"].as_u64() > Some(0), "the flipped byte was found: {second}");
    restart(&cluster);
    check_all(&dir, "rebuilt");
    goes_and_comes(&cluster, &drives[5], &dir);
    goes_for_good(&cluster, &drives, &dir);
}

/// The set is deleted, once nothing uses it and the cluster does not know its target, and another one is made of its drives.
fn goes_for_good(cluster: &Cluster, drives: &[PathBuf], dir: &Path) {
    let own = text(&cluster.dir());
    let delete = |more: &[&str]| {
        let args = ["raid", "delete"].map(str::to_owned).into_iter().chain(drives.iter().map(|drive| text(drive)));
        cluster.nyala(args.chain(["--dir".to_owned(), own.clone()]).chain(more.iter().map(|arg| (*arg).to_owned())))
    };
    let refused = |word: &str| {
        let done = delete(&["--yes"]);
        assert!(!done.ok() && done.err.contains(word), "{word}: {}", done.describe());
        assert!(drives.iter().all(|drive| drive.join("table").exists()), "nothing was removed");
    };
    refused("a storage service uses this drive");
    fs::remove_dir_all(dir).unwrap();
    cluster.stop_service("storage1");
    let path = cluster.dir().join("conf/storage1.toml");
    let settings = fs::read_to_string(&path).unwrap();
    fs::write(&path, settings.split("\n[[targets]]\nid = 150").next().unwrap()).unwrap();
    refused("nyala target remove 150 --yes");
    cluster.start_service("storage1");
    let removed = || cluster.nyala(["target", "remove", "150", "--yes", "--dir", &own]);
    nyala_e2e::run::wait_until(Duration::from_secs(60), || removed().ok(), || removed().describe());
    assert!(delete(&[]).must().contains("add --yes"));
    let deleted = delete(&["--yes"]).must();
    assert!(deleted.contains("level 6") && deleted.contains("target 150"), "{deleted}");
    assert!(drives.iter().all(|drive| fs::read_dir(drive).unwrap().next().is_none()));
    let create = ["raid", "create", "--level", "5", "--yes"].map(str::to_owned);
    cluster.nyala(create.into_iter().chain(drives.iter().map(|drive| text(drive)))).must();
}

/// A drive is taken out of a running service and put in again.
fn goes_and_comes(cluster: &Cluster, drive: &Path, dir: &Path) {
    let wait = |wanted: &str| {
        let began = Instant::now();
        loop {
            let (_, shown) = ask(cluster, &["raid", "show", "150"]);
            if shown["members"][5]["state"].as_str() == Some(wanted) {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "not {wanted}: {shown}\n{}", cluster.logs(30));
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    fs::rename(drive, drive.with_extension("away")).unwrap();
    wait("missing");
    let path = dir.join("meanwhile");
    fs::write(&path, content(20)).unwrap();
    File::open(&path).unwrap().sync_all().unwrap();
    fs::rename(drive.with_extension("away"), drive).unwrap();
    wait("good");
    let (code, checked) = ask(cluster, &["raid", "check", "150"]);
    assert_eq!((code, checked["scrub"]["healed"].as_u64()), (0, Some(0)), "{checked}");
    check_all(dir, "a drive was away");
    assert!(fs::read(&path).unwrap() == content(20));
}
