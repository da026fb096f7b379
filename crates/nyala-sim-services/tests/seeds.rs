// SPDX-License-Identifier: Apache-2.0

//! The simulated kernel is like the real one where it matters, a seed is one run, and seeds are clean.
//!
//! `NYALA_SIM_SEEDS` is how many are run (default: up to 40, as many as there is time for). A failure names its seed: `nyala-sim-services --one SEED` repeats it.

use std::process::{Command, Output};

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_nyala-sim-services"))
}

fn simulator(words: &[&str]) -> Output {
    program().args(words).output().unwrap()
}

fn text(output: &Output) -> String {
    [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat()
}

#[test]
fn a_program_sees_the_same_on_both_kernels() {
    let [real, simulated] = ["real", "simulated"].map(|kernel| text(&simulator(&["--conform", kernel])));
    assert!(real.lines().count() >= 15, "little was looked at:\n{real}");
    assert_eq!(real, simulated);
}

/// The last line: simulated time, turns, events and the number that stands for all of them; real time is left out.
fn trace(seed: &str) -> String {
    end_of(program().args(["--one", seed]))
}

fn end_of(run: &mut Command) -> String {
    let output = text(&run.output().unwrap());
    let end = output.lines().last().unwrap_or_default().to_owned();
    assert!(end.starts_with("END "), "the run did not end:\n{output}");
    end.split(", ").filter(|part| !part.ends_with(" ms")).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_seed_is_one_run() {
    let [first, second] = [trace("7"), trace("7")];
    assert_eq!(first, second);
    assert_ne!(first, trace("8"), "all seeds are one");
}

/// Whether one real thread runs all threads or each its own, they do the same in the same order.
#[test]
fn a_run_is_the_same_on_one_real_thread_and_on_many() {
    let words = ["--one", "8", "--no-faults"];
    let many = end_of(program().args(words).env("SIM_REAL_THREADS", "1"));
    assert_eq!(end_of(program().args(words)), many);
}

/// Time for seeds, where nobody says how many; those that are under way then still end.
const SECONDS: &str = "50";

/// The same seeds each time: a rare finding of a seed that nobody chose is for `make sim`, not for somebody who changes something else.
#[test]
fn seeds_are_clean() {
    let wanted = std::env::var("NYALA_SIM_SEEDS");
    let seeds = wanted.as_deref().unwrap_or("40");
    let mut run = program();
    run.args(["--first", "0", "--seeds", seeds]);
    if wanted.is_err() {
        run.args(["--seconds", SECONDS]);
    }
    let output = run.output().unwrap();
    let said = text(&output);
    println!("{said}");
    assert!(output.status.success(), "seeds have findings:\n{said}");
    assert!(said.contains(" write\n"), "the clients do nothing");
}

/// A directory's files are encoded, from the start where they are written as a whole, and moved back by whoever writes to them.
#[test]
fn seeds_with_erasure_codes_are_clean() {
    let output = program().args(["--first", "0", "--seeds", "4"]).env("SIM_CODED", "1").output().unwrap();
    let said = text(&output);
    assert!(output.status.success(), "seeds have findings:\n{said}");
    assert!(said.contains("new files of an encoded directory: written encoded"), "none was:\n{said}");
}

/// What counts as a finding here is that a file is truncated, which any client does without an accident. What is printed repeats it.
#[test]
fn a_seed_shrinks_to_what_shows_its_finding() {
    let shrunk = text(&simulator(&["--shrink", "7", "--suspect", "truncate", "--tries", "10"]));
    assert!(shrunk.contains("FINDING suspected: truncate"), "{shrunk}");
    let command = shrunk.lines().last().unwrap_or_default();
    assert!(command.contains("--without accidents:") && command.contains("--without clients:"), "{shrunk}");
    let words: Vec<_> = command.split_whitespace().skip(1).map(|word| word.trim_matches('"')).collect();
    let again = simulator(&words);
    assert!(!again.status.success() && text(&again).contains("FINDING seed 7: suspected: truncate"), "{command}");
    let fine = simulator(&[&words[..], &["--suspect", "nothing that happens"]].concat());
    assert!(fine.status.success(), "{command}:\n{}", text(&fine));
}

/// Each rule that is broken on purpose (`make sim-mutations`) is still where the patch says.
#[test]
fn broken_rules_can_be_applied() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let dir = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/mutations")).unwrap();
    let patches: Vec<_> = dir.map(|entry| entry.unwrap().path()).collect();
    assert!(patches.len() >= 26, "{patches:?}");
    for patch in patches {
        let check = Command::new("git").current_dir(root).args(["apply", "--check"]).arg(&patch).output().unwrap();
        assert!(check.status.success(), "{}: {}", patch.display(), text(&check));
    }
}
