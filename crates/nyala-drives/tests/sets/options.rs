// SPDX-License-Identifier: Apache-2.0

//! What an operator has set stays with the set: over a restart, a drive that was away, and the loss of those that had it first.

use crate::common::SimDrive;
use crate::crash;
use crate::directories::{Drives, empty_drives, open};
use nyala_drives::{Drive, DriveSet};
use nyala_raid::event::ErrorLimit;
use nyala_raid::member::{DriveId, MemberState};
use nyala_raid::options::SetOptions;
use nyala_raid::{Effect, Geometry, Level, Reply, key};

fn options(rate: u64, errors: u32) -> SetOptions {
    SetOptions { number: 0, bytes_per_s: Some(rate), limit: ErrorLimit { errors, within_ms: 9000 } }
}

/// What holds, without its number.
fn said(set: &DriveSet) -> SetOptions {
    SetOptions { number: 0, ..set.options() }
}

fn rebuilt(set: &DriveSet) {
    while !set.rebuild_some(64).unwrap().done {}
    assert!(set.superblock().members.iter().all(|member| member.state == MemberState::Good));
}

fn replace(set: &DriveSet, drives: &Drives, member: usize) {
    let dir = &drives.paths[member];
    std::fs::remove_dir_all(dir).unwrap();
    set.check_presence().unwrap();
    set.replace(member, Drive::open(dir, true).unwrap(), DriveId(0x700 + member as u128)).unwrap();
    rebuilt(set);
}

#[test]
fn what_is_set_stays_with_the_set() {
    let drives = empty_drives(Level::Raid6, 4);
    let set = open(&drives, &[]).unwrap();
    assert_eq!(set.options(), SetOptions::default());
    assert_eq!(set.set_options(options(50, 7)).unwrap().number, 1);
    drop(set);
    let set = open(&drives, &[3]).unwrap();
    assert_eq!(said(&set), options(50, 7));
    assert_eq!(set.set_options(options(60, 8)).unwrap().number, 2, "without a drive");
    assert_eq!(set.returned(Drive::open(&drives.paths[3], false).unwrap()).unwrap(), 3);
    rebuilt(&set);
    // None of the drives that were there then is left, but the one that was away.
    (0..3).for_each(|member| replace(&set, &drives, member));
    drop(set);
    for path in &drives.paths {
        let row = Drive::open(path, false).unwrap().run(Effect::Get { member: 0, key: key::OPTIONS.to_vec() });
        let Reply::Value(Some(row)) = row else { panic!("{}: {row:?}", path.display()) };
        assert_eq!(SetOptions::decode(&row), Some(SetOptions { number: 2, ..options(60, 8) }), "{}", path.display());
    }
    assert_eq!(said(&open(&drives, &[0]).unwrap()), options(60, 8));
}

/// Drives fail at their next change, so many of them.
fn with_failing(count: usize) -> (Vec<SimDrive>, DriveSet) {
    let drives = crash::made(&Geometry::new(Level::Raid6, 5, crash::STRIP).unwrap(), 9);
    let set = crash::open(&drives, &[]).unwrap();
    assert_eq!(set.set_options(options(50, 7)).unwrap().number, 1);
    drives[..count].iter().for_each(|drive| drive.table.crash_at(drive.table.points()));
    (drives, set)
}

#[test]
fn what_no_drive_could_keep_does_not_hold() {
    let (drives, set) = with_failing(5);
    set.set_options(options(60, 8)).expect_err("no drive takes it");
    assert_eq!(said(&set), options(50, 7), "it does not hold here either");
    drop(set);
    drives.iter().for_each(SimDrive::power_cut);
    assert_eq!(said(&crash::open(&drives, &[]).unwrap()), options(50, 7));
}

#[test]
fn what_some_drives_keep_holds_and_the_others_leave() {
    let (drives, set) = with_failing(2);
    assert_eq!(set.set_options(options(60, 8)).unwrap().number, 2);
    assert_eq!(said(&set), options(60, 8));
    let states: Vec<bool> = set.members().iter().map(|member| member.state == MemberState::Good).collect();
    assert_eq!(states, [false, false, true, true, true]);
    drop(set);
    drives.iter().for_each(SimDrive::power_cut);
    assert_eq!(said(&crash::open(&drives, &[]).unwrap()), options(60, 8), "the largest number of the good drives");
}
