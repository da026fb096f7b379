// SPDX-License-Identifier: Apache-2.0

//! A lock that ended with a close or an exit is free at once: for whoever is told so, on any mount.

use nyala_e2e::file_locks::{self, Kind, Way};
use nyala_e2e::locker::Locker;
use nyala_e2e::{Mounts, alone, shared};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Closes in a row.
const CLOSES: usize = 3_000;
/// Processes that end in a row.
const EXITS: usize = 150;
/// Looks at a lock that is still held.
const LOOKS: usize = 20;

const OF_OPEN_FILES: [Way; 2] = [Way::Flock, Way::Ofd];

/// The same file on two mounts.
fn with_file(name: &str, test: impl FnOnce(&Path, &Path)) {
    let _one = alone();
    let cluster = shared();
    let mounts = Mounts::new(&cluster, 2, "");
    let dirs = mounts.test_dirs(name);
    let paths: Vec<PathBuf> = dirs.iter().map(|dir| dir.join("f")).collect();
    std::fs::write(&paths[0], b"content").unwrap();
    test(&paths[0], &paths[1]);
    std::fs::remove_dir_all(&dirs[0]).unwrap();
}

fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

/// Locks the whole file without waiting; none if it is refused.
fn lock(path: &Path, way: Way) -> Option<File> {
    let file = open(path);
    match file_locks::set(&file, way, Kind::Write, 0, 0, false) {
        Ok(()) => Some(file),
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => None,
        Err(error) => panic!("{way:?}: {error}"),
    }
}

/// How many of so many locks are refused, each right after the one before was closed.
fn refusals(paths: [&Path; 2], way: Way) -> usize {
    let mut held = lock(paths[0], way).unwrap();
    let mut refused = 0;
    for round in 1..=CLOSES {
        let next = open(paths[round % 2]);
        drop(held);
        if file_locks::set(&next, way, Kind::Write, 0, 0, false).is_err() {
            refused += 1;
            file_locks::set(&next, way, Kind::Write, 0, 0, true).unwrap();
        }
        held = next;
    }
    refused
}

#[test]
fn e2e_lock_ends_with_the_close_for_other_mounts() {
    with_file("lock-close-other", |here, there| {
        let refused = OF_OPEN_FILES.map(|way| refusals([here, there], way));
        assert_eq!(refused, [0, 0], "flock, OFD: refused, of {CLOSES} each");
    });
}

#[test]
fn e2e_lock_ends_with_the_close_for_the_same_mount() {
    with_file("lock-close-same", |here, _| {
        let refused = OF_OPEN_FILES.map(|way| refusals([here, here], way));
        assert_eq!(refused, [0, 0], "flock, OFD: refused, of {CLOSES} each");
        let looker = open(here);
        let mut seen = 0;
        for _ in 0..CLOSES {
            drop(lock(here, Way::Ofd));
            seen += usize::from(file_locks::get(&looker, Kind::Write, 0, 0).unwrap().is_some());
        }
        assert_eq!(seen, 0, "F_GETLK still shows it, of {CLOSES}");
    });
}

#[test]
fn e2e_lock_ends_with_the_process_for_other_mounts() {
    with_file("lock-exit", |here, there| {
        for way in Way::ALL {
            let mut refused = [0; 2];
            for round in 0..EXITS {
                let killed = round % 2;
                let mut holder = Locker::start(&[here.to_owned()]);
                assert_eq!(holder.ask(&format!("lock 0 {} write 0 0 wait", way.name())), "ok");
                match killed {
                    0 => holder.tell("exit 0"),
                    _ => holder.signal(libc::SIGKILL),
                }
                assert!(holder.ends(Duration::from_secs(20)));
                refused[killed] += usize::from(lock(there, way).is_none());
            }
            assert_eq!(refused, [0, 0], "{way:?}: refused after an exit, after a kill, of {} each", EXITS / 2);
        }
    });
}

#[test]
fn e2e_lock_is_kept_by_a_duplicate_and_ends_with_it() {
    with_file("lock-duplicate", |here, there| {
        for way in OF_OPEN_FILES {
            let held = lock(here, way).unwrap();
            let duplicate = held.try_clone().unwrap();
            drop(held);
            for _ in 0..LOOKS {
                assert!(lock(there, way).is_none(), "{way:?}: a duplicate holds it");
                assert!(lock(here, way).is_none(), "{way:?}: a duplicate holds it");
                // A duplicate that is closed while another one stays.
                drop(duplicate.try_clone().unwrap());
            }
            drop(duplicate);
            assert!(lock(there, way).is_some(), "{way:?}: it ended with the last one");
        }
    });
}

#[test]
fn e2e_lock_is_kept_by_a_child_that_inherited_it_and_ends_with_it() {
    with_file("lock-inherited", |here, there| {
        for way in OF_OPEN_FILES {
            for round in 0..LOOKS {
                let held = lock(here, way).unwrap();
                let mut child = Command::new("sleep").arg("1000").stdin(Stdio::from(held)).spawn().unwrap();
                let refused = lock(there, way).is_none() && lock(here, way).is_none();
                child.kill().unwrap();
                child.wait().unwrap();
                assert!(refused, "{way:?}: a child holds it, round {round}");
                assert!(lock(there, way).is_some(), "{way:?}: it ended with the child, round {round}");
            }
        }
    });
}
