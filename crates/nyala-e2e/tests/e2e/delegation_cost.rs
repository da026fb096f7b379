// SPDX-License-Identifier: Apache-2.0

//! What delegations cost: requests that reach the client process, and revocations, counted by the mount (`user.nyala.stats`).

use nyala_e2e::{Mounts, alone, shared, sys};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The mount's counters.
fn counters(mount: &Path) -> BTreeMap<String, u64> {
    let text = String::from_utf8(sys::getxattr(mount, "user.nyala.stats").unwrap()).unwrap();
    let lines = text.lines().map(|line| line.split_once(' ').unwrap());
    lines.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect()
}

/// What was counted between two looks; asking itself is one getxattr.
fn between(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let of = |name: &String| before.get(name).copied().unwrap_or(0);
    let less = |name: &str| u64::from(name == "fuse.requests" || name == "fuse.getxattr");
    let all = after.iter().filter(|(name, _)| !name.ends_with(".bytes"));
    all.map(|(name, value)| (name.clone(), value - of(name) - less(name))).filter(|(_, count)| *count > 0).collect()
}

/// What some work costs on a mount; requests that the client's own background work makes are not the kernel's.
fn cost(mount: &Path, work: impl FnOnce()) -> BTreeMap<String, u64> {
    let before = counters(mount);
    work();
    between(&before, &counters(mount))
}

fn kernel(cost: &BTreeMap<String, u64>, name: &str) -> u64 {
    cost.get(&format!("fuse.{name}")).copied().unwrap_or(0)
}

/// What stats, listings and reads of files cost that are known whole; an error if anything that would not have to be.
fn cost_of_cached(mount: &Path, files: &[PathBuf], list: &dyn Fn(), read: &dyn Fn()) -> Result<(), String> {
    let rounds = 20;
    list();
    let stat = cost(mount, || {
        (0..rounds).for_each(|_| files.iter().for_each(|path| assert_eq!(fs::metadata(path).unwrap().size(), 1000)))
    });
    let listing = cost(mount, || (0..rounds).for_each(|_| list()));
    let reading = cost(mount, || (0..rounds).for_each(|_| read()));
    let all = format!("stat {stat:?}\nls -l {listing:?}\nopen, read, close {reading:?}");
    println!("{all}");
    // Opening and closing are requests of the kernel; what is in a directory or a file is not asked for again.
    let asked = ["lookup", "getattr", "statx", "readdir", "readdirplus", "read"].map(|name| format!("fuse.{name}"));
    let none = |cost: &BTreeMap<String, u64>, name: &str| !cost.contains_key(name);
    let free = none(&stat, "fuse.requests")
        && asked.iter().all(|name| none(&listing, name) && none(&reading, name))
        && none(&listing, "meta.requests")
        && none(&reading, "storage.reads");
    if free { Ok(()) } else { Err(all) }
}

#[test]
fn e2e_delegation_cost_alone_is_nothing() {
    let _one = alone();
    let cluster = shared();
    let (mount, dir) = (cluster.mount(), cluster.test_dir("delegation-alone"));
    let files: Vec<_> = (0..100).map(|number| dir.join(format!("f{number}"))).collect();
    for (number, path) in files.iter().enumerate() {
        fs::write(path, vec![number as u8; 1000]).unwrap();
    }
    let list = || {
        let entries: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(entries.len(), files.len());
        entries.iter().for_each(|path| assert_eq!(fs::symlink_metadata(path).unwrap().len(), 1000));
    };
    let read = || {
        for (number, path) in files.iter().enumerate() {
            assert_eq!(fs::read(path).unwrap(), vec![number as u8; 1000]);
        }
    };
    // Once, to have it all; then until nothing of that is on its way any more: access times are set after the last close,
    // and until one is known to be set, the next read is to set it.
    let began = Instant::now();
    list();
    loop {
        let again = cost(&mount, read);
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(100));
        if kernel(&again, "read") == 0 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "files are read anew every time: {again:?}");
    }
    // The kernel takes memory back when it wants to, names of this mount among it, and asks for those again: not three times in a row.
    let costs: Vec<_> = (0..3).map_while(|_| cost_of_cached(&mount, &files, &list, &read).err()).collect();
    assert!(costs.len() < 3, "files that nobody else wants cost requests, each time: {costs:#?}");
    fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn e2e_delegation_cost_of_turns_is_two_revocations() {
    let _one = alone();
    let cluster = shared();
    let mounts = Mounts::new(&cluster, 2, "");
    let dirs = mounts.test_dirs("delegation-turns");
    let roots = [dirs[0].parent().unwrap(), dirs[1].parent().unwrap()];
    fs::write(dirs[0].join("f"), 0_u64.to_le_bytes()).unwrap();
    let files: Vec<File> =
        dirs.iter().map(|dir| OpenOptions::new().read(true).write(true).open(dir.join("f")).unwrap()).collect();
    let before = roots.map(counters);
    let (turns, mut longest) = (60_u64, Duration::ZERO);
    for turn in 0..turns {
        let file = &files[turn as usize % 2];
        let began = std::time::Instant::now();
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(u64::from_le_bytes(bytes), turn);
        file.write_all_at(&(turn + 1).to_le_bytes(), 0).unwrap();
        longest = longest.max(began.elapsed());
    }
    let costs = [0, 1].map(|at: usize| between(&before[at], &counters(roots[at])));
    let revocations: u64 = costs.iter().map(|cost| cost.get("meta.revocations").copied().unwrap_or(0)).sum();
    println!("{turns} turns: {revocations} revocations, the longest took {longest:?}; {costs:?}");
    assert!(revocations <= 2 * turns, "{revocations} revocations in {turns} turns: {costs:?}");
    // A turn that waits for a timeout waits for seconds.
    assert!(longest < Duration::from_secs(2), "a turn took {longest:?}: {costs:?}");
    drop(files);
    fs::remove_dir_all(&dirs[0]).unwrap();
}
