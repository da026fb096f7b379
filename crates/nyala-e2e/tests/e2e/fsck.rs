// SPDX-License-Identifier: Apache-2.0

//! `nyala fsck`: damage of every kind that can be made in a stopped cluster is found and repaired; a whole file system is clean, also
//! while clients work.

mod damage;
mod mirrors;
mod tables;
mod unreadable;

use crate::layout::{chunk_files, target_dirs};
use damage::{ADMINISTRATORS, FOUND, LARGE, Made, OPERATORS, damage, number};
use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::{Cluster, Options, beside_others};
use nyala_wire::InodeId;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tables::Tables;

fn small() -> Cluster {
    Cluster::start(Options { meta: 2, storage: 2, storage_services: 1, more: Vec::new() })
}

/// What a check says, and its exit code.
fn fsck(cluster: &Cluster, more: &[&str]) -> (i32, Value) {
    let dir = text(&cluster.dir());
    let args = ["fsck", "--grace", "3s", "--dir", &dir, "--output", "json"];
    let done = cluster.nyala(args.iter().chain(more));
    let report = serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {}", done.describe()));
    (done.code().unwrap(), report)
}

fn classes(report: &Value, list: &str) -> BTreeSet<String> {
    let all = report[list].as_array().unwrap_or_else(|| panic!("no {list}: {report}"));
    all.iter().map(|found| found["class"].as_str().unwrap().to_owned()).collect()
}

fn clean(cluster: &Cluster, when: &str) {
    let (code, report) = fsck(cluster, &[]);
    let findings = report["findings"].as_array().unwrap();
    assert!(code == 0 && findings.is_empty(), "{when}: {code} {report:#}");
    assert!(report["names"].as_u64().unwrap() > 0 && report["inodes"].as_u64().unwrap() > 0, "{report}");
}

fn set(classes: &[&str]) -> BTreeSet<String> {
    classes.iter().map(|class| (*class).to_owned()).collect()
}

/// Damages chunk files of a stopped cluster: one is gone, one is longer than its file.
fn damage_chunks(cluster: &Cluster, of: &dyn Fn(&str) -> InodeId) {
    let first = |name: &str| chunk_files(&target_dirs(cluster)[0].1, &of(name).to_string()).remove(0).1;
    fs::remove_file(first("large-lost")).unwrap();
    OpenOptions::new().append(true).open(first("large-more")).unwrap().write_all(&[9; 10_000]).unwrap();
}

/// Nothing that was there is lost, and what had no name has one.
fn all_is_there(cluster: &Cluster, made: &Made, of: &dyn Fn(&str) -> InodeId) {
    let found = cluster.mount().join("lost+found");
    let at = |name: &str| found.join(of(name).to_string());
    assert_eq!(fs::read(at("orphan")).unwrap(), pattern(3, 700));
    assert_eq!(fs::read(at("orphaned").join("inside")).unwrap(), b"inside");
    assert!(at("circle").is_dir() || at("circle/inner").is_dir());
    for name in ["kind", "misplaced", "links", "attributes", "sessions", "foreign"] {
        assert_eq!(fs::read(made.root.join(name)).unwrap(), pattern(3, 700), "{name}");
    }
    assert_eq!(fs::metadata(made.root.join("links")).unwrap().nlink(), 1);
    assert!(!made.root.join("dangling").exists() && made.root.join("named-twice").is_dir());
    assert!(fs::read(made.root.join("large-more")).unwrap() == pattern(4, LARGE));
    assert_eq!(fs::read(made.root.join("large-inline")).unwrap(), b"small");
    let unexpected = fs::read(made.root.join("large-unexpected")).unwrap();
    assert!(!unexpected.is_empty() && unexpected.len() < LARGE, "{}", unexpected.len());
}

#[test]
fn e2e_fsck_finds_and_repairs_damage() {
    let _one = beside_others();
    let cluster = small();
    let made = Made::new(&cluster);
    let inodes: Vec<(&str, InodeId)> = made.names().map(|name| (name, number(&made.root.join(name)))).collect();
    let of = |name: &str| inodes.iter().find(|(known, _)| *known == name).unwrap().1;
    clean(&cluster, "before");
    cluster.down().must();
    let tables = Tables::open(&cluster);
    damage(&tables, made.dir, &of);
    tables.close();
    damage_chunks(&cluster, &of);
    cluster.up().must();
    cluster.wait_healthy();

    let (code, report) = fsck(&cluster, &[]);
    assert_eq!((code, classes(&report, "findings")), (6, set(&FOUND)), "{report:#}");
    let (code, again) = fsck(&cluster, &[]);
    assert_eq!((code, &again["findings"]), (6, &report["findings"]), "nothing was repaired");

    // What only an administrator can do, and what an operator has to say a word for.
    let (code, report) = fsck(&cluster, &["--repair"]);
    let left = set(&[&ADMINISTRATORS[..], &OPERATORS].concat());
    assert_eq!((code, classes(&report, "findings")), (6, left), "{report:#}");
    let (code, report) = fsck(&cluster, &["--repair", "--remove-chunks"]);
    assert_eq!((code, classes(&report, "findings")), (6, set(&ADMINISTRATORS)), "{report:#}");
    all_is_there(&cluster, &made, &of);

    // That is done, as the manual says.
    for name in ["content", "large-lost", "large-elsewhere", "large-sparse"] {
        fs::remove_file(made.root.join(name)).unwrap();
    }
    cluster.down().must();
    let tables = Tables::open(&cluster);
    damage::restore(&tables, &of);
    tables.close();
    cluster.up().must();
    cluster.wait_healthy();
    let (code, report) = fsck(&cluster, &["--repair", "--remove-chunks"]);
    assert_eq!((code, classes(&report, "findings")), (0, set(&[])), "{report:#}");
    clean(&cluster, "after");
    all_is_there(&cluster, &made, &of);
}

/// The corpora of these tests have every class, but for two that no damage to a stopped server makes: at its start it takes other numbers,
/// and removes what waits for that. `nyala-fsck` and `nyala-namespace` have those.
#[test]
fn e2e_fsck_knows_no_class_that_no_corpus_has() {
    let _one = beside_others();
    let listed = nyala_e2e::run(
        std::process::Command::new(nyala_e2e::binary::nyala()).args(["fsck", "--classes", "--output", "json"]),
        Duration::from_secs(20),
    );
    let listed: Value = serde_json::from_str(&listed.must()).unwrap();
    let known: BTreeSet<String> =
        listed.as_array().unwrap().iter().map(|class| class["class"].as_str().unwrap().to_owned()).collect();
    let elsewhere = ["row-unreadable", "mirror-tables", "mirror-chunk"];
    let ended_by_a_start = ["garbage-of-living", "slot-sequence"];
    // Of encoded files, which have a test of their own.
    let of_encoded = ["part-lost"];
    assert_eq!(known, set(&[&FOUND[..], &elsewhere, &ended_by_a_start, &of_encoded].concat()));
}

/// One client's work: names come, move and go, in directories of both servers; files grow beyond what is inline.
fn work(dirs: &[PathBuf], number: usize, stop: &AtomicBool, done: &AtomicU64) {
    let mut round = 0;
    while !stop.load(Ordering::Relaxed) {
        let name = format!("{number}-{}", round % 7);
        let (here, there) = (&dirs[round % dirs.len()], &dirs[(round + 1) % dirs.len()]);
        fs::write(here.join(&name), pattern(round as u64, round % 5 * 40_000 + 10)).unwrap();
        fs::rename(here.join(&name), there.join(&name)).unwrap();
        fs::hard_link(there.join(&name), here.join(&name)).unwrap();
        let sub = here.join(format!("d{name}"));
        fs::create_dir(&sub).unwrap();
        fs::rename(&sub, there.join(format!("d{name}"))).unwrap();
        fs::remove_dir(there.join(format!("d{name}"))).unwrap();
        fs::remove_file(here.join(&name)).unwrap();
        if round % 3 > 0 {
            fs::remove_file(there.join(&name)).unwrap();
        }
        round += 1;
        done.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn e2e_fsck_is_clean_while_clients_work_and_afterwards() {
    let _one = beside_others();
    let cluster = small();
    let root = cluster.test_dir("busy");
    let dirs: Vec<PathBuf> = (0..6).map(|n| root.join(format!("dir{n}"))).collect();
    dirs.iter().for_each(|dir| fs::create_dir(dir).unwrap());
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|number| {
                scope.spawn({
                    let (dirs, stop, done) = (&dirs, &stop, &done);
                    move || work(dirs, number, stop, done)
                })
            })
            .collect();
        let reports: Vec<(i32, Value)> = (0..3).map(|_| fsck(&cluster, &[])).collect();
        stop.store(true, Ordering::Relaxed);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        for (code, report) in reports {
            assert_eq!(classes(&report, "findings"), BTreeSet::new(), "{code}: {report:#}");
            assert_eq!(report["unchecked"].as_array().unwrap().len(), 0, "{report:#}");
        }
    });
    assert!(done.load(Ordering::Relaxed) > 100, "{done:?}");
    // sleeps: what clients had under way is written out
    std::thread::sleep(Duration::from_secs(3));
    clean(&cluster, "after");
}
