// SPDX-License-Identifier: Apache-2.0

//! The controller against a model of requests that suffer from copies.

mod model;

use model::{Load, Model, READS, WRITES};

#[test]
fn idle_goes_fast_and_load_slows_it_down_but_not_to_nothing() {
    let mut model = Model::new();
    assert!(!model.share.take(1, 2000), "there is nothing to copy");
    let idle = model.run(3000, &[]);
    assert!(idle.copied > 200.0, "{idle:?}");
    let any_is_too_much = Load { percent: 10_000, ..READS };
    model.run(1000, &[any_is_too_much]);
    let loaded = model.run(5000, &[any_is_too_much]);
    assert!(loaded.rates.0 < 16.0 && loaded.copied >= 6.0, "the minimum is kept: {loaded:?}");
    model.run(3000, &[Load { percent: 0, ..READS }]);
    let harmless = model.run(1000, &[Load { percent: 0, ..READS }]);
    assert!(harmless.copied > 200.0, "copies do no harm any more: {harmless:?}");
}

#[test]
fn requests_of_a_fraction_of_a_millisecond_are_protected() {
    for us in [100, 300, 700, 2000] {
        let load = Load { us, ..READS };
        let mut model = Model::new();
        let first = model.run(2000, &[load]);
        let seen = model.run(10_000, &[load]);
        println!("{us} us: {first:?}, {seen:?}");
        assert!(first.done[0] >= 80.0, "the search for a rate is short: {us} us: {first:?}");
        assert!(seen.done[0] >= 92.0, "{us} us: {seen:?}");
        // 8 % is what 13 MiB/s cost these.
        assert!((9.0..=20.0).contains(&seen.copied), "{us} us: {seen:?}");
    }
}

#[test]
fn reads_that_suffer_are_not_outweighed_by_writes_that_do_not() {
    let mut model = Model::new();
    model.run(2000, &[READS, WRITES]);
    let seen = model.run(10_000, &[READS, WRITES]);
    assert!(seen.done[0] >= 92.0, "{seen:?}");
}

#[test]
fn a_load_that_comes_finds_a_rate_near_what_is_copied() {
    let mut model = Model::new();
    let alone = model.run(5000, &[]);
    assert!(alone.rates.0 <= 2.0 * 320.0, "a limit far above what can be copied limits nothing: {alone:?}");
    model.run(1100, &[READS]);
    let soon = model.run(1000, &[READS]);
    assert!(soon.done[0] >= 80.0, "{soon:?}");
}

/// On average over many orders of chance: one of them says little about a rate that follows a few requests.
#[test]
fn a_few_requests_a_second_do_not_hold_it_at_the_minimum() {
    let copied = |seed: u64| {
        let mut model = Model::new();
        model.random = seed;
        let seldom = Load { clients: 1, us: 20_000, percent: 0, think_us: 280_000, ..READS };
        model.run(40_000, &[seldom]);
        model.run(20_000, &[seldom]).copied
    };
    let all: Vec<f64> = (1..=20).map(copied).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    println!("mean {mean:.0} MiB/s, {all:.0?}");
    assert!(mean >= 100.0, "mean {mean}: {all:?}");
}

/// Eight files a second, because each counts as a whole region, would let a resync last for hours.
#[test]
fn small_files_do_not_count_as_whole_regions() {
    let mut model = Model::new();
    model.size = 4096;
    let any_is_too_much = Load { percent: 1_000_000, ..READS };
    model.run(3000, &[any_is_too_much]);
    let seen = model.run(5000, &[any_is_too_much]);
    let files = seen.copied * 256.0;
    assert!((80.0..=200.0).contains(&files), "{files} files a second: {seen:?}");
}

/// Times vary by themselves, and nothing else; and a few outliers are no reason.
#[test]
fn chance_does_not_slow_it_down() {
    let mut model = Model::new();
    let harmless = Load { percent: 0, ..READS };
    model.run(3000, &[harmless, WRITES]);
    let seen = model.run(10_000, &[harmless, WRITES]);
    assert!(seen.copied >= 150.0, "{seen:?}");
}
