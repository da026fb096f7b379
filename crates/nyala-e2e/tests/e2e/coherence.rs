// SPDX-License-Identifier: Apache-2.0

//! Three mounts, each a client process of its own, are one file system: `nyala-e2e-coherence` says how that is checked.

use nyala_e2e::cluster::{sibling, text};
use nyala_e2e::run::{run, sh};
use nyala_e2e::{Mounts, beside_others, long, shared};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// A number for the short and one for the long form.
fn steps(short: u64, full: u64) -> String {
    if long() { full } else { short }.to_string()
}

/// Runs the checker over these directories.
#[track_caller]
fn check(args: &[&str], dirs: &[PathBuf]) {
    let mut command = Command::new(sibling("nyala-e2e-coherence"));
    command.args(args).args(dirs);
    run(&mut command, Duration::from_secs(if long() { 1800 } else { 120 })).must();
}

/// Runs tests of the checker, each with a directory of its own, over so many mounts.
#[track_caller]
fn over(mounts: usize, name: &str, tests: &[&[&str]]) {
    let _one = beside_others();
    let cluster = shared();
    let mounts = Mounts::new(&cluster, mounts, "");
    for (number, args) in tests.iter().enumerate() {
        let dirs = mounts.test_dirs(&format!("{name}{number}"));
        check(args, &dirs);
        sh(&format!("rm -r '{}'", text(&dirs[0])), Duration::from_secs(120)).must();
    }
}

#[test]
fn e2e_coherence_registers_are_never_stale() {
    let steps = steps(400, 30_000);
    let test = |size, order| ["registers", &steps, size, order].map(str::to_owned);
    let all = ["turns", "together"].map(|order| [test("small", order), test("large", order)]);
    let all = all.concat();
    let all: Vec<Vec<&str>> = all.iter().map(|args| args.iter().map(String::as_str).collect()).collect();
    over(3, "registers", &all.iter().map(Vec::as_slice).collect::<Vec<_>>());
}

#[test]
fn e2e_coherence_every_operation_is_seen_at_once() {
    let seeds: Vec<String> = (1..=if long() { 5 } else { 3 }).map(|seed: u64| seed.to_string()).collect();
    let steps = steps(1_500, 20_000);
    let mut tests: Vec<[&str; 3]> = seeds.iter().map(|seed| ["model", seed, &steps]).collect();
    // A name that was renamed outlasted its delegation: in four of ten runs before that was mended.
    tests.push(["model", "502", "6000"]);
    over(3, "model", &tests.iter().map(<[&str; 3]>::as_slice).collect::<Vec<_>>());
}

#[test]
fn e2e_coherence_small_files_of_tasks_at_once() {
    let steps = steps(3_000, 100_000);
    // A file that was linked right after its close was empty from then on, one in some hundred.
    over(1, "own", &[&["own", "4", &steps], &["own", "6", &steps]]);
    over(2, "shared", &[&["own", "7", &steps[..steps.len() - 1]]]);
}

#[test]
fn e2e_coherence_one_wins_every_race_for_a_name() {
    over(3, "winners", &[&["winners", &steps(80, 2_000)]]);
}

#[test]
fn e2e_coherence_appends_are_whole_and_none_is_lost() {
    over(3, "appends", &[&["appends", &steps(1_200, 60_000)]]);
}

#[test]
fn e2e_coherence_locked_counters_lose_nothing() {
    let rounds = steps(300, 10_000);
    over(
        3,
        "counters",
        &[&["counters", &rounds, "flock"], &["counters", &rounds, "fcntl"], &["counters", &rounds, "ofd"]],
    );
}

#[test]
fn e2e_coherence_disjoint_ranges_lose_nothing() {
    over(3, "shuffle", &[&["shuffle", "1", &steps(3, 60)], &["shuffle", "2", &steps(2, 60)]]);
}

#[test]
fn e2e_coherence_interleaved_records_verify() {
    let segments = steps(12, 400);
    over(2, "ior", &[&["ior", &segments, "direct"], &["ior", &segments, "cached"]]);
    // What goes wrong when two begin at once goes wrong once in ten or twenty times.
    let few = ["ior", "2", "cached"];
    let headed = ["ior", "2", "headed"];
    let rounds: Vec<&[&str]> =
        [&few[..], &headed[..]].into_iter().cycle().take(if long() { 400 } else { 60 }).collect();
    over(2, "ior-begins", &rounds);
}
