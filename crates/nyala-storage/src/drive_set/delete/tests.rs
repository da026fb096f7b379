// SPDX-License-Identifier: Apache-2.0

//! What goes with a set, and what does not.

use super::*;
use crate::drive_set::seen;
use crate::drive_set::{make, open};
use nyala_drives::{Drive, claimed_by, is_empty, take_drive};
use nyala_raid::member::{DriveId, Member, MemberState};
use nyala_raid::superblock::Superblock;
use nyala_raid::{Effect, Geometry, Level, key};
use std::path::{Path, PathBuf};

struct Site(tempfile::TempDir);

impl Site {
    fn dir(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Directories that are there.
    fn made(&self, names: &[&str]) -> Vec<PathBuf> {
        let dirs: Vec<PathBuf> = names.iter().map(|name| self.dir(name)).collect();
        dirs.iter().for_each(|dir| std::fs::create_dir(dir).unwrap());
        dirs
    }
}

fn site() -> Site {
    Site(tempfile::tempdir().unwrap())
}

fn spec(drives: &[PathBuf], spares: &[PathBuf]) -> SetSpec {
    let locations = |dirs: &[PathBuf]| dirs.iter().cloned().map(DriveLocation::from).collect();
    SetSpec { drives: locations(drives), spares: locations(spares), level: Some(Level::Raid5), ..SetSpec::default() }
}

fn set_of(drive: &Path) -> SetId {
    Drive::open(drive, false).unwrap().superblock().unwrap().unwrap().set
}

fn outcomes(deletion: &Deletion) -> Vec<DriveOutcome> {
    deletion.drives().map(|(_, outcome)| outcome.clone()).collect()
}

#[test]
fn spares_are_given_back_and_those_of_other_sets_stay() {
    let site = site();
    let (one, other) = (site.made(&["a", "b", "c"]), site.made(&["d", "e", "f"]));
    [&one, &other].into_iter().for_each(|drives| make(&spec(drives, &[]), None).unwrap());
    let (ours, theirs) = (set_of(&one[0]), set_of(&other[0]));
    let spares = site.made(&["mine", "theirs", "free"]);
    spares.iter().zip([ours, theirs]).for_each(|(spare, set)| drop(take_drive(spare, set).unwrap()));
    let deletion = Deletion::of(&spec(&one, &spares), None).unwrap();
    let whole = [DriveOutcome::Goes, DriveOutcome::Goes, DriveOutcome::Goes, DriveOutcome::Rest];
    assert_eq!(outcomes(&deletion)[..4], whole);
    assert!(
        matches!(&outcomes(&deletion)[4..], [DriveOutcome::Stays(_), DriveOutcome::Empty]),
        "{:?}",
        outcomes(&deletion)
    );
    assert_eq!((deletion.level.as_deref(), deletion.absent), (Some("5"), 0));
    let used = open(&spec(&one, &[]), None).err().unwrap().to_string();
    assert!(used.contains("locked") || used.contains("in use"), "nobody starts it meanwhile: {used}");
    deletion.run().unwrap();
    assert!(one.iter().chain(&spares[..1]).all(|dir| is_empty(dir)));
    drop(take_drive(&spares[0], theirs).expect("another set takes it"));
    assert_eq!(claimed_by(&spares[1]).unwrap(), Some(theirs));
    open(&spec(&other, &[]), None).expect("it is whole");
}

#[test]
fn a_drive_that_is_away_goes_later_and_alone() {
    let site = site();
    let drives = site.made(&["a", "b", "c"]);
    make(&spec(&drives, &[]), None).unwrap();
    std::fs::rename(&drives[1], site.dir("away")).unwrap();
    let deletion = Deletion::of(&spec(&drives, &[]), None).unwrap();
    assert!(matches!(&outcomes(&deletion)[1], DriveOutcome::Stays(_)));
    assert_eq!(deletion.absent, 1);
    deletion.run().unwrap();
    std::fs::rename(site.dir("away"), &drives[1]).unwrap();
    let deletion = Deletion::of(&spec(&drives[1..2], &[]), None).unwrap();
    assert_eq!((outcomes(&deletion), deletion.absent), (vec![DriveOutcome::Goes], 2));
    deletion.run().unwrap();
    make(&spec(&drives, &[]), None).unwrap();
    let set = open(&spec(&drives, &[]), None).expect("a new set of the same drives").set;
    assert!(set.members().iter().all(|member| member.is_held));
}

#[test]
fn nothing_goes_unless_all_can_and_what_was_begun_goes_on() {
    let site = site();
    let (one, other) = (site.made(&["a", "b", "c"]), site.made(&["d", "e", "f"]));
    [&one, &other].into_iter().for_each(|drives| make(&spec(drives, &[]), None).unwrap());
    let mixed = Deletion::of(&spec(&[one[0].clone(), other[0].clone()], &[]), None).err().unwrap().to_string();
    assert!(mixed.contains("two sets"), "{mixed}");
    let used = Drive::open(&one[2], false).unwrap();
    assert!(matches!(Deletion::of(&spec(&one, &[]), None), Err(StorageError::SetInUse(_))));
    drop(used);
    open(&spec(&one, &[]), None).expect("it is whole");
    // A deletion that ended when all knew that they go, and one drive was empty.
    let set = set_of(&one[0]);
    let going: Vec<DriveDeletion> = one.iter().map(|dir| DriveDeletion::of(dir).unwrap()).collect();
    going.iter().for_each(|drive| drive.begin(set).unwrap());
    going.into_iter().take(1).for_each(|drive| drive.finish(set).unwrap());
    let started = open(&spec(&one, &[]), None).err().unwrap().to_string();
    assert!(started.contains("none of the drives"), "it does not run with what is left: {started}");
    let refused = make(&spec(&one, &[]), None).unwrap_err().to_string();
    assert!(refused.contains("not empty"), "{refused}");
    let deletion = Deletion::of(&spec(&one, &[]), None).unwrap();
    assert_eq!(outcomes(&deletion), [DriveOutcome::Empty, DriveOutcome::Rest, DriveOutcome::Rest]);
    deletion.run().unwrap();
    assert!(one.iter().all(|dir| is_empty(dir)));
}

/// The making of a set ends when so many of its drives have a superblock.
fn cut_off(drives: &[PathBuf], with: usize) -> SetId {
    let made: Vec<Drive> = drives.iter().map(|dir| Drive::open(dir, true).unwrap()).collect();
    let whole = Geometry::new(Level::Raid5, drives.len(), 65536).unwrap();
    let ids: Vec<DriveId> = (0..drives.len()).map(|at| DriveId(at as u128 + 1)).collect();
    let set = SetId(0x4a1f);
    for (drive, id) in made.iter().zip(&ids).take(with) {
        let members = ids.iter().map(|drive| Member { drive: *drive, state: MemberState::Good }).collect();
        let superblock = Superblock { set, generation: 1, geometry: whole.clone(), members, drive: *id };
        let mut batch = nyala_store::Batch::new();
        batch.put(key::SUPERBLOCK, superblock.encode());
        drive.run(Effect::Apply { member: 0, batch, sync: true });
    }
    set
}

#[test]
fn a_set_whose_making_was_cut_off_is_made_again() {
    for with in 0..=3 {
        let site = site();
        let drives = site.made(&["a", "b", "c"]);
        let begun = cut_off(&drives, with);
        make(&spec(&drives, &[]), None).unwrap_or_else(|error| panic!("{with}: {error}"));
        let made = open(&spec(&drives, &[]), None).expect("a set").set;
        assert!(made.superblock().set != begun && made.members().iter().all(|member| member.is_held));
    }
}

#[test]
fn a_drive_that_was_away_when_a_cut_off_set_was_made_again_stops_nobody() {
    let site = site();
    let drives = site.made(&["a", "b", "c"]);
    let begun = cut_off(&drives, 1);
    // The only one that knows of the first set is not mounted: an empty directory is in its place.
    std::fs::rename(&drives[0], site.dir("away")).unwrap();
    std::fs::create_dir(&drives[0]).unwrap();
    make(&spec(&drives, &[]), None).unwrap();
    std::fs::rename(&drives[0], site.dir("in its place")).unwrap();
    std::fs::rename(site.dir("away"), &drives[0]).unwrap();
    let opened = open(&spec(&drives, &[]), None).expect("it is left aside");
    let held: Vec<bool> = opened.set.members().iter().map(|member| member.is_held).collect();
    assert_eq!(held, [false, true, true]);
    assert_ne!(opened.set.superblock().set, begun);
    drop(opened);
    let why = seen::look(&spec(&drives, &[]), &Reach::of(&spec(&drives, &[]), None).unwrap()).unwrap().missing;
    let command = format!("nyala raid delete {} --yes", drives[0].display());
    assert!(why.iter().any(|why| why.contains(&command)), "{why:?}");
    // What it says is what helps.
    Deletion::of(&spec(&drives[..1], &[]), None).unwrap().run().unwrap();
    assert!(is_empty(&drives[0]));
}

#[test]
fn a_drive_of_a_whole_set_is_neither_made_again_nor_left_aside() {
    let site = site();
    let (one, other) = (site.made(&["a", "b", "c"]), site.made(&["d", "e", "f"]));
    [&one, &other].into_iter().for_each(|drives| make(&spec(drives, &[]), None).unwrap());
    let mixed = [one[0].clone(), one[1].clone(), other[2].clone()];
    let refused = open(&spec(&mixed, &[]), None).err().unwrap().to_string();
    assert!(refused.contains("two sets"), "{refused}");
    let empty = site.made(&["g", "h"]);
    let refused =
        make(&spec(&[one[0].clone(), empty[0].clone(), empty[1].clone()], &[]), None).unwrap_err().to_string();
    assert!(refused.contains(&format!("nyala raid delete {}", one[0].display())), "{refused}");
    assert!(empty.iter().all(|dir| is_empty(dir)), "nothing was begun");
    open(&spec(&one, &[]), None).expect("it is whole");
}
