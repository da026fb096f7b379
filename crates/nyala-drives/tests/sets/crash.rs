// SPDX-License-Identifier: Apache-2.0

//! Power cuts at every change of state of one of the drives, after which all are without power; then the set starts with all drives, or without some.

use crate::common::{SET, SimDrive, ids};
use nyala_drives::{Drive, DriveSet, SetError, create};
use nyala_raid::event::ErrorLimit;
use nyala_raid::{Geometry, Level, ObjectId};
use nyala_wire::SplitMix64;

pub const OBJECT: ObjectId = ObjectId(0x77);
pub const STRIP: usize = 8192;

/// What was written, and what was synced of it.
#[derive(Default)]
pub struct Oracle {
    pub now: Vec<u8>,
    synced: Vec<u8>,
    since: Vec<(usize, Vec<u8>)>,
}

impl Oracle {
    pub fn new(len: usize) -> Oracle {
        Oracle { now: vec![0; len], synced: vec![0; len], since: Vec::new() }
    }

    pub fn write(&mut self, set: &DriveSet, offset: usize, bytes: Vec<u8>) -> Result<(), SetError> {
        self.since.push((offset, bytes.clone()));
        set.write(OBJECT, offset as u64, &bytes)?;
        self.now[offset..offset + bytes.len()].copy_from_slice(&bytes);
        Ok(())
    }

    pub fn sync(&mut self, set: &DriveSet) -> Result<(), SetError> {
        set.sync()?;
        self.synced = self.now.clone();
        self.since.clear();
        Ok(())
    }

    /// Each byte is what was synced, or something that was written since.
    pub fn check(&self, content: &[u8], context: &str) {
        for (at, byte) in content.iter().enumerate() {
            let written =
                |(offset, bytes): &(usize, Vec<u8>)| at.checked_sub(*offset).and_then(|at| bytes.get(at)) == Some(byte);
            let right = *byte == self.synced[at] || self.since.iter().any(written);
            assert!(right, "{context}: byte {at} is {byte}, was synced as {}", self.synced[at]);
        }
    }
}

pub fn work(set: &DriveSet, oracle: &mut Oracle, seed: u64) -> Result<(), SetError> {
    let mut random = SplitMix64::new(seed);
    let stripe = set.geometry().stripe_bytes();
    let mut bytes = |len: usize| (0..len).map(|_| random.bits() as u8).collect::<Vec<u8>>();
    oracle.write(set, 0, bytes(stripe + 5000))?;
    oracle.sync(set)?;
    oracle.write(set, 100, bytes(4096))?;
    oracle.write(set, stripe + 7000, bytes(3000))?;
    oracle.sync(set)?;
    oracle.write(set, 0, bytes(stripe))?;
    oracle.since.push((stripe, vec![0; oracle.now.len() - stripe]));
    set.discard(OBJECT, 1..u64::MAX)?;
    oracle.now[stripe..].fill(0);
    oracle.write(set, stripe + 50, bytes(60))?;
    oracle.sync(set)
}

pub fn open(drives: &[SimDrive], without: &[usize]) -> Result<DriveSet, SetError> {
    let there = drives.iter().enumerate().filter(|(at, _)| !without.contains(at));
    let drives: Vec<Drive> = there.filter_map(|(_, drive)| drive.open()).collect();
    DriveSet::open(drives, false, ErrorLimit::default(), false)
}

pub fn made(geometry: &Geometry, seed: u64) -> Vec<SimDrive> {
    let count = geometry.drives();
    let drives: Vec<_> = (0..count).map(|at| SimDrive::new(seed * 100 + at as u64)).collect();
    let opened: Vec<_> = drives.iter().filter_map(SimDrive::open).collect();
    create(&opened, geometry.clone(), SET, &ids(count)).unwrap();
    drives
}

/// Whoever is behind catches up, and then a scrub finds nothing, and the content is the same.
pub fn assert_catches_up(set: &DriveSet, content: &[u8], context: &str) {
    while !set.rebuild_some(8).unwrap().done {}
    set.begin_scrub(1);
    while !set.scrub_some(8, 2).unwrap().done {}
    assert_eq!((set.scrub().healed, set.scrub().lost), (0, 0), "{context}");
    assert_eq!(set.read(OBJECT, 0..content.len() as u64).unwrap(), content, "{context}");
}

#[test]
fn power_cuts_at_every_point_with_the_loss_of_drives() {
    let geometries = [(Level::Raid5, 3), (Level::Raid6, 5), (Level::Raid1, 2), (Level::Raid60 { groups: 2 }, 8)];
    for (level, count) in geometries {
        let geometry = Geometry::new(level, count, STRIP).unwrap();
        let len = geometry.stripe_bytes() * 3;
        for victim in [0, count - 1] {
            let drives = made(&geometry, 1);
            let (before, before_table) = (drives[victim].files.points(), drives[victim].table.points());
            let set = open(&drives, &[]).unwrap();
            work(&set, &mut Oracle::new(len), 1).unwrap();
            drop(set);
            let files = (before..drives[victim].files.points()).map(|point| (true, point));
            let table = (before_table..drives[victim].table.points()).map(|point| (false, point));
            for (at, (of_files, point)) in files.chain(table).enumerate() {
                let context = format!("RAID {level}, member {victim}, files {of_files}, point {point}");
                let drives = made(&geometry, 1);
                let machine = if of_files { &drives[victim].files } else { &drives[victim].table };
                machine.crash_at(point);
                let mut oracle = Oracle::new(len);
                // The set cannot know that it is the whole host: it may go on without the drive, to the end.
                if let Ok(set) = open(&drives, &[]) {
                    let _ = work(&set, &mut oracle, 1);
                }
                assert!(drives[victim].is_down(), "{context}");
                drives.iter().for_each(SimDrive::power_cut);
                let without = if at % 3 == 0 { vec![(victim + 1) % count] } else { vec![] };
                let set = match open(&drives, &without) {
                    Ok(set) => set,
                    // It went on without the victim, and now another one is lost: that is two of one group, and it is known.
                    Err(SetError::Assemble(_)) if geometry.parity() == 1 && !without.is_empty() => continue,
                    Err(error) => panic!("{context}: {error}"),
                };
                let content = set.read(OBJECT, 0..len as u64).unwrap_or_else(|error| panic!("{context}: {error}"));
                oracle.check(&content, &context);
                assert_catches_up(&set, &content, &context);
            }
        }
    }
}

#[test]
fn a_drive_that_fails_at_any_point_costs_nothing_and_catches_up() {
    let geometry = Geometry::new(Level::Raid5, 3, STRIP).unwrap();
    let len = geometry.stripe_bytes() * 3;
    let drives = made(&geometry, 2);
    let set = open(&drives, &[]).unwrap();
    work(&set, &mut Oracle::new(len), 2).unwrap();
    let points = drives[1].points();
    drop(set);
    for point in 0..points {
        let drives = made(&geometry, 2);
        drives[1].files.fail_at(point);
        drives[1].table.fail_at(drives[1].table.points() + point);
        let mut oracle = Oracle::new(len);
        let set = match open(&drives, &[]) {
            Ok(set) => set,
            Err(error) => panic!("point {point}: {error}"),
        };
        work(&set, &mut oracle, 2).unwrap();
        assert_eq!(set.read(OBJECT, 0..len as u64).unwrap(), oracle.now, "point {point}");
        drop(set);
        drives.iter().for_each(SimDrive::power_cut);
        let set = open(&drives, &[]).unwrap();
        assert_eq!(set.read(OBJECT, 0..len as u64).unwrap(), oracle.now, "point {point}");
        while !set.rebuild_some(2).unwrap().done {}
        drop(set);
        // Any other may go now.
        for gone in [0, 2] {
            let without = open(&drives, &[gone]).unwrap();
            assert_eq!(without.read(OBJECT, 0..len as u64).unwrap(), oracle.now, "point {point}, without {gone}");
            while !without.rebuild_some(2).unwrap().done {}
            drop(without);
            let again = open(&drives, &[]).unwrap();
            while !again.rebuild_some(2).unwrap().done {}
        }
    }
}

/// Hosts without power, one after the other: a drive fails, and others go while that is written down or soon after, more of them than the level bears. With all drives
/// back the set starts, whenever that was.
#[test]
fn drives_that_go_one_after_the_other_come_back_together() {
    for (level, count, first, then) in [(Level::Raid6, 5, 1, vec![0, 2]), (Level::Raid5, 4, 2, vec![3])] {
        let geometry = Geometry::new(level, count, STRIP).unwrap();
        let len = geometry.stripe_bytes() * 3;
        let drives = made(&geometry, 3);
        let before = (drives[first].table.points(), drives[then[0]].table.points());
        let set = open(&drives, &[]).unwrap();
        work(&set, &mut Oracle::new(len), 3).unwrap();
        drop(set);
        let after = (drives[first].table.points(), drives[then[0]].table.points());
        let mut stopped = 0;
        for (point, other) in (before.0..after.0).flat_map(|one| (before.1..after.1).map(move |other| (one, other))) {
            let context = format!("RAID {level}, member {first} at {point}, {then:?} at {other}");
            let drives = made(&geometry, 3);
            drives[first].table.crash_at(point);
            then.iter().for_each(|at| drives[*at].table.crash_at(other));
            let mut oracle = Oracle::new(len);
            let worked = open(&drives, &[]).and_then(|set| work(&set, &mut oracle, 3));
            stopped += usize::from(worked.is_err());
            drives.iter().for_each(SimDrive::power_cut);
            let set = open(&drives, &[]).unwrap_or_else(|error| panic!("{context}: {error}"));
            let content = set.read(OBJECT, 0..len as u64).unwrap_or_else(|error| panic!("{context}: {error}"));
            oracle.check(&content, &context);
            assert_catches_up(&set, &content, &context);
        }
        assert!(stopped > 10, "RAID {level}: the set has stopped only {stopped} times");
    }
}
