// SPDX-License-Identifier: Apache-2.0

//! The simulated kernel is like the real one where it matters, a seed is one run, and seeds are clean.
//!
//! `NYALA_SIM_SECONDS` is how long fresh seeds are run (default 40); their first is the second in which the test starts, so every run
//! looks somewhere else. A failure names its seed: `nyala-sim-services --one SEED` repeats it.

use std::process::{Command, Output};
use std::time::{SystemTime, UNIX_EPOCH};

fn simulator(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_nyala-sim-services")).args(words).output().unwrap()
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
    let output = text(&simulator(&["--one", seed]));
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

#[test]
fn seeds_are_clean() {
    let seconds = std::env::var("NYALA_SIM_SECONDS").unwrap_or_else(|_| "40".into());
    let first = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().to_string();
    for first in ["0", &first] {
        let output = simulator(&["--seeds", "1000", "--seconds", &seconds, "--first", first]);
        let said = text(&output);
        println!("{said}");
        assert!(output.status.success(), "seeds have findings");
        assert!(said.contains(" write\n"), "the clients do nothing");
    }
}
