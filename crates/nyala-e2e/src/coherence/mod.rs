// SPDX-License-Identifier: Apache-2.0

//! Several mounts of one cluster, a worker process for each, and what must hold among them.
//!
//! The coordinating process starts workers (itself again, with `worker` as first argument), tells them what to do and
//! judges what they saw. Workers that race share an [`arena::Arena`]: memory in which each says when its operations began and
//! ended, so that "returned before the other began" is known exactly and not guessed from sleeping.
//!
//! Failure model: a mount may lie (that is what is looked for), fail or hang. A worker that fails raises the stop flag, so that
//! no other waits for it; one that hangs is ended with its process group by whoever runs this (the tests have a time limit).

pub mod appends;
pub mod arena;
pub mod counters;
pub mod crew;
pub mod gang;
pub mod ior;
pub mod model;
pub mod own;
pub mod registers;
pub mod shuffle;
pub mod winners;

/// What is to be typed.
const USAGE: &str = "usage: nyala-e2e-coherence TEST ARGUMENTS DIR...
  model SEED STEPS DIR...                               random operations, each compared with a model
  own SEED STEPS DIR...                                 several tasks at once, each with small files of its own
  registers STEPS small|large [ORDER] DIR...            no read is older than a write that had returned; ORDER is
                                                        turns (default) or together, with -others: of another mount
  winners ROUNDS DIR...                                 of those who make a name at once, one wins
  appends STEPS DIR...                                  no record is lost or torn
  counters ROUNDS flock|fcntl|ofd DIR...                locks exclude, and what is read under them is new
  shuffle SEED ROUNDS DIR...                            disjoint ranges of one file lose nothing
  ior SEGMENTS cached|direct|headed DIR...              interleaved records of 47,008 bytes from 8 tasks";

/// Runs one test, or a worker of one; gives the exit code.
pub fn main(args: &[String]) -> i32 {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["worker", test, rest @ ..] => worker(test, rest),
        [_] | [] => Err(USAGE.to_owned()),
        ["model", rest @ ..] => model::run(rest),
        ["own", rest @ ..] => own::run(rest),
        ["registers", rest @ ..] => registers::run(rest),
        ["winners", rest @ ..] => winners::run(rest),
        ["appends", rest @ ..] => appends::run(rest),
        ["counters", rest @ ..] => counters::run(rest),
        ["shuffle", rest @ ..] => shuffle::run(rest),
        ["ior", rest @ ..] => ior::run(rest),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => 0,
        Err(why) => {
            println!("{why}");
            if why == USAGE { 2 } else { 1 }
        }
    }
}

fn worker(test: &str, args: &[&str]) -> Result<(), String> {
    gang::die_with_parent();
    match test {
        "model" => model::worker::run(args),
        "registers" => registers::worker(args),
        "winners" => winners::worker(args),
        "appends" => appends::worker(args),
        "counters" => counters::worker(args),
        "shuffle" => shuffle::worker(args),
        "ior" => ior::worker(args),
        _ => Err(USAGE.to_owned()),
    }
}

/// A number from the command line.
fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number in range\n{USAGE}"))
}
