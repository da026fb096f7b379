// SPDX-License-Identifier: Apache-2.0

//! Disks that are full: of metadata, storage and management, in bytes and in inodes, by what Nyala writes and by what others
//! write there. Programs get ENOSPC, removals work and make room, nothing ends, nothing that was synced is lost.

use nyala_e2e::hosts::{Disks, Fault, Plan};
use nyala_e2e::{Hosts, long, serial};
use std::fs::{self, File};
use std::io::{ErrorKind, Result, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Content that stays with the inode, and content that goes to storage.
const INLINE: usize = 3_500;
const STRIPED: usize = 6_000;
/// More files than a small disk holds.
const MANY: usize = 60_000;
/// Each of these is synced.
const SYNCED: usize = 50;
/// Until there is room again after removals.
const SOON: Duration = Duration::from_secs(20);

fn content(number: usize, len: usize) -> Vec<u8> {
    vec![number as u8 | 1; len]
}

fn put(dir: &Path, number: usize, len: usize) -> Result<()> {
    let mut file = File::create_new(dir.join(format!("f{number}")))?;
    file.write_all(&content(number, len))?;
    if number.is_multiple_of(SYNCED) { file.sync_all() } else { Ok(()) }
}

/// Makes files until there is no room; how many. Any other error is one.
fn fill(dir: &Path, len: usize, hosts: &Hosts) -> usize {
    fs::create_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    for number in 0..MANY {
        match put(dir, number, len) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::StorageFull => return number,
            Err(error) => panic!("file {number}: {error}\n{}", hosts.logs(20)),
        }
    }
    panic!("{MANY} files fit");
}

fn check_synced(dir: &Path, made: usize, len: usize) {
    for number in (0..made).step_by(SYNCED) {
        let found = fs::read(dir.join(format!("f{number}")));
        let found = found.unwrap_or_else(|error| panic!("f{number} was synced: {error}"));
        assert!(found == content(number, len), "f{number} was synced, and holds {} bytes", found.len());
    }
}

/// All of it goes, and then there is room again.
fn empty(dir: &Path, len: usize, hosts: &mut Hosts) {
    fs::remove_dir_all(dir).unwrap_or_else(|error| panic!("removing: {error}\n{}", hosts.logs(20)));
    let (again, began) = (dir.with_extension("again"), Instant::now());
    hosts.until("there is room again", |_| {
        let made = fs::create_dir_all(&again).and_then(|()| put(&again, 0, len));
        assert!(began.elapsed() < SOON || made.is_ok(), "{made:?} after {:?}", began.elapsed());
        made.is_ok()
    });
    check_synced(&again, 1, len);
    fs::remove_dir_all(&again).unwrap_or_else(|error| panic!("removing: {error}"));
}

/// Others take all that is left on a disk, but for some bytes; until it is dropped.
struct Ballast(std::path::PathBuf);

impl Ballast {
    fn on(disk: &Path) -> Ballast {
        let path = disk.join("ballast");
        let mut file = File::create_new(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut piece = 1 << 20;
        while piece >= 4096 {
            if file.write_all(&vec![1; piece]).is_err() {
                piece /= 4;
            }
        }
        Ballast(path)
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        // It may have gone with its disk.
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn e2e_full_disks_can_be_emptied() {
    let _one = serial();
    let mut hosts = Hosts::start(Plan { disks: Disks::Small, storage: 1, session_timeout_s: 5, ..Plan::default() });
    for round in 0..if long() { 10 } else { 1 } {
        let dir = hosts.mount().join(format!("round{round}"));
        // Metadata: small files fill it; it is started again while it is full.
        let made = fill(&dir, INLINE, &hosts);
        check_synced(&dir, made, INLINE);
        hosts.strike("meta1", Fault::Killed);
        hosts.heal("meta1");
        check_synced(&dir, made, INLINE);
        empty(&dir, INLINE, &mut hosts);
        // Storage: it has inodes for fewer files than fit, each in a chunk file of its own.
        let chunks = fill(&dir, STRIPED, &hosts);
        check_synced(&dir, chunks, STRIPED);
        empty(&dir, STRIPED, &mut hosts);
        // Storage, in bytes.
        let large = hosts.mount().join("large");
        let mut file = File::create(&large).unwrap();
        let full = (0..1000).find_map(|n| file.write_all(&content(n, 1 << 20)).and_then(|()| file.sync_data()).err());
        assert_eq!(full.map(|error| error.kind()), Some(ErrorKind::StorageFull));
        drop(file);
        fs::remove_file(&large).unwrap();
        empty_storage(&large, &mut hosts);
        println!("round {round}: {made} files with the inode, {chunks} with a chunk file");
    }
}

/// A large file can be written again.
fn empty_storage(path: &Path, hosts: &mut Hosts) {
    hosts.until("storage has room again", |_| {
        let written = fs::write(path, content(1, 20 << 20)).and_then(|()| File::open(path)?.sync_all());
        written.is_ok()
    });
    fs::remove_file(path).unwrap();
}

#[test]
fn e2e_disks_that_others_filled_are_waited_for() {
    let _one = serial();
    let mut hosts = Hosts::start(Plan { disks: Disks::Small, storage: 1, session_timeout_s: 5, ..Plan::default() });
    let dir = hosts.mount().join("dir");
    fs::create_dir(&dir).unwrap();
    (0..200).for_each(|number| put(&dir, number, INLINE).unwrap());
    for (n, name) in ["mgmt1", "meta1", "storage1"].into_iter().enumerate() {
        let ballast = Ballast::on(&hosts.disk_of(name));
        std::thread::sleep(Duration::from_secs(2));
        check_synced(&dir, 200, INLINE);
        // What takes nothing away for good goes on; the disk of management is not asked.
        fs::rename(dir.join("f1"), dir.join("f1.new")).unwrap_or_else(|error| panic!("{name}: {error}"));
        fs::rename(dir.join("f1.new"), dir.join("f1")).unwrap_or_else(|error| panic!("{name}: {error}"));
        fs::remove_file(dir.join(format!("f{}", 10 + n))).unwrap_or_else(|error| panic!("{name}: {error}"));
        let made = put(&dir, 1000 + n, STRIPED);
        let refused = made.as_ref().err().map(std::io::Error::kind);
        match name {
            "mgmt1" => assert!(made.is_ok(), "{made:?}"),
            _ => assert_eq!(refused, Some(ErrorKind::StorageFull), "{name}: {made:?}"),
        }
        drop(ballast);
        let path = dir.join("room");
        hosts.until("there is room again", |_| fs::write(&path, content(1, STRIPED)).is_ok());
        File::open(&path).unwrap().sync_all().unwrap();
        fs::remove_file(path).unwrap();
    }
}
