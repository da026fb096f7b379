// SPDX-License-Identifier: Apache-2.0

//! Bits that flip, and drives that forget.

use crate::geometries;
use crate::set::{OBJECT, STRIP, Set};
use nyala_raid::{Geometry, Level, StripeId, Use, key};
use nyala_wire::SplitMix64;

fn written(geometry: Geometry, seed: u64) -> Set {
    let mut random = SplitMix64::new(seed);
    let mut set = Set::new(geometry, seed, 6);
    let bytes: Vec<u8> = (0..set.now.len()).map(|_| random.bits() as u8).collect();
    assert!(set.write(0, &bytes).is_ok());
    assert!(set.checkpoint().is_ok());
    set
}

fn scrub(set: &mut Set) {
    for number in 0..6 {
        assert!(set.repair(StripeId { object: OBJECT, number }, vec![]).is_ok());
    }
}

#[test]
fn a_flipped_bit_is_found_healed_and_counted_by_scrub() {
    for (at, geometry) in geometries().into_iter().enumerate().filter(|(_, geometry)| geometry.parity() > 0) {
        for seed in 0..20 {
            let mut set = written(geometry.clone(), seed);
            let mut random = SplitMix64::new(seed);
            // As many drives of each group as it can bear.
            let mut flipped = 0;
            for group in 0..geometry.groups() {
                for member in geometry.members(group).take(geometry.parity()) {
                    flipped += usize::from(set.io.drives[member].flip(&mut random));
                }
            }
            scrub(&mut set);
            assert_eq!(set.damage, flipped, "level {at}, seed {seed}");
            scrub(&mut set);
            assert_eq!(set.damage, flipped, "all was healed: level {at}, seed {seed}");
            set.assert_readable_with_any_loss("healed");
        }
    }
}

#[test]
fn a_flipped_bit_is_never_returned_and_a_read_heals_it() {
    for (at, geometry) in geometries().into_iter().enumerate() {
        let mut set = written(geometry.clone(), 1);
        let flipped = set.io.drives[0].flip(&mut SplitMix64::new(at as u64));
        assert!(flipped);
        let now = set.now.clone();
        match set.read(0..now.len()) {
            Ok(read) => assert_eq!(read, now),
            Err(_) => assert_eq!(geometry.parity(), 0, "level {at}"),
        }
    }
}

#[test]
fn a_drive_that_forgot_a_write_is_found_by_its_versions() {
    let geometry = Geometry::new(Level::Raid6, 6, STRIP).unwrap();
    for member in 0..6 {
        let mut set = written(geometry.clone(), 3);
        let before = set.io.drives[member].clone();
        assert!(set.write(100, &[1; 40_000]).is_ok());
        assert!(set.checkpoint().is_ok());
        set.io.drives[member] = before;
        let now = set.now.clone();
        assert_eq!(set.read(0..now.len()).unwrap(), now, "without {member}'s memory");
        // Writing needs parity that is of today.
        assert!(set.write(5000, &[2; 3000]).is_ok());
        scrub(&mut set);
        assert!(set.damage > 0);
        set.assert_readable_with_any_loss(&format!("{member} knows again"));
    }
}

#[test]
fn what_members_missed_is_known_to_as_many_as_can_be_lost() {
    let mut set = written(Geometry::new(Level::Raid6, 6, STRIP).unwrap(), 4);
    set.uses[1] = Use::Stale;
    assert!(set.write(0, &[1; 3 * STRIP]).is_ok());
    let stripe = StripeId { object: OBJECT, number: 0 };
    let knows = |drive: usize| !set.io.drives[drive].keys(&key::dirty(1, stripe)).is_empty();
    // One more may be lost: two have to know.
    assert!((0..6).filter(|drive| knows(*drive)).count() >= 2);
}
