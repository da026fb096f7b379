// SPDX-License-Identifier: Apache-2.0

//! A failing seed with less in it: accidents, clients and operations are left out, half of them, a quarter and so on, as long as the same invariant
//! is found broken. What is left is printed as the command that repeats it.
//!
//! Another run than the whole seed's may break the same invariant in another way: the finding that is printed is that of the last run.

use crate::environment;
use crate::many;
use crate::options::Options;
use crate::without::Without;
use std::time::{Duration, Instant};

/// Time for it, if nothing else is said.
const SECONDS: u64 = 600;

/// What a run of a seed said, as far as it matters here.
#[derive(Debug, Default)]
struct Said {
    findings: Vec<String>,
    accidents: u64,
    /// By the place of the client.
    operations: Vec<(u64, u64)>,
}

impl Said {
    fn parse(text: &str, failed: bool) -> Said {
        let mut said = Said::default();
        for line in text.lines() {
            if let Some((_, finding)) = line.strip_prefix("FINDING ").and_then(|line| line.split_once(": ")) {
                said.findings.push(finding.to_owned());
            } else if let Some((what, count)) = line.strip_prefix("PLAN ").and_then(|line| line.split_once(' ')) {
                let count = count.parse().unwrap_or(0);
                match what.strip_prefix("operations-of-").map(str::parse) {
                    Some(Ok(place)) => said.operations.push((place, count)),
                    _ => said.accidents = count,
                }
            }
        }
        if failed && said.findings.is_empty() {
            said.findings.push("the run did not end".into());
        }
        said
    }

    /// The invariants that were found broken.
    fn has(&self, invariant: &str) -> bool {
        self.findings.iter().any(|finding| self::invariant(finding) == invariant)
    }
}

fn invariant(finding: &str) -> &str {
    finding.split(':').next().unwrap_or(finding)
}

/// Shrinks a seed, prints what is left, and ends this process.
pub fn run(seed: u64, options: &Options) {
    let end = Instant::now() + Duration::from_secs(options.most_seconds.unwrap_or(SECONDS));
    let run = |without: &Without| {
        let (text, status) = many::one(seed, &without.arguments());
        Said::parse(&text, !status.is_some_and(|status| status.success()))
    };
    let whole = run(&options.without);
    let Some(first) = whole.findings.first().cloned() else {
        println!("seed {seed} shows nothing");
        std::process::exit(0);
    };
    println!("seed {seed}: {first}");
    let mut last = whole.findings.clone();
    let mut tries = 0;
    let mut fails = |without: &Without| {
        tries += 1;
        let enough = tries > options.most_tries || Instant::now() > end;
        let said = (!enough).then(|| run(without)).filter(|said| said.has(invariant(&first)));
        said.map(|said| last = said.findings).is_some()
    };
    let left = shrink(options.without.clone(), &Numbers::of(&whole, options.size.clients as u64), &mut fails);
    for finding in last {
        println!("FINDING {finding}");
    }
    let suspect = options.suspect.iter().map(|what| format!(" --suspect {what:?}")).collect::<String>();
    let (environment, world) = (environment::assignments(), many::same_world(options));
    println!("{environment}nyala-sim-services --one {seed}{world}{suspect} {left}");
    std::process::exit(1);
}

/// How much of everything there is.
struct Numbers {
    accidents: u64,
    clients: u64,
    operations: Vec<(u64, u64)>,
}

impl Numbers {
    fn of(said: &Said, clients: u64) -> Numbers {
        Numbers { accidents: said.accidents, clients, operations: said.operations.clone() }
    }
}

/// Leaves out what `fails` does not need. Clients first: each is a third of all; accidents before operations: there are fewer.
fn shrink(mut without: Without, of: &Numbers, fails: &mut dyn FnMut(&Without) -> bool) -> Without {
    let clients: Vec<u64> = (0..of.clients).collect();
    leave_out(&mut without, &clients, &mut |without, numbers| without.clients.extend(numbers), fails);
    let accidents: Vec<u64> = (0..of.accidents).collect();
    leave_out(&mut without, &accidents, &mut |without, numbers| without.accidents.extend(numbers), fails);
    for (place, count) in &of.operations {
        if without.has_client(*place) {
            let all: Vec<u64> = (0..*count).collect();
            let add = &mut |without: &mut Without, numbers: &[u64]| {
                without.operations.entry(*place).or_default().extend(numbers);
            };
            leave_out(&mut without, &all, add, fails);
        } else {
            without.operations.remove(place);
        }
    }
    without
}

/// Tries to leave out all of `numbers`, then each half, each quarter, and so on.
fn leave_out(
    without: &mut Without,
    numbers: &[u64],
    add: &mut dyn FnMut(&mut Without, &[u64]),
    fails: &mut dyn FnMut(&Without) -> bool,
) {
    let mut left: Vec<u64> = numbers.to_vec();
    let mut size = left.len();
    while size > 0 {
        let mut kept = Vec::new();
        for part in left.chunks(size) {
            let mut less = without.clone();
            add(&mut less, part);
            if fails(&less) {
                *without = less;
            } else {
                kept.extend_from_slice(part);
            }
        }
        left = kept;
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
}

#[cfg(test)]
mod tests;
