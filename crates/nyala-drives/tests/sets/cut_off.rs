// SPDX-License-Identifier: Apache-2.0

//! A change of state that reached one drive only before the power went, which is then away when the set starts again.

use crate::common::SimDrive;
use crate::crash::{OBJECT, Oracle, STRIP, assert_catches_up, made, open, work};
use nyala_drives::DriveSet;
use nyala_raid::member::MemberState;
use nyala_raid::{Geometry, Level};

/// All are without power, after drive 1 has failed at a point of its table and all others but the last at a point of theirs. Gives the drives, what was written, and whether
/// the last one has a newer superblock than all others.
fn cut_off(geometry: &Geometry, one: u64, others: u64) -> (Vec<SimDrive>, Oracle, bool) {
    let drives = made(geometry, 3);
    drives[1].table.crash_at(one);
    [0, 2, 3].iter().for_each(|at: &usize| drives[*at].table.crash_at(others));
    let mut oracle = Oracle::new(geometry.stripe_bytes() * 3);
    let _ = open(&drives, &[]).and_then(|set| work(&set, &mut oracle, 3));
    drives.iter().for_each(SimDrive::power_cut);
    let generation = |drive: &SimDrive| drive.open().unwrap().superblock().unwrap().unwrap().generation;
    let newest = drives[..4].iter().map(generation).max().unwrap();
    let ahead = generation(&drives[4]) > newest;
    (drives, oracle, ahead)
}

fn all_catch_up(set: &DriveSet, content: &[u8], context: &str) {
    assert_catches_up(set, content, context);
    assert!(set.members().iter().all(|member| member.state == MemberState::Good), "{context}");
}

#[test]
fn what_only_a_drive_knows_that_was_away_does_not_hold() {
    let geometry = Geometry::new(Level::Raid6, 5, STRIP).unwrap();
    let len = geometry.stripe_bytes() as u64 * 3;
    let drives = made(&geometry, 3);
    let before = drives[0].table.points();
    let set = open(&drives, &[]).unwrap();
    work(&set, &mut Oracle::new(len as usize), 3).unwrap();
    drop(set);
    let after = drives[0].table.points();
    let (mut seen, mut running) = (0, 0);
    for (one, others) in (before..after).flat_map(|one| (one..after).map(move |others| (one, others))) {
        let context = format!("member 1 at {one}, others at {others}");
        let (drives, oracle, ahead) = cut_off(&geometry, one, others);
        if !ahead {
            continue;
        }
        seen += 1;
        let set = open(&drives, &[4]).unwrap_or_else(|error| panic!("{context}: {error}"));
        let content = set.read(OBJECT, 0..len).unwrap_or_else(|error| panic!("{context}: {error}"));
        oracle.check(&content, &context);
        let mut oracle = Oracle::new(len as usize);
        oracle.now.copy_from_slice(&content);
        oracle.write(&set, 100, vec![seen as u8; 5000]).unwrap();
        oracle.write(&set, geometry.stripe_bytes(), vec![9; 300]).unwrap();
        oracle.sync(&set).unwrap();
        // It comes back to the set that is in use where a start leaves out generations, and else to one that starts.
        if set.returned(drives[4].open().unwrap()).is_ok() {
            running += 1;
            all_catch_up(&set, &oracle.now, &context);
        }
        drop(set);
        drives.iter().for_each(SimDrive::power_cut);
        let set = open(&drives, &[]).unwrap_or_else(|error| panic!("{context}: {error}"));
        assert!(set.read(OBJECT, 0..len).unwrap() == oracle.now, "{context}");
        all_catch_up(&set, &oracle.now, &context);
    }
    println!("seen {seen} times, came back to a running set {running} times");
    assert!(seen > 10 && running > 0 && running < seen, "only {seen} times, {running}");
}
