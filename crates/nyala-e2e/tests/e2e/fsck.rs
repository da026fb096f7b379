// SPDX-License-Identifier: Apache-2.0

//! `nyala fsck`: damage of every kind that can be made in a stopped cluster is found and repaired; a whole file system is clean, also
//! while clients work.

use crate::layout::{chunk_files, target_dirs};
use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::{Cluster, Options, serial};
use nyala_kv::Batch;
use nyala_namespace::keys;
use nyala_namespace::records::{EntryRecord, InodeRecord};
use nyala_store::Store;
use nyala_wire::{FileKind, InodeId, Name, SessionId, codec};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Beyond what is inline, on several targets.
const LARGE: usize = 3 << 20;
const NOBODY: SessionId = SessionId(0x5e55_1041);

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

fn number(path: &Path) -> InodeId {
    InodeId(fs::symlink_metadata(path).unwrap().ino())
}

/// The tables of all metadata servers of a stopped cluster.
struct Tables(Vec<Store>);

impl Tables {
    fn open(cluster: &Cluster) -> Tables {
        let dirs = ["meta1", "meta2"].map(|name| cluster.dir().join(name).join("tables"));
        Tables(dirs.iter().map(|dir| Store::open(dir, Default::default()).unwrap().0).collect())
    }

    /// The tables with a row.
    fn with(&self, key: &[u8]) -> &Store {
        let mut found = self.0.iter().filter(|store| store.get(key).unwrap().is_some());
        found.next().unwrap_or_else(|| panic!("no row {}", key.escape_ascii()))
    }

    fn remove(&self, key: &[u8]) -> Vec<u8> {
        let store = self.with(key);
        let value = store.get(key).unwrap().unwrap().to_vec();
        let mut batch = Batch::new();
        batch.delete(key);
        store.apply(batch).unwrap();
        value
    }

    /// A row beside another one.
    fn put(&self, beside: &[u8], key: &[u8], value: &[u8]) {
        let mut batch = Batch::new();
        batch.put(key, value);
        self.with(beside).apply(batch).unwrap();
    }

    fn change<T: minicbor::Encode<()> + for<'b> minicbor::Decode<'b, ()>>(&self, key: &[u8], how: impl FnOnce(&mut T)) {
        let mut record: T = codec::decode(&self.with(key).get(key).unwrap().unwrap()).unwrap();
        how(&mut record);
        self.put(key, key, &codec::encode(&record));
    }

    fn inode(&self, inode: InodeId, how: impl FnOnce(&mut InodeRecord)) {
        self.change(&keys::inode(inode), how);
    }

    fn close(self) {
        self.0.into_iter().for_each(|store| store.close().unwrap());
    }
}

fn entry(dir: InodeId, name: &str) -> Vec<u8> {
    keys::entry(dir, keys::cookie(dir, name.as_bytes()))
}

/// What the test makes, by name: inodes.
struct Made {
    root: PathBuf,
    dir: InodeId,
}

impl Made {
    fn new(cluster: &Cluster) -> Made {
        let root = cluster.test_dir("fsck");
        for name in FILES {
            fs::write(root.join(name), pattern(3, 700)).unwrap();
        }
        for name in ["large-gone", "large-lost"] {
            fs::write(root.join(name), pattern(4, LARGE)).unwrap();
        }
        for name in ["named-elsewhere", "named-twice", "orphaned", "circle/inner", "counted"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("orphaned/inside"), b"inside").unwrap();
        symlink("nowhere", root.join("link")).unwrap();
        let dir = number(&root);
        Made { root, dir }
    }

    fn inode(&self, name: &str) -> InodeId {
        number(&self.root.join(name))
    }
}

const FILES: [&str; 9] =
    ["dangling", "kind", "misplaced", "links", "orphan", "unlinked", "content", "attributes", "sessions"];

/// Damages the tables of a stopped cluster; `inodes` are those of `Made` by name.
fn damage(tables: &Tables, dir: InodeId, of: &dyn Fn(&str) -> InodeId) {
    let home = keys::inode(dir);
    // Names.
    tables.remove(&keys::inode(of("dangling")));
    tables.remove(&keys::data(of("dangling")));
    tables.change(&entry(dir, "kind"), |entry: &mut EntryRecord| entry.kind = FileKind::Fifo);
    let row = tables.remove(&entry(dir, "misplaced"));
    tables.put(&home, &keys::entry(dir, 512), &row);
    let gone = InodeId::new(dir.slot(), 0xdead_beef).unwrap();
    let kind = FileKind::File;
    let name = |text: &str| Name::new(text.as_bytes()).unwrap();
    let row = EntryRecord { name: name("x"), inode: of("sessions"), kind, followed: None };
    tables.put(&home, &entry(gone, "x"), &codec::encode(&row));
    // Directories.
    tables.inode(of("counted"), |record| record.dir.as_mut().unwrap().entries = 5);
    tables.inode(of("named-elsewhere"), |record| record.dir.as_mut().unwrap().parent = of("counted"));
    let kind = FileKind::Directory;
    let row = EntryRecord { name: name("again"), inode: of("named-twice"), kind, followed: None };
    let counted = of("counted");
    tables.put(&keys::inode(counted), &entry(counted, "again"), &codec::encode(&row));
    let (outer, inner) = (of("circle"), of("circle/inner"));
    let row: EntryRecord = codec::decode(&tables.remove(&entry(dir, "circle"))).unwrap();
    tables.put(&keys::inode(inner), &entry(inner, "circle"), &codec::encode(&row));
    tables.inode(outer, |record| record.dir.as_mut().unwrap().parent = inner);
    // Inodes.
    tables.inode(of("links"), |record| record.nlink = 7);
    for name in ["orphan", "orphaned", "unlinked", "large-gone"] {
        tables.remove(&entry(dir, name));
    }
    tables.inode(of("unlinked"), |record| record.nlink = 0);
    tables.remove(&keys::inode(of("large-gone")));
    // What belongs to inodes and sessions.
    tables.remove(&keys::data(of("content")));
    tables.put(&home, &keys::data(gone), b"of nothing");
    tables.inode(of("attributes"), |record| record.xattr_bytes = Some(99));
    let session = &keys::inode(of("sessions"));
    tables.put(session, &keys::open(of("sessions"), NOBODY), b"");
    tables.put(session, &keys::session_lock(NOBODY, of("sessions")), b"");
    tables.put(session, &keys::reply(NOBODY, 5), &[0x82, 0x05, 0x40]);
}

/// What a check finds of all that, and those that it cannot repair.
const FOUND: [&str; 20] = [
    "chunk-lost",
    "chunk-orphan",
    "content-lost",
    "content-stray",
    "directory-count",
    "directory-loop",
    "directory-names",
    "directory-parent",
    "inode-count",
    "inode-orphan",
    "inode-unlinked",
    "link-count",
    "lock-stray",
    "name-dangling",
    "name-kind",
    "name-misplaced",
    "names-without-directory",
    "open-stray",
    "replies-stray",
    "xattr-count",
];
const LOST: [&str; 2] = ["chunk-lost", "content-lost"];

fn set(classes: &[&str]) -> BTreeSet<String> {
    classes.iter().map(|class| (*class).to_owned()).collect()
}

#[test]
fn e2e_fsck_finds_and_repairs_damage() {
    let _one = serial();
    let cluster = small();
    let made = Made::new(&cluster);
    let names = FILES.iter().chain(&["large-gone", "large-lost", "named-elsewhere", "named-twice", "orphaned"]);
    let inodes: Vec<(&str, InodeId)> =
        names.chain(&["circle", "circle/inner", "counted"]).map(|name| (*name, made.inode(name))).collect();
    let of = |name: &str| inodes.iter().find(|(known, _)| *known == name).unwrap().1;
    clean(&cluster, "before");
    cluster.down().must();
    let tables = Tables::open(&cluster);
    damage(&tables, made.dir, &of);
    tables.close();
    let (_, lost) = chunk_files(&target_dirs(&cluster)[0].1, &of("large-lost").to_string()).remove(0);
    fs::remove_file(lost).unwrap();
    cluster.up().must();
    cluster.wait_healthy();

    let (code, report) = fsck(&cluster, &[]);
    assert_eq!((code, classes(&report, "findings")), (6, set(&FOUND)), "{report:#}");
    let (code, again) = fsck(&cluster, &[]);
    assert_eq!((code, &again["findings"]), (6, &report["findings"]), "nothing was repaired");

    let (code, report) = fsck(&cluster, &["--repair"]);
    let mut left = set(&LOST);
    left.insert("chunk-orphan".to_owned());
    assert_eq!((code, classes(&report, "findings")), (6, left), "{report:#}");
    let (code, report) = fsck(&cluster, &["--repair", "--remove-chunks"]);
    assert_eq!((code, classes(&report, "findings")), (6, set(&LOST)), "{report:#}");

    // Nothing that was there is lost, and what had no name has one.
    let found = cluster.mount().join("lost+found");
    let at = |name: &str| found.join(of(name).to_string());
    assert_eq!(fs::read(at("orphan")).unwrap(), pattern(3, 700));
    assert_eq!(fs::read(at("orphaned").join("inside")).unwrap(), b"inside");
    assert!(at("circle").is_dir() || at("circle/inner").is_dir());
    for name in ["kind", "misplaced", "links", "attributes", "sessions"] {
        assert_eq!(fs::read(made.root.join(name)).unwrap(), pattern(3, 700), "{name}");
    }
    assert_eq!(fs::metadata(made.root.join("links")).unwrap().nlink(), 1);
    assert!(!made.root.join("dangling").exists() && made.root.join("named-twice").is_dir());
    for name in ["content", "large-lost"] {
        fs::remove_file(made.root.join(name)).unwrap();
    }
    clean(&cluster, "after");
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
    let _one = serial();
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
    std::thread::sleep(Duration::from_secs(3));
    clean(&cluster, "after");
}
