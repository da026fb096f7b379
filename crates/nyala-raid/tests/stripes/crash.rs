// SPDX-License-Identifier: Apache-2.0

//! Crashes at every effect: of the process, and of the machine with what was not synced, with drives that never come back.

use crate::geometries;
use crate::set::{STRIP, Set, Stop};
use nyala_raid::{Geometry, Use};
use nyala_wire::SplitMix64;

/// Writes of all kinds: new stripes, open ones, small and whole overwrites, removal and what comes after it.
fn work(set: &mut Set, seed: u64) -> Result<(), Stop> {
    let mut random = SplitMix64::new(seed);
    let len = set.now.len();
    let stripe = set.geometry().stripe_bytes();
    let mut write = |set: &mut Set, offset: usize, len: usize| {
        let byte = random.bits() as u8;
        let bytes: Vec<u8> = (0..len).map(|at| byte.wrapping_add(at as u8)).collect();
        set.write(offset, &bytes)
    };
    write(set, 0, stripe)?;
    write(set, stripe + 100, 5000)?;
    set.checkpoint()?;
    write(set, 4096, 4096)?;
    write(set, stripe + 9, 3)?;
    write(set, len - stripe - 500, 1000)?;
    write(set, 0, stripe + 10)?;
    write(set, len - 700, 600)?;
    if seed.is_multiple_of(2) {
        set.discard(1)?;
        write(set, stripe + 4000, 200)?;
        write(set, stripe + 4100, 2 * STRIP.min(stripe - 4100))?;
    }
    set.checkpoint()?;
    write(set, 5, 4096)?;
    write(set, stripe + 1, 90)?;
    Ok(())
}

/// Members that a set can lose, chosen by chance: none, some or as many as it can bear.
fn losses(geometry: &Geometry, random: &mut SplitMix64) -> Vec<usize> {
    let mut lost = Vec::new();
    for group in 0..geometry.groups() {
        for _ in 0..random.below(geometry.parity() as u64 + 1) {
            lost.push(geometry.members(group).start + random.below(geometry.width() as u64) as usize);
        }
    }
    lost.sort_unstable();
    lost.dedup();
    lost
}

fn points(geometry: &Geometry, seed: u64) -> u64 {
    let mut set = Set::new(geometry.clone(), seed, 4);
    assert!(work(&mut set, seed).is_ok());
    set.io.steps
}

#[test]
fn power_cuts_at_every_effect_with_losses_at_the_same_time() {
    for (at, geometry) in geometries().into_iter().enumerate() {
        for seed in 0..4 {
            // Each seed has a third of the points, of which all have all.
            for point in (seed % 3..points(&geometry, seed)).step_by(3) {
                let context = format!("level {at}, seed {seed}, point {point}");
                let mut set = Set::new(geometry.clone(), seed + point, 4);
                let mut random = SplitMix64::new(seed * 1000 + point);
                if seed == 3 && geometry.parity() > 0 {
                    // One is missing from the start.
                    set.uses[random.below(geometry.drives() as u64) as usize] = Use::Stale;
                }
                set.io.left = Some(point);
                assert!(matches!(work(&mut set, seed), Err(Stop::Down)) || seed == 3, "{context}");
                set.io.cut_power();
                if seed < 3 {
                    losses(&geometry, &mut random).into_iter().for_each(|member| set.uses[member] = Use::Stale);
                }
                // A second crash, in the middle of the recovery.
                let again = random.below(12);
                set.io.left = Some(again);
                let recovery = set.volume.recover(vec![], set.use_of());
                let _ = crate::set::finish(&mut set.io, recovery);
                set.io.cut_power();
                set.recover().unwrap_or_else(|error| panic!("{context}: {error}"));
                set.adopt(&context);
                set.assert_readable_with_some_losses(&context);
                // And it goes on.
                work(&mut set, seed + 1).unwrap_or_else(|error| panic!("{context}: {error:?}"));
                set.assert_readable_with_some_losses(&context);
            }
        }
    }
}

#[test]
fn the_death_of_the_process_loses_nothing_that_was_acknowledged() {
    for (at, geometry) in geometries().into_iter().enumerate() {
        for seed in 0..2 {
            for point in (seed..points(&geometry, seed)).step_by(2) {
                let context = format!("level {at}, seed {seed}, point {point}");
                let mut set = Set::new(geometry.clone(), seed + point, 4);
                set.io.left = Some(point);
                assert!(matches!(work(&mut set, seed), Err(Stop::Down)), "{context}");
                let under_way = set.under_way();
                set.recover().unwrap_or_else(|error| panic!("{context}: {error}"));
                let content = set.read(0..set.now.len()).unwrap();
                for (at, (byte, acknowledged)) in content.iter().zip(&set.now).enumerate() {
                    let new = under_way.as_ref().and_then(|(offset, bytes)| bytes.get(at.checked_sub(*offset)?));
                    assert!(byte == acknowledged || Some(byte) == new, "{context}: byte {at}");
                }
                set.now = content;
                set.assert_readable_with_some_losses(&context);
            }
        }
    }
}

#[test]
fn a_member_that_was_away_during_crashes_gets_what_it_missed() {
    for (at, geometry) in geometries().into_iter().enumerate().filter(|(_, geometry)| geometry.parity() > 0) {
        for seed in 0..2 {
            for point in (0..points(&geometry, seed)).step_by(7) {
                let context = format!("level {at}, seed {seed}, point {point}");
                let mut set = Set::new(geometry.clone(), seed + point, 4);
                set.io.left = Some(point);
                assert!(matches!(work(&mut set, seed), Err(Stop::Down)), "{context}");
                set.io.cut_power();
                let away = SplitMix64::new(point).below(geometry.drives() as u64) as usize;
                set.uses[away] = Use::Stale;
                set.recover().unwrap_or_else(|error| panic!("{context}: {error}"));
                set.adopt(&context);
                work(&mut set, seed + 1).unwrap_or_else(|error| panic!("{context}: {error:?}"));
                set.come_back(away).unwrap_or_else(|error| panic!("{context}: {error:?}"));
                set.assert_readable_with_some_losses(&context);
            }
        }
    }
}
