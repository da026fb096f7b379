// SPDX-License-Identifier: Apache-2.0

//! A metadata target whose disk is full, filled by its own names or by others: what adds is ENOSPC, everything else goes on,
//! restarts too, and what is removed makes room. The disk is a small file system on a loop device.

use nyala_e2e::cluster::text;
use nyala_e2e::posix::pattern;
use nyala_e2e::run::sh;
use nyala_e2e::shared::long;
use nyala_e2e::{Cluster, Options, alone};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::IntoRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const THREADS: u64 = 4;
/// Names of one directory before the next one begins.
const NAMES: u64 = 500;
/// A symbolic link of so many bytes fills the tables fast, with one request each.
const LINK_BYTES: usize = 2500;

fn small() -> Options {
    Options { meta: 1, storage: 1, storage_services: 1, ..Options::default() }
}

/// Moves a target of a cluster that is down to a file system of its own.
pub(crate) fn give_disk(cluster: &Cluster, target: &Path, size: &str, mkfs: &str) {
    let name = target.strip_prefix(cluster.dir()).unwrap().to_str().unwrap().replace('/', "-");
    let image = cluster.root().join(format!("{name}.img"));
    let script = format!(
        "truncate -s {size} '{image}'; {mkfs} '{image}'; mv '{target}' '{target}.moved'; mkdir '{target}'; \
         mount -o loop '{image}' '{target}'; rmdir '{target}/lost+found'; cp -a '{target}.moved/.' '{target}/'; \
         sed -i '/^file_system/d' '{target}'/*.toml",
        image = text(&image),
        target = text(target)
    );
    sh(&script, Duration::from_secs(60)).must();
}

/// Leaves nothing of a disk to the service that has it: no bytes, or no inodes.
pub(crate) fn fill_by_others(disk: &Path, what: &str) {
    let script = match what {
        "bytes" => "dd if=/dev/zero bs=4k of='DIR/others' 2>/dev/null; sync",
        _ => "mkdir 'DIR/others'; i=0; while : 2>/dev/null > 'DIR/others/'$i; do i=$((i + 1)); done; sync",
    };
    sh(&script.replace("DIR", &text(disk)), Duration::from_secs(60));
}

/// Takes away what [`fill_by_others`] made.
pub(crate) fn empty_of_others(disk: &Path) {
    sh(&format!("rm -rf '{}/others'", text(disk)), Duration::from_secs(60)).must();
}

fn with_disk(mkfs: &str) -> (Cluster, PathBuf) {
    let cluster = Cluster::start(small());
    let kept = cluster.test_dir("kept");
    for number in 0..60 {
        fs::write(kept.join(format!("f{number}")), pattern(number, number as usize * 50)).unwrap();
    }
    cluster.down().must();
    let target = cluster.dir().join("meta1");
    give_disk(&cluster, &target, "96M", mkfs);
    cluster.up().must();
    nothing_lost(&cluster);
    (cluster, target)
}

#[track_caller]
fn nothing_lost(cluster: &Cluster) {
    cluster.wait_healthy();
    for number in 0..60 {
        let got = fs::read(cluster.mount().join(format!("kept/f{number}"))).unwrap();
        assert!(got == pattern(number, number as usize * 50), "f{number}");
    }
}

#[track_caller]
pub(crate) fn is_full(error: &io::Error, what: &str) {
    assert_eq!(error.raw_os_error(), Some(libc::ENOSPC), "{what}: {error}");
}

/// As `fs::write`, which does not look at what `close` says.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(content)?;
    // SAFETY: the owner has given the descriptor up.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes names until that is ENOSPC. Returns how many there are.
fn fill(dir: &Path, thread: u64) -> io::Result<u64> {
    let long = "x".repeat(LINK_BYTES);
    for number in 0.. {
        let inside = dir.join(format!("t{thread}-{}", number / NAMES));
        if number % NAMES == 0
            && let Err(error) = fs::create_dir(&inside)
        {
            is_full(&error, "mkdir");
            return Ok(number);
        }
        let path = inside.join(format!("n{number}"));
        let made = match number % 4 {
            0 => write(&path, &pattern(number, 900)),
            _ => std::os::unix::fs::symlink(&long, &path),
        };
        if let Err(error) = made {
            is_full(&error, &format!("name {number}"));
            // The file may be there without its content.
            if let Err(error) = fs::remove_file(&path) {
                assert_eq!(error.kind(), io::ErrorKind::NotFound, "a removal: {error}");
            }
            return Ok(number);
        }
        assert!(number < 200_000, "the disk must fill up");
    }
    unreachable!("numbers do not end")
}

/// By all threads at once. Returns the number of names of each.
fn fill_all(dir: &Path) -> Vec<u64> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || fill(dir, thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap().unwrap()).collect()
    })
}

/// Everything is there, and nothing else.
#[track_caller]
fn all_there(dir: &Path, counts: &[u64]) {
    for (thread, count) in (0_u64..).zip(counts) {
        for first in (0..*count).step_by(NAMES as usize) {
            let inside = dir.join(format!("t{thread}-{}", first / NAMES));
            let names = fs::read_dir(&inside).unwrap().map(|entry| entry.unwrap().file_name());
            let mut numbers: Vec<u64> = names.map(|name| name.to_str().unwrap()[1..].parse().unwrap()).collect();
            numbers.sort_unstable();
            let expected: Vec<u64> = (first..(*count).min(first + NAMES)).collect();
            assert!(numbers == expected, "{} has {} of {}", inside.display(), numbers.len(), expected.len());
            for number in expected.into_iter().filter(|number| number % 4 == 0) {
                assert!(fs::read(inside.join(format!("n{number}"))).unwrap() == pattern(number, 900), "n{number}");
            }
        }
    }
}

fn remove_all(dir: &Path) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                let inside = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
                let own =
                    |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(&format!("t{thread}-"));
                for path in inside.filter(own) {
                    fs::remove_dir_all(&path).unwrap_or_else(|error| panic!("rm -r {}: {error}", path.display()));
                }
            });
        }
    });
}

/// What has to work on a full target.
fn rest_works(cluster: &Cluster, refused: bool) {
    let kept = cluster.mount().join("kept");
    if refused {
        // A checkpoint may still have made a little room.
        let more = |number: u32| kept.join(format!("more{number}"));
        let last = (0..5000).find_map(|number| fs::create_dir(more(number)).err().map(|error| (number, error)));
        let (last, error) = last.expect("mkdir is refused");
        is_full(&error, "mkdir");
        is_full(&fs::rename(kept.join("f9"), kept.join("another")).unwrap_err(), "a new name");
        is_full(&fs::hard_link(kept.join("f9"), kept.join("another")).unwrap_err(), "a link");
        (0..last).for_each(|number| fs::remove_dir(more(number)).unwrap());
    }
    let file = OpenOptions::new().write(true).open(kept.join("f59")).unwrap();
    file.set_len(10).unwrap();
    file.sync_all().unwrap();
    assert_eq!(fs::read(kept.join("f59")).unwrap().len(), 10);
    fs::rename(kept.join("f58"), kept.join("f59")).unwrap();
    fs::remove_file(kept.join("f59")).unwrap();
}

/// Makes good what [`rest_works`] took away, once there is room.
fn restore(cluster: &Cluster) {
    let kept = cluster.mount().join("kept");
    let began = Instant::now();
    for number in [58, 59] {
        while let Err(error) = write(&kept.join(format!("f{number}")), &pattern(number, number as usize * 50)) {
            is_full(&error, "again");
            assert!(began.elapsed() < Duration::from_secs(30), "no room 30 s after everything was removed");
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    nothing_lost(cluster);
}

#[test]
fn e2e_full_disk_of_metadata_is_emptied_from_within() {
    let _one = alone();
    let (cluster, _) = with_disk("mkfs.ext4 -q -m 0");
    let mut first = None;
    for round in 0..if long() { 10 } else { 2 } {
        let dir = cluster.test_dir("full");
        let began = Instant::now();
        let counts = fill_all(&dir);
        let names: u64 = counts.iter().sum();
        println!("round {round}: full with {names} names after {:?}", began.elapsed());
        assert!(names * LINK_BYTES as u64 > 20 << 20, "only {names} names went in");
        assert!(names > *first.get_or_insert(names) / 2, "{names} names went in, {first:?} at first");
        rest_works(&cluster, true);
        if round % 2 == 1 {
            // What was only closed may be lost with the session of a client that a server does not know any more.
            sh(&format!("sync -f '{}'", text(&cluster.mount())), Duration::from_secs(60)).must();
            cluster.kill("meta1");
            cluster.start_service("meta1");
            cluster.wait_healthy();
        }
        all_there(&dir, &counts);
        let began = Instant::now();
        remove_all(&dir);
        println!("round {round}: empty after {:?}", began.elapsed());
        restore(&cluster);
        fs::remove_dir(&dir).unwrap();
    }
    cluster.down().must();
    cluster.up().must();
    nothing_lost(&cluster);
    cluster.assert_fsck_clean_but_for_dead_clients();
}

/// Nothing is left for the service but what it has allocated.
#[test]
fn e2e_full_disk_by_others_leaves_removals_and_restarts() {
    let _one = alone();
    let (cluster, target) = with_disk("mkfs.ext4 -q -m 0 -N 400");
    for round in 0..if long() { 10 } else { 2 } {
        let what = ["bytes", "inodes"][round % 2];
        let dir = cluster.test_dir("full");
        for number in 0..3000 {
            fs::write(dir.join(format!("n{number}")), pattern(number, 100)).unwrap();
        }
        fill_by_others(&target, what);
        // A table that has shrunk has room of its own, which may be used.
        let more = fill(&dir, 0).unwrap();
        println!("round {round}: without {what}, {more} more names");
        rest_works(&cluster, true);
        cluster.kill("meta1");
        cluster.start_service("meta1");
        cluster.wait_healthy();
        rest_works_again(&dir);
        fs::remove_dir_all(&dir).unwrap();
        empty_of_others(&target);
        restore(&cluster);
    }
    cluster.assert_fsck_clean();
}

/// Changes that add nothing, more of them than any segment of the log holds.
fn rest_works_again(dir: &Path) {
    for number in 0..3000 {
        let path = dir.join(format!("n{number}"));
        assert!(fs::read(&path).unwrap() == pattern(number, 100), "n{number}");
        for mode in [0o600, 0o640, 0o644] {
            let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
            fs::set_permissions(&path, permissions).unwrap_or_else(|error| panic!("chmod n{number}: {error}"));
        }
    }
}
