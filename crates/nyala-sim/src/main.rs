// SPDX-License-Identifier: Apache-2.0

//! `nyala-sim`: runs seeds. `--seeds N` (default 1000), `--first S` (default 0), `--seed S` for one, `--break RULE` to break
//! a rule on purpose, `--break all` for each of them in turn.

use nyala_sim::mutation::{ALL, ALL_OF_META};
use nyala_sim::{Failure, Mutation, Report, run, run_group};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

struct Args {
    first: u64,
    seeds: u64,
    broken: Option<String>,
    /// Groups of metadata targets instead of storage targets.
    meta: bool,
}

/// Runs one seed.
type RunSeed = dyn Fn(u64) -> Result<Report, Box<Failure>> + Sync;

fn args() -> Result<Args, String> {
    let mut args = Args { first: 0, seeds: 1000, broken: None, meta: false };
    let mut given = std::env::args().skip(1);
    while let Some(key) = given.next() {
        let value = given.next().ok_or_else(|| format!("{key} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{value:?} is not a number"));
        match key.as_str() {
            "--seeds" => args.seeds = number()?,
            "--first" => args.first = number()?,
            "--seed" => (args.first, args.seeds) = (number()?, 1),
            "--break" => args.broken = Some(value),
            "--of" if value == "meta" => args.meta = true,
            "--of" if value == "storage" => args.meta = false,
            _ => return Err(format!("{key}: use --seeds N, --first S, --seed S, --break RULE, --of storage|meta")),
        }
    }
    Ok(args)
}

/// Runs seeds on all cores; the first failure, if there is one.
fn run_all(args: &Args, run: &RunSeed) -> Result<(u64, u64), Box<Failure>> {
    let (next, answered, epochs) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let failed = std::sync::Mutex::new(None::<Box<Failure>>);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let stop = failed.lock().is_ok_and(|failed| failed.is_some());
                    if n >= args.seeds || stop {
                        return;
                    }
                    match run(args.first + n) {
                        Ok(report) => {
                            answered.fetch_add(report.answered, Ordering::Relaxed);
                            epochs.fetch_add(report.epochs, Ordering::Relaxed);
                        }
                        Err(failure) => {
                            if let Ok(mut place) = failed.lock() {
                                place.get_or_insert(failure);
                            }
                        }
                    }
                }
            });
        }
    });
    match failed.into_inner().unwrap_or_default() {
        Some(failure) => Err(failure),
        None => Ok((answered.into_inner(), epochs.into_inner())),
    }
}

fn main() -> ExitCode {
    let args = match args() {
        Ok(args) => args,
        Err(what) => {
            eprintln!("nyala-sim: {what}");
            return ExitCode::from(2);
        }
    };
    let began = Instant::now();
    if args.broken.as_deref() == Some("all") {
        return break_all(&args);
    }
    let known = |name| format!("no such rule as {name:?}; {:?}", rules(&args));
    let outcome = match (args.broken.as_deref(), args.meta) {
        (None, false) => run_all(&args, &|seed| run(seed, None)),
        (None, true) => run_all(&args, &|seed| run_group(seed, None)),
        (Some(name), false) => match Mutation::named(name) {
            Some(rule) => run_all(&args, &move |seed| run(seed, Some(rule))),
            None => return refuse(&known(name)),
        },
        (Some(name), true) => match ALL_OF_META.iter().find(|(rule, _)| format!("{rule:?}").contains(name)) {
            Some((rule, _)) => run_all(&args, &move |seed| run_group(seed, Some(*rule))),
            None => return refuse(&known(name)),
        },
    };
    match outcome {
        Ok((answered, epochs)) => {
            let seconds = began.elapsed().as_secs_f64();
            println!("{} seeds clean in {seconds:.1} s: {answered} requests answered, {epochs} epochs", args.seeds);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn refuse(what: &str) -> ExitCode {
    eprintln!("nyala-sim: {what}");
    ExitCode::from(2)
}

/// Names of the rules that can be broken.
fn rules(args: &Args) -> Vec<String> {
    let storage = ALL.iter().map(|(rule, _)| format!("{rule:?}"));
    let meta = ALL_OF_META.iter().map(|(rule, _)| format!("{rule:?}"));
    if args.meta { meta.collect() } else { storage.collect() }
}

/// Each rule in turn: how many seeds it takes to notice.
fn break_all(args: &Args) -> ExitCode {
    let storage = |rule: Mutation| -> Box<RunSeed> { Box::new(move |seed| run(seed, Some(rule))) };
    let meta = |rule| -> Box<RunSeed> { Box::new(move |seed| run_group(seed, Some(rule))) };
    let all: Vec<(String, u64, Box<RunSeed>)> = match args.meta {
        false => ALL.iter().map(|(rule, bound)| (format!("{rule:?}"), *bound, storage(*rule))).collect(),
        true => ALL_OF_META.iter().map(|(rule, bound)| (format!("{rule:?}"), *bound, meta(*rule))).collect(),
    };
    let mut missed = false;
    for (name, bound, run) in all {
        let caught = (0..bound).find_map(|n| run(args.first + n).err().map(|failure| (n, failure)));
        missed |= caught.is_none();
        match caught {
            Some((n, failure)) => println!("{name}: caught by seed {} of {bound}: {}", n + 1, failure.what),
            None => println!("{name}: NOT caught in {bound} seeds"),
        }
    }
    if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
