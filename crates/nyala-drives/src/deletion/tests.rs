// SPDX-License-Identifier: Apache-2.0

//! Crashes at every change of a directory whose drive goes, with any part of what was not synced lost, and what is not the set's.

use super::*;
use crate::claim::ClaimError;
use crate::claim::tests::{Names, ONE, SimDir, TWO, Thing};
use nyala_wire::SplitMix64;

/// A drive of set one: a member from the beginning, or one that was a spare.
fn drive(was_spare: bool) -> SimDir {
    let dir = SimDir::default();
    if was_spare {
        claim::take(&dir, ONE).unwrap();
    } else {
        dir.make_dir(OBJECTS).unwrap();
        dir.make_dir(TABLE).unwrap();
    }
    for strip in ["objects/07", "objects/a3"] {
        dir.put(strip, b"strips").unwrap();
    }
    dir.make_dir(TARGET).unwrap();
    dir.put("letter", b"dear").unwrap();
    dir.finish().unwrap();
    dir.sync().unwrap();
    dir
}

fn whole(dir: &SimDir) -> bool {
    dir.is_finished()
        && ["objects/07", "objects/a3", TARGET, OBJECTS].iter().all(|name| dir.now.borrow().contains_key(*name))
}

fn delete(dir: &SimDir) -> io::Result<()> {
    begin(dir, ONE)?;
    finish(dir, ONE)
}

/// All that others have put there.
fn only_the_letter(dir: &SimDir) -> bool {
    let letter = Names::from([("letter".to_owned(), Thing::File(b"dear".to_vec()))]);
    *dir.now.borrow() == letter && *dir.durable.borrow() == letter
}

#[test]
fn a_crash_at_any_change_leaves_a_whole_drive_or_one_that_goes_on_going() {
    let (mut crashes, mut untouched, mut half, mut done) = (0, 0, 0, 0);
    for (seed, was_spare) in (0..60).map(|seed| (seed, seed % 2 == 0)) {
        for steps in 0.. {
            let context = format!("seed {seed}, {steps} steps");
            let (dir, mut random) = (drive(was_spare), SplitMix64::new(seed * 1000 + u64::from(steps)));
            dir.left.set(Some(steps));
            if delete(&dir).is_ok() {
                assert!(only_the_letter(&dir), "{context}: {:?}", dir.now);
                break;
            }
            crashes += 1;
            dir.restart(&mut random);
            // A second crash, while it is deleted again.
            if steps % 2 == 0 {
                dir.left.set(Some(random.below(16) as u32));
                if of(&dir).unwrap().is_some() {
                    let _ = finish(&dir, ONE);
                } else if dir.is_finished() {
                    let _ = delete(&dir);
                }
                dir.restart(&mut random);
            }
            match of(&dir).unwrap() {
                None if only_the_letter(&dir) => done += 1,
                None => {
                    assert!(whole(&dir), "{context}: {:?}", dir.now);
                    untouched += 1;
                    delete(&dir).unwrap();
                }
                Some(set) => {
                    assert_eq!(set, ONE, "{context}");
                    half += 1;
                    assert!(claim::take(&dir, TWO).is_err(), "{context}: nobody takes it meanwhile");
                    assert!(begin(&dir, TWO).is_err() && finish(&dir, TWO).is_err(), "{context}: it is not theirs");
                    delete(&dir).unwrap_or_else(|error| panic!("{context}: {error}"));
                }
            }
            assert!(only_the_letter(&dir), "{context}: {:?}", dir.now);
        }
    }
    assert!(crashes > 400 && untouched > 50 && half > 150 && done > 5, "{crashes} {untouched} {half} {done}");
}

#[test]
fn what_is_among_strips_and_not_a_strip_stays_and_the_drive_with_it() {
    let dir = drive(true);
    dir.put("objects/letter", b"mine").unwrap();
    begin(&dir, ONE).unwrap();
    assert_eq!(finish(&dir, ONE).unwrap_err().kind(), io::ErrorKind::DirectoryNotEmpty);
    assert!(dir.now.borrow().contains_key("objects/letter") && of(&dir).unwrap() == Some(ONE));
    dir.remove("objects/letter").unwrap();
    finish(&dir, ONE).unwrap();
    assert!(only_the_letter(&dir));
    dir.remove("letter").unwrap();
    claim::take(&dir, TWO).unwrap();
}

#[test]
fn what_is_not_the_sets_is_left_alone() {
    let dir = drive(true);
    assert!(begin(&dir, TWO).is_err() && finish(&dir, ONE).is_err(), "it was not begun");
    assert!(whole(&dir) && of(&dir).unwrap().is_none());
    assert!(matches!(claim::take(&dir, TWO), Err(ClaimError::Taken)));
    dir.put(NAME, b"nonsense").unwrap();
    assert_eq!(begin(&dir, ONE).unwrap_err().kind(), io::ErrorKind::InvalidData, "damaged");
    assert!(whole(&dir));
}
