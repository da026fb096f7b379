// SPDX-License-Identifier: Apache-2.0

//! Drives that come back while their set is in use.

use crate::common::SimDrive;
use crate::crash::{OBJECT, Oracle, assert_catches_up, made, open, work};
use crate::directories::{self, Drives, content, empty_drives};
use nyala_drives::{Drive, DriveSet, SetError};
use nyala_raid::member::MemberState;
use nyala_raid::{Geometry, Level, ObjectId};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

fn rebuild(set: &DriveSet) {
    while !set.rebuild_some(4).unwrap().done {}
}

fn scrub_finds_nothing(set: &DriveSet, context: &str) {
    set.begin_scrub(1);
    while !set.scrub_some(64, 2).unwrap().done {}
    assert_eq!((set.scrub().healed, set.scrub().lost), (0, 0), "{context}");
}

#[test]
fn a_drive_that_left_at_any_point_comes_back_under_way() {
    let geometry = Geometry::new(Level::Raid5, 3, crate::crash::STRIP).unwrap();
    let len = geometry.stripe_bytes() * 3;
    let drives = made(&geometry, 3);
    let set = open(&drives, &[]).unwrap();
    work(&set, &mut Oracle::new(len), 3).unwrap();
    let points = drives[1].points();
    drop(set);
    let mut came_back = 0;
    for point in 0..points {
        let context = format!("point {point}");
        let drives = made(&geometry, 3);
        drives[1].files.fail_at(point);
        drives[1].table.fail_at(drives[1].table.points() + point);
        let mut oracle = Oracle::new(len);
        let set = open(&drives, &[]).unwrap();
        work(&set, &mut oracle, 3).unwrap();
        if set.superblock().members[1].state != MemberState::Missing {
            continue;
        }
        came_back += 1;
        // What it had not synced is lost, and the set does not sync before it is back.
        drives[1].power_cut();
        oracle.write(&set, 300, content(9, 5000)).unwrap();
        assert_eq!(set.returned(drives[1].open().unwrap()).unwrap(), 1, "{context}");
        oracle.write(&set, 200, content(10, 300)).unwrap();
        assert_eq!(set.read(OBJECT, 0..len as u64).unwrap(), oracle.now, "{context}");
        rebuild(&set);
        assert_eq!(set.superblock().members[1].state, MemberState::Good, "{context}");
        scrub_finds_nothing(&set, &context);
        work(&set, &mut oracle, 4).unwrap();
        drop(set);
        drives.iter().for_each(SimDrive::power_cut);
        let without = open(&drives, &[[0, 2][point as usize % 2]]).unwrap();
        assert_eq!(without.read(OBJECT, 0..len as u64).unwrap(), oracle.now, "{context}");
    }
    assert!(came_back > points / 2, "{came_back} of {points}");
}

/// A drive of three has left, the others went on, and what is told of is their number of points then.
fn left_behind(geometry: &Geometry, oracle: &mut Oracle) -> (Vec<SimDrive>, DriveSet) {
    let drives = made(geometry, 5);
    let set = open(&drives, &[]).unwrap();
    work(&set, oracle, 5).unwrap();
    drives[1].table.fail_at(drives[1].table.points());
    oracle.write(&set, 10, content(11, 2 * geometry.stripe_bytes())).unwrap();
    assert_eq!(set.superblock().members[1].state, MemberState::Missing);
    drives[1].power_cut();
    (drives, set)
}

/// After a power cut of all drives: what was synced is there, and who is behind catches up.
fn starts_as_it_should(drives: &[SimDrive], oracle: &Oracle, context: &str) {
    drives.iter().for_each(SimDrive::power_cut);
    let set = open(drives, &[]).unwrap();
    let content = set.read(OBJECT, 0..oracle.now.len() as u64).unwrap();
    oracle.check(&content, context);
    assert_catches_up(&set, &content, context);
}

#[test]
fn power_cuts_at_every_point_of_a_return() {
    let geometry = Geometry::new(Level::Raid6, 5, crate::crash::STRIP).unwrap();
    let len = geometry.stripe_bytes() * 3;
    let back = |set: &DriveSet, drives: &[SimDrive], oracle: &mut Oracle| -> Result<(), SetError> {
        // It may go down already when it is opened.
        let Some(drive) = drives[1].open() else { return Ok(()) };
        set.returned(drive)?;
        oracle.write(set, 4000, content(12, 6000))?;
        while !set.rebuild_some(1)?.done {}
        oracle.sync(set)
    };
    for victim in [0, 1] {
        let mut oracle = Oracle::new(len);
        let (drives, set) = left_behind(&geometry, &mut oracle);
        let before = (drives[victim].files.points(), drives[victim].table.points());
        back(&set, &drives, &mut oracle).unwrap();
        drop(set);
        let files = (before.0..drives[victim].files.points()).map(|point| (true, point));
        let table = (before.1..drives[victim].table.points()).map(|point| (false, point));
        for (of_files, point) in files.chain(table) {
            let context = format!("member {victim}, files {of_files}, point {point}");
            let mut oracle = Oracle::new(len);
            let (drives, set) = left_behind(&geometry, &mut oracle);
            let machine = if of_files { &drives[victim].files } else { &drives[victim].table };
            machine.crash_at(point);
            let _ = back(&set, &drives, &mut oracle);
            assert!(drives[victim].is_down(), "{context}");
            drop(set);
            starts_as_it_should(&drives, &oracle, &context);
        }
    }
}

/// Writes and removes all of an object and another one until it fails or `until` is set; gives how often.
fn keep_writing(set: &DriveSet, oracle: &mut Oracle, until: &AtomicBool) -> usize {
    let stripe = set.geometry().stripe_bytes();
    for round in 0.. {
        for at in (0..oracle.now.len()).step_by(stripe) {
            let other = ObjectId(0x78);
            let done = oracle.write(set, at + round % 5000, content(round as u64, 600));
            let done =
                done.and_then(|()| set.write(other, at as u64, b"x")).and_then(|()| set.discard(other, 0..u64::MAX));
            if done.is_err() || until.load(Ordering::Relaxed) {
                return round;
            }
        }
    }
    0
}

#[test]
fn a_drive_catches_up_though_all_that_it_missed_is_written_all_the_time() {
    const STRIPES: usize = 40;
    let geometry = Geometry::new(Level::Raid5, 3, crate::crash::STRIP).unwrap();
    let drives = made(&geometry, 5);
    let set = open(&drives, &[]).unwrap();
    drives[1].table.fail_at(drives[1].table.points());
    let mut oracle = Oracle::new(STRIPES * geometry.stripe_bytes());
    oracle.write(&set, 0, content(3, STRIPES * geometry.stripe_bytes())).unwrap();
    drives[1].power_cut();
    set.returned(drives[1].open().unwrap()).unwrap();
    assert!(set.members()[1].missed >= STRIPES as u64);
    // Much is written while a few stripes are synced.
    drives[1].sync_ms.store(50, Ordering::Relaxed);
    let until = AtomicBool::new(false);
    let rounds = std::thread::scope(|scope| {
        let writer = scope.spawn(|| keep_writing(&set, &mut oracle, &until));
        // Each stripe is given once, and what is noted of the other object now and then.
        let done = (0..2 * STRIPES).any(|_| set.rebuild_some(STRIPES).unwrap().done);
        until.store(true, Ordering::Relaxed);
        assert!(done && set.members()[1].state == MemberState::Good, "{:?}", set.members());
        writer.join().unwrap()
    });
    println!("written {rounds} times meanwhile");
    scrub_finds_nothing(&set, "caught up");
    let without = |without: &[usize]| {
        drives.iter().for_each(SimDrive::power_cut);
        open(&drives, without).unwrap().read(OBJECT, 0..oracle.now.len() as u64).unwrap() == oracle.now
    };
    set.sync().unwrap();
    drop(set);
    assert!(without(&[]) && without(&[0]), "it has everything");
}

#[test]
fn power_cuts_while_a_drive_catches_up_and_all_is_written() {
    let geometry = Geometry::new(Level::Raid6, 5, crate::crash::STRIP).unwrap();
    let len = geometry.stripe_bytes() * 3;
    for (victim, point) in (0..60).flat_map(|point| [(0, 3 * point), (1, 3 * point)]) {
        let context = format!("member {victim}, point {point}");
        let mut oracle = Oracle::new(len);
        let (drives, set) = left_behind(&geometry, &mut oracle);
        let returning = drives[1].open().unwrap();
        let machine = if point % 2 == 0 { &drives[victim].files } else { &drives[victim].table };
        machine.crash_at(machine.points() + point);
        let until = AtomicBool::new(false);
        let back = set.returned(returning);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| keep_writing(&set, &mut oracle, &until));
            while back.is_ok() && set.rebuild_some(1).is_ok_and(|progress| !progress.done) {}
            until.store(true, Ordering::Relaxed);
            writer.join().unwrap();
        });
        drop(set);
        starts_as_it_should(&drives, &oracle, &context);
    }
}

fn away(path: &Path) -> std::path::PathBuf {
    path.with_extension("away")
}

/// Opens a drive whose last user may still be about to close it.
fn free(path: &Path) -> Drive {
    loop {
        match Drive::open(path, false) {
            Ok(drive) => return drive,
            // sleeps: between two tries
            Err(SetError::Table { .. }) => std::thread::sleep(std::time::Duration::from_millis(1)),
            Err(error) => panic!("{error}"),
        }
    }
}

fn goes_and_comes(drives: &Drives, set: &DriveSet, member: usize, meanwhile: impl FnOnce()) {
    let path = &drives.paths[member];
    std::fs::rename(path, away(path)).unwrap();
    assert_eq!(set.check_presence().unwrap(), [member]);
    let status = set.members()[member].clone();
    assert_eq!((status.location.as_deref(), status.is_held), (path.to_str(), false));
    meanwhile();
    std::fs::rename(away(path), path).unwrap();
    assert_eq!(set.returned(free(path)).unwrap(), member);
    assert!(set.members()[member].is_held);
}

#[test]
fn a_directory_that_was_away_comes_back_under_load() {
    let drives = empty_drives(Level::Raid5, 4);
    let set = directories::open(&drives, &[]).unwrap();
    let len = 3 * directories::STRIP * 10;
    set.write(ObjectId(1), 0, &content(1, len)).unwrap();
    set.sync().unwrap();
    let mut right = content(1, len);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (set, stop) = (&set, &stop);
        let writer = scope.spawn(move || {
            let mut round = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) || round < 20 {
                set.write(ObjectId(2), round % 50 * 3000, &content(round, 5000)).unwrap();
                round += 1;
            }
            set.sync().unwrap();
            round
        });
        for member in [2, 0] {
            goes_and_comes(&drives, set, member, || {
                set.write(ObjectId(1), 70_000, &content(member as u64, 20_000)).unwrap();
            });
            right[70_000..90_000].copy_from_slice(&content(member as u64, 20_000));
            rebuild(set);
            assert_eq!(set.superblock().members[member].state, MemberState::Good);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(writer.join().unwrap() >= 20);
    });
    scrub_finds_nothing(&set, "afterwards");
    let second = set.read(ObjectId(2), 0..200_000).unwrap();
    drop(set);
    for gone in [1, 3] {
        let set = directories::open(&drives, &[gone]).unwrap();
        assert!(set.read(ObjectId(1), 0..len as u64).unwrap() == right, "without {gone}");
        assert!(set.read(ObjectId(2), 0..200_000).unwrap() == second, "without {gone}");
        drop(set);
        rebuild(&directories::open(&drives, &[]).unwrap());
    }
}

#[test]
fn what_does_not_belong_to_the_set_does_not_come_back() {
    let (ours, other) = (empty_drives(Level::Raid5, 3), empty_drives(Level::Raid5, 3));
    let set = directories::open(&ours, &[2]).unwrap();
    set.write(ObjectId(1), 0, &content(1, 100)).unwrap();
    let refused = |drive: Drive| match set.returned(drive) {
        Err(SetError::Return { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(refused(Drive::open(empty.path(), true).unwrap()), "it has no superblock");
    // Both sets of the tests have one id, and their drives too: this one was started without the others.
    let ahead = directories::open(&other, &[0]).unwrap();
    drop(ahead);
    drop(directories::open(&other, &[]).unwrap());
    assert!(refused(free(&other.paths[2])).contains("in use without the other drives"));
    assert!(refused(free(&other.paths[1])).contains("copy of the other"));
    assert_eq!(set.returned(free(&ours.paths[2])).unwrap(), 2);
    rebuild(&set);
    assert_eq!(set.superblock().members[2].state, MemberState::Good);
}
