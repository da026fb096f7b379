// SPDX-License-Identifier: Apache-2.0

//! Rounds of known figures.

use super::compare::{Cost, compare};
use super::document::document;
use super::placement::Placement;
use crate::ratio::Ratio;

const GIB: u64 = 1 << 30;

fn cost(placement: Placement, write_us: u64, read_us: u64, disk_bytes: u64) -> Cost {
    Cost { placement, bytes: GIB, write_us, read_us, disk_bytes }
}

#[test]
fn each_is_held_against_the_same_without_parity_of_its_round() {
    let round = |times: u64| {
        vec![
            cost(Placement::Striped, 1_000_000 * times, 500_000, GIB),
            cost(Placement::Coded, 1_400_000 * times, 600_000, GIB / 4 * 5),
            cost(Placement::PlainSet, 2_000_000, 1_000_000, GIB),
            cost(Placement::ParitySet, 4_000_000 * times, 1_000_000, GIB * 2),
        ]
    };
    let found = compare(&[round(1), round(3)]);
    let [striped, coded, _, set] = &found.placements[..] else { panic!("{found:?}") };
    assert_eq!((striped.write_s_per_gib, striped.write, striped.read_s_per_gib), (2.0, None, 0.5));
    assert_eq!(coded.write, Some(Ratio { median: 1.4, least: 1.4, most: 1.4 }));
    assert_eq!(set.write, Some(Ratio { median: 4.0, least: 2.0, most: 6.0 }));
    let ok: Vec<bool> = found.aims.iter().map(|aim| aim.ok).collect();
    assert_eq!(ok, [true, false, true, false, true, false], "{:?}", found.aims);
    let text = document(&found).plain();
    assert!(text.contains("ec 8+2") && text.contains("MISS"), "{text}");
}

#[test]
fn what_was_not_written_is_said() {
    let found =
        compare(&[vec![cost(Placement::Striped, 1, 1, 1), Cost { bytes: 0, ..cost(Placement::Coded, 1, 1, 1) }]]);
    assert_eq!(found.placements.len(), 1);
    assert!(found.aims.iter().all(|aim| !aim.ok && aim.why.is_some()), "{:?}", found.aims);
}
