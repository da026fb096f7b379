// SPDX-License-Identifier: Apache-2.0

//! A set of directories, with threads.

use crate::common::{SET, ids};
use nyala_drives::{Drive, DriveSet, SetError, create};
use nyala_raid::event::ErrorLimit;
use nyala_raid::member::{DriveId, MemberState};
use nyala_raid::{Geometry, Level, ObjectId};
use nyala_wire::SplitMix64;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

pub const STRIP: usize = 16384;

pub struct Drives {
    _dir: tempfile::TempDir,
    pub paths: Vec<PathBuf>,
}

pub fn empty_drives(level: Level, count: usize) -> Drives {
    let dir = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..count).map(|at| dir.path().join(format!("drive{at}"))).collect();
    let opened: Vec<Drive> = paths.iter().map(|path| Drive::open(path, true).unwrap()).collect();
    create(&opened, Geometry::new(level, count, STRIP).unwrap(), SET, &ids(count)).unwrap();
    Drives { _dir: dir, paths }
}

pub fn open(drives: &Drives, without: &[usize]) -> Result<DriveSet, SetError> {
    let there = drives.paths.iter().enumerate().filter(|(at, _)| !without.contains(at));
    let drives = there.map(|(_, path)| Drive::open(path, false).unwrap()).collect();
    DriveSet::open(drives, false, ErrorLimit { errors: 1_000_000, within_ms: 1000 }, true)
}

pub fn content(seed: u64, len: usize) -> Vec<u8> {
    let mut random = SplitMix64::new(seed);
    (0..len).map(|_| random.bits() as u8).collect()
}

pub fn files(path: &Path) -> Vec<PathBuf> {
    let dirs = std::fs::read_dir(path.join("objects")).unwrap().map(|dir| dir.unwrap().path());
    dirs.flat_map(|dir| std::fs::read_dir(dir).unwrap().map(|file| file.unwrap().path())).collect()
}

#[test]
fn two_drives_die_one_after_the_other_under_load_and_are_replaced() {
    let drives = empty_drives(Level::Raid6, 8);
    let set = open(&drives, &[]).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..3_u64 {
            let (set, stop) = (&set, &stop);
            scope.spawn(move || {
                let object = ObjectId(u128::from(thread));
                let len = 6 * STRIP * 3;
                let mut right = vec![0; len];
                let mut random = SplitMix64::new(thread);
                for round in 0_u64.. {
                    let offset = random.below(len as u64 - 1) as usize;
                    let bytes = content(round, 1 + random.below((len - offset).min(3 * STRIP) as u64) as usize);
                    set.write(object, offset as u64, &bytes).unwrap();
                    right[offset..offset + bytes.len()].copy_from_slice(&bytes);
                    if round % 8 == 0 {
                        set.sync().unwrap();
                    }
                    assert!(set.read(object, 0..len as u64).unwrap() == right, "thread {thread}, round {round}");
                    if stop.load(Ordering::Relaxed) && round > 12 {
                        break;
                    }
                }
            });
        }
        let dir = tempfile::tempdir().unwrap();
        for (number, member) in [2, 6].into_iter().enumerate() {
            // sleeps: the load goes on meanwhile
            std::thread::sleep(std::time::Duration::from_millis(200));
            let drive = Drive::open(&dir.path().join(format!("new{number}")), true).unwrap();
            set.replace(member, drive, DriveId(0x999 + number as u128)).unwrap();
            assert!(matches!(set.superblock().members[member].state, MemberState::Rebuilding { .. }));
        }
        while !set.rebuild_some(16).unwrap().done {}
        stop.store(true, Ordering::Relaxed);
    });
    assert!(set.superblock().members.iter().all(|member| member.state == MemberState::Good));
    set.begin_scrub(1);
    while !set.scrub_some(64, 2).unwrap().done {}
    assert_eq!((set.scrub().healed, set.scrub().lost), (0, 0));
}

#[test]
fn flipped_bits_are_all_found_healed_and_counted() {
    let drives = empty_drives(Level::Raid6, 6);
    let set = open(&drives, &[]).unwrap();
    let objects = 8;
    let len = 4 * STRIP * 8;
    (0..objects).for_each(|at| set.write(ObjectId(at), 0, &content(at as u64, len)).unwrap());
    set.sync().unwrap();
    let mut random = SplitMix64::new(7);
    let mut flipped = 0;
    // At most two in one stripe: each strip has at most one, of two members.
    for member in [1, 4] {
        for file in files(&drives.paths[member]) {
            let file = std::fs::OpenOptions::new().read(true).write(true).open(file).unwrap();
            for strip in 0..file.metadata().unwrap().len() / STRIP as u64 {
                let at = strip * STRIP as u64 + random.below(STRIP as u64);
                let mut byte = [0];
                file.read_exact_at(&mut byte, at).unwrap();
                file.write_all_at(&[byte[0] ^ (1 << random.below(8))], at).unwrap();
                flipped += 1;
            }
        }
    }
    set.begin_scrub(1);
    while !set.scrub_some(16, 2).unwrap().done {}
    assert_eq!(set.scrub().healed, flipped);
    assert!(flipped >= 100, "{flipped}");
    drop(set);
    // All of it is right again with two other drives gone, and what the scrub found is remembered.
    let set = open(&drives, &[0, 5]).unwrap();
    assert_eq!(set.scrub().healed, flipped);
    (0..objects).for_each(|at| assert!(set.read(ObjectId(at), 0..len as u64).unwrap() == content(at as u64, len)));
}

#[test]
fn a_drive_that_was_away_gets_only_what_it_missed() {
    let drives = empty_drives(Level::Raid5, 4);
    let set = open(&drives, &[]).unwrap();
    let len = 3 * STRIP * 40;
    set.write(ObjectId(1), 0, &content(1, len)).unwrap();
    set.sync().unwrap();
    drop(set);
    let set = open(&drives, &[3]).unwrap();
    set.write(ObjectId(1), 0, &content(2, STRIP)).unwrap();
    set.sync().unwrap();
    drop(set);
    let set = open(&drives, &[]).unwrap();
    assert_eq!(set.superblock().members[3].state, MemberState::CatchingUp);
    let mut rebuilt = 0;
    loop {
        let progress = set.rebuild_some(4).unwrap();
        rebuilt += progress.stripes;
        if progress.done {
            break;
        }
    }
    assert!(rebuilt <= 1, "one stripe was written meanwhile, {rebuilt} were rebuilt");
    assert_eq!(set.superblock().members[3].state, MemberState::Good);
    let mut right = content(1, len);
    right[..STRIP].copy_from_slice(&content(2, STRIP));
    drop(set);
    let set = open(&drives, &[0]).unwrap();
    assert!(set.read(ObjectId(1), 0..len as u64).unwrap() == right);
}

#[test]
fn what_is_no_set_is_refused_with_a_reason() {
    let drives = empty_drives(Level::Raid1, 2);
    let alone = open(&drives, &[0]).err().map(|error| error.to_string());
    assert!(alone.as_ref().is_some_and(|text| text.contains("nyala raid start")), "{alone:?}");
    let again = Drive::open(&drives.paths[0], true).err().map(|error| error.to_string());
    assert!(again.as_ref().is_some_and(|text| text.contains("not empty")), "{again:?}");
    let missing = Drive::open(&drives.paths[0].join("nothing"), false);
    assert!(matches!(missing, Err(SetError::Directory { .. })));
    let set = open(&drives, &[]).unwrap();
    let second = Drive::open(&drives.paths[0], false);
    assert!(matches!(second, Err(SetError::Table { .. })), "two at once");
    let of_the_set = set.superblock().members.len();
    let new = Drive::open(&drives.paths[0].join("new"), true).unwrap();
    assert!(matches!(set.replace(of_the_set, new, DriveId(1)), Err(SetError::Replace { .. })));
}
