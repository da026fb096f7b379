// SPDX-License-Identifier: Apache-2.0

//! Seeds that are always run, some fresh ones, and every broken rule.
//!
//! `NYALA_SIM_SEEDS` is the number of fresh seeds (default 60); their first is the second in which the test starts, so every run
//! looks somewhere else. A failure names its seed.

use nyala_sim::mutation::{ALL, ALL_OF_META};
use nyala_sim::{run, run_group};
use std::time::{SystemTime, UNIX_EPOCH};

fn all_clean(seeds: impl Iterator<Item = u64>) -> u64 {
    let mut answered = 0;
    for seed in seeds {
        match run(seed, None) {
            Ok(report) => answered += report.answered,
            Err(failure) => panic!("{failure}"),
        }
    }
    answered
}

/// Among them seeds that failed under the faults of their time; a new kind of fault makes other runs of all seeds.
#[test]
fn fixed_seeds_are_clean() {
    let answered = all_clean(
        [98, 300, 817, 951, 1051, 1476, 1678, 1955, 3357, 4794, 6998, 11668, 12879, 30758, 35524, 10438, 38849, 77215]
            .into_iter()
            .chain(0..100),
    );
    assert!(answered > 7_000, "only {answered} requests were answered: the simulation does nothing");
}

#[test]
fn fresh_seeds_are_clean() {
    let seeds = std::env::var("NYALA_SIM_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let first = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() * 1_000_000;
    all_clean(first..first + seeds);
}

#[test]
fn a_seed_is_one_run() {
    assert_eq!(run(7, None).unwrap(), run(7, None).unwrap());
}

/// A simulator that does not notice a broken rule shows nothing.
#[test]
fn every_broken_rule_is_noticed() {
    for (mutation, bound) in ALL {
        let caught = (0..*bound).find_map(|seed| run(seed, Some(*mutation)).err());
        let failure = caught.unwrap_or_else(|| panic!("{mutation:?} was not noticed in {bound} seeds"));
        assert!(failure.trace.contains("ms  "), "a failing seed has a trace");
    }
}

/// The same for mirror groups of metadata targets.
#[test]
fn metadata_groups_are_clean_and_their_broken_rules_noticed() {
    let second = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() * 1_000_000;
    let (mut answered, mut claims) = (0, 0);
    for seed in [27, 243, 414, 969, 1259].into_iter().chain(0..100).chain(second..second + 100) {
        match run_group(seed, None) {
            Ok(report) => (answered, claims) = (answered + report.answered, claims + report.claims),
            Err(failure) => panic!("{failure}"),
        }
    }
    assert!(claims > 200, "only {claims} new primaries said that nothing is lost");
    assert!(answered > 100_000, "only {answered} records were answered for: the simulation does nothing");
    assert_eq!(run_group(7, None).unwrap(), run_group(7, None).unwrap());
    for (mutation, bound) in ALL_OF_META {
        let caught = (0..*bound).find_map(|seed| run_group(seed, Some(*mutation)).err());
        assert!(caught.is_some(), "{mutation:?} was not noticed in {bound} seeds");
    }
}
