// SPDX-License-Identifier: Apache-2.0

//! Without accidents, and with drives that fail, come back and are replaced.

use crate::geometries;
use crate::set::{STRIP, Set};
use nyala_raid::{Geometry, Level, Use};
use nyala_wire::SplitMix64;

fn content(random: &mut SplitMix64, len: usize) -> Vec<u8> {
    (0..len).map(|_| random.bits() as u8).collect()
}

fn random_write(set: &mut Set, random: &mut SplitMix64) {
    let offset = random.below(set.now.len() as u64) as usize;
    let longest = (set.now.len() - offset).min(3 * STRIP);
    let len = 1 + random.below(longest as u64) as usize;
    let bytes = content(random, len);
    set.write(offset, &bytes).unwrap();
}

#[test]
fn every_level_holds_what_was_written_whatever_is_lost() {
    for (at, geometry) in geometries().into_iter().enumerate() {
        let mut random = SplitMix64::new(at as u64);
        let mut set = Set::new(geometry, at as u64, 5);
        for step in 0..40 {
            random_write(&mut set, &mut random);
            if step % 9 == 5 {
                assert!(set.discard(random.below(5)).is_ok());
            }
            if step % 7 == 3 {
                set.checkpoint().unwrap();
            }
            let now = set.now.clone();
            assert_eq!(set.read(0..now.len()).unwrap(), now, "level {at}, step {step}");
        }
        set.assert_readable_with_any_loss(&format!("level {at}"));
        assert_eq!(set.damage, 0);
    }
}

#[test]
fn drives_fail_come_back_and_are_replaced_while_writes_go_on() {
    for (at, geometry) in geometries().into_iter().enumerate().filter(|(_, geometry)| geometry.parity() > 0) {
        for seed in 0..3 {
            let mut random = SplitMix64::new(seed);
            let mut set = Set::new(geometry.clone(), seed, 6);
            for round in 0..6 {
                (0..4).for_each(|_| random_write(&mut set, &mut random));
                let member = random.below(geometry.drives() as u64) as usize;
                set.io.drives[member].dead = true;
                for step in 0..6 {
                    random_write(&mut set, &mut random);
                    if step == 3 {
                        set.discard(random.below(6)).unwrap();
                    }
                    if random.coin() {
                        set.checkpoint().unwrap();
                    }
                }
                set.assert_readable_with_any_loss(&format!("level {at}, seed {seed}, round {round}: without {member}"));
                let replaced = random.coin();
                set.io.drives[member].dead = false;
                if replaced {
                    set.io.drives[member] = Default::default();
                }
                // It may have been too quiet for anybody to notice.
                if set.uses[member] == Use::Stale || replaced {
                    set.uses[member] = Use::Stale;
                    set.rebuild(member, replaced).unwrap();
                }
                let context = format!("level {at}, seed {seed}, round {round}: {member} is back, new: {replaced}");
                set.assert_readable_with_any_loss(&context);
            }
        }
    }
}

#[test]
fn a_full_stripe_costs_no_read_and_a_new_one_no_log() {
    let geometry = Geometry::new(Level::Raid6, 10, 16 * STRIP).unwrap();
    let stripe = geometry.stripe_bytes();
    let mut set = Set::new(geometry, 1, 2);
    assert!(set.write(0, &vec![7; stripe]).is_ok());
    assert_eq!((set.io.reads, set.logged_bytes), (0, 0));
    assert!(set.write(stripe, &[7; 100]).is_ok());
    assert_eq!((set.io.reads, set.logged_bytes), (0, 0), "nor does a part of a new one");
    set.checkpoint().unwrap();
    assert!(set.write(0, &vec![8; stripe]).is_ok());
    assert_eq!((set.io.reads, set.logged_bytes as usize), (0, stripe + stripe / 8 * 2));
    set.logged_bytes = 0;
    assert!(set.write(4096, &[9; 4096]).is_ok());
    assert_eq!((set.io.reads, set.logged_bytes), (3, 3 * 4096), "old block, P and Q");
}

#[test]
fn a_slow_or_late_drive_is_read_around() {
    let geometry = Geometry::new(Level::Raid6, 6, STRIP).unwrap();
    let mut set = Set::new(geometry, 1, 6);
    let len = set.now.len();
    let bytes = content(&mut SplitMix64::new(5), len);
    assert!(set.write(0, &bytes).is_ok());
    set.io.drives[2].late = true;
    assert_eq!(set.read(0..len).unwrap(), bytes);
    assert_eq!(set.damage, 0, "late is not wrong");
    set.io.drives[2].late = false;
    set.uses[2] = Use::Slow;
    assert_eq!(set.read(0..len).unwrap(), bytes);
    // Even a slow drive is read if there is no other way.
    set.uses[0] = Use::Stale;
    set.uses[1] = Use::Stale;
    assert_eq!(set.read(0..len).unwrap(), bytes);
    // So are those that are late, be it all of them: a set under load has lost nothing.
    set.uses[2] = Use::Good;
    set.io.drives.iter_mut().for_each(|drive| drive.late = true);
    assert_eq!(set.read(0..len).unwrap(), bytes);
    assert_eq!(set.damage, 0);
    assert!(set.write(4096, &[9; 4096]).is_ok());
}
