// SPDX-License-Identifier: Apache-2.0

//! Storage targets whose disks are full, of bytes or of inodes, by files of the mount: writes are ENOSPC, everything that was
//! synced stays, overwriting and removing go on, also after a kill and a start on the full disk, and what is removed makes room.
//! Unmirrored and mirrored; the disks are small file systems on loop devices.

use crate::full_disk::{give_disk, is_full};
use nyala_e2e::posix::pattern;
use nyala_e2e::shared::long;
use nyala_e2e::{Cluster, Options, alone, sys, wait_until};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const THREADS: u64 = 3;
/// How long a removal may take to make room.
const ROOM: Duration = Duration::from_secs(60);
const SERVICES: [&str; 2] = ["storage1", "storage2"];

/// What a round fills the disks with.
struct Kind {
    what: &'static str,
    file_bytes: usize,
    /// At least so many files have to go in.
    files: usize,
}

const BYTES: Kind = Kind { what: "bytes", file_bytes: 700_000, files: 20 };
const INODES: Kind = Kind { what: "inodes", file_bytes: 300, files: 200 };

/// A file that was synced: thread, number, and how often it was written.
type Synced = (u64, u64, u64);

fn path(dir: &Path, (thread, number, _): Synced) -> PathBuf {
    dir.join(format!("t{thread}-{number}"))
}

fn content((thread, number, version): Synced, kind: &Kind) -> Vec<u8> {
    pattern(version << 32 | thread << 24 | number, kind.file_bytes + number as usize % 50)
}

/// Every disk of its own is so small that a round fills it in seconds.
fn with_disks(mirrored: bool) -> Cluster {
    let mut more = vec!["--inline-size".to_owned(), "0".into(), "--targets".into(), "1".into()];
    more.extend(["--mirror", "--meta-spares", "0"].into_iter().filter(|_| mirrored).map(str::to_owned));
    let cluster = Cluster::start(Options { meta: 1, storage: 2, storage_services: 2, more });
    let kept = cluster.test_dir("kept");
    for number in 0..20 {
        put(&kept.join(format!("k{number}")), &pattern(number, 30_000)).unwrap();
    }
    cluster.down().must();
    for service in SERVICES {
        give_disk(&cluster, &cluster.dir().join(service).join("t1"), "112M", "mkfs.ext4 -q -m 0 -N 1400");
    }
    cluster.up().must();
    kept_is_there(&cluster);
    cluster
}

#[track_caller]
fn kept_is_there(cluster: &Cluster) {
    cluster.wait_healthy();
    kept_can_be_read(cluster);
}

#[track_caller]
fn kept_can_be_read(cluster: &Cluster) {
    for number in 0..20 {
        let found = read(&cluster.mount().join(format!("kept/k{number}"))).unwrap();
        assert!(found == pattern(number, 30_000), "k{number}");
    }
}

fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// From the servers, not from what this machine keeps.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    sys::drop_cache(&File::open(path)?)?;
    fs::read(path)
}

/// Writes files until that is ENOSPC for a while: one target may be full before the other one.
fn fill(dir: &Path, thread: u64, kind: &Kind) -> Vec<Synced> {
    let (mut synced, mut refused) = (Vec::new(), 0);
    for number in 0.. {
        let file = (thread, number, 0);
        match put(&path(dir, file), &content(file, kind)) {
            Ok(()) => synced.push(file),
            Err(error) => {
                is_full(&error, &format!("t{thread}-{number}"));
                fs::remove_file(path(dir, file)).unwrap();
                refused += 1;
                if refused == 6 {
                    return synced;
                }
            }
        }
        assert!(number < 20_000, "the disks must fill up");
    }
    unreachable!("numbers do not end")
}

/// By all threads at once.
fn fill_all(dir: &Path, kind: &Kind) -> Vec<Synced> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || fill(dir, thread, kind))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

#[track_caller]
fn all_there(dir: &Path, synced: &[Synced], kind: &Kind) {
    for file in synced {
        let found = read(&path(dir, *file)).unwrap_or_else(|error| panic!("{}: {error}", path(dir, *file).display()));
        assert!(found == content(*file, kind), "{} is not what was synced", path(dir, *file).display());
    }
    assert_eq!(fs::read_dir(dir).unwrap().count(), synced.len());
}

/// What exists is written again in its place.
fn overwrite(dir: &Path, synced: &mut [Synced], kind: &Kind, every: usize) {
    for file in synced.iter_mut().step_by(every) {
        file.2 += 1;
        let target = OpenOptions::new().write(true).open(path(dir, *file)).unwrap();
        let written = target.write_all_at(&content(*file, kind), 0).and_then(|()| target.sync_all());
        written.unwrap_or_else(|error| panic!("in place, {}: {error}", path(dir, *file).display()));
    }
}

/// Both services die on their full disks, one after the other, and start again; what runs meanwhile goes on. A member of a mirror
/// may lack what does not fit as long as its disk is full.
fn die_and_start_again(cluster: &Cluster) {
    for service in SERVICES {
        cluster.kill(service);
        cluster.start_service(service);
        wait_until(
            ROOM,
            || all_online(cluster),
            || format!("{service} does not serve on its full disk\n{}", cluster.logs(20)),
        );
    }
}

fn all_online(cluster: &Cluster) -> bool {
    let targets = cluster.json(&["target", "list", "--state"]);
    targets.as_array().unwrap().iter().all(|target| target["reachability"] == "online")
}

/// Removes all; the next file goes in soon.
fn remove_all(dir: &Path, synced: &[Synced]) {
    synced.iter().for_each(|file| fs::remove_file(path(dir, *file)).unwrap());
    let began = Instant::now();
    while let Err(error) = put(&dir.join("again"), &pattern(1, 8 << 20)) {
        is_full(&error, "again");
        assert!(began.elapsed() < ROOM, "no room {ROOM:?} after everything was removed");
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(300));
    }
    fs::remove_file(dir.join("again")).unwrap();
}

fn pids(cluster: &Cluster, names: &[&str]) -> Vec<i32> {
    names.iter().map(|name| cluster.pid(name)).collect()
}

fn rounds(mirrored: bool) {
    let _one = alone();
    let cluster = with_disks(mirrored);
    let never_restarted = ["mgmt", "meta1", "mount"];
    let before = pids(&cluster, &never_restarted);
    for round in 0..if long() { 10 } else { 2 } {
        let kind = [BYTES, INODES].into_iter().nth(round % 2).expect("there are two");
        let dir = cluster.test_dir("full");
        let (began, storage) = (Instant::now(), pids(&cluster, &SERVICES));
        let mut synced = fill_all(&dir, &kind);
        println!("round {round}: no {} after {} files, {:?}", kind.what, synced.len(), began.elapsed());
        assert!(synced.len() > kind.files, "only {} files went in", synced.len());
        overwrite(&dir, &mut synced, &kind, 5);
        all_there(&dir, &synced, &kind);
        kept_can_be_read(&cluster);
        assert_eq!(pids(&cluster, &SERVICES), storage, "nothing restarts because a disk is full");
        die_and_start_again(&cluster);
        all_there(&dir, &synced, &kind);
        overwrite(&dir, &mut synced, &kind, 7);
        all_there(&dir, &synced, &kind);
        remove_all(&dir, &synced);
        kept_is_there(&cluster);
        fs::remove_dir(&dir).unwrap();
        println!("round {round}: empty after {:?}", began.elapsed());
    }
    assert_eq!(pids(&cluster, &never_restarted), before);
    cluster.assert_fsck_clean();
}

#[test]
fn e2e_full_disks_of_storage_are_emptied_from_within() {
    rounds(false);
}

#[test]
fn e2e_full_disks_of_a_mirror_are_emptied_from_within() {
    rounds(true);
}
