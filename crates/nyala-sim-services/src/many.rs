// SPDX-License-Identifier: Apache-2.0

//! Many seeds: each in a process of its own, whose memory lies at the same addresses every time.

use crate::environment;
use crate::options::Options;
use std::collections::BTreeMap;
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What came of all.
#[derive(Default)]
struct Sum {
    seeds: u64,
    simulated_s: u64,
    counts: BTreeMap<String, u64>,
    /// The largest of each, of all seeds.
    most: BTreeMap<String, u64>,
    findings: Vec<String>,
}

/// Runs them, says what was found and how fast it went, and ends this process.
pub fn run(options: &Options) {
    // SAFETY: takes no memory. Children inherit that their addresses are not random.
    unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
    let (began, next, sum) = (Instant::now(), AtomicU64::new(options.first), Mutex::new(Sum::default()));
    let (most, done) = (options.most_seconds.map(Duration::from_secs), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let late = most.is_some_and(|most| began.elapsed() > most);
                    if seed >= options.first + options.seeds || late || done.load(Ordering::Relaxed) {
                        return;
                    }
                    let (text, status) = one(seed, &[]);
                    let mut sum = sum.lock().expect("nobody panics with it");
                    // What the others are still at counts for nothing: the number of seeds is of those until the finding.
                    if !done.load(Ordering::Relaxed) {
                        sum.add(options, seed, &text, status);
                        done.store(options.until_found && !sum.findings.is_empty(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let sum = sum.into_inner().expect("nobody panicked with it");
    for (what, count) in &sum.counts {
        println!("{count:8} {what}");
    }
    for (what, most) in &sum.most {
        println!("{most:8} at most: {what}");
    }
    let took = began.elapsed().as_secs_f64();
    println!(
        "{} seeds in {took:.1} s ({:.2} seeds and {:.0} simulated seconds per second; {:.2} s of processor time each), {} with findings",
        sum.seeds,
        sum.seeds as f64 / took,
        sum.simulated_s as f64 / took,
        processor_s() / sum.seeds.max(1) as f64,
        sum.findings.len()
    );
    std::process::exit(i32::from(!sum.findings.is_empty()));
}

/// Processor time of all runs that have ended, seconds.
fn processor_s() -> f64 {
    // SAFETY: room for the answer, for which zeros are a value.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Runs one seed in a process of its own, with the words of this one's command line and more: what it said, and how it ended.
pub fn one(seed: u64, more: &[String]) -> (String, Option<ExitStatus>) {
    let program = std::env::current_exe().expect("a process knows its program");
    let words = std::env::args().skip(1).collect::<Vec<_>>();
    let output = Command::new(program).args(words).args(more).arg("--one").arg(seed.to_string()).output();
    match output {
        Ok(output) => {
            let all = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
            (all, Some(output.status))
        }
        Err(error) => (error.to_string(), None),
    }
}

/// The words of a command line that make the same world.
pub fn same_world(options: &Options) -> String {
    let size = options.size;
    let sizes = [
        ("mgmt", size.mgmt),
        ("meta", size.meta),
        ("spares", size.spares),
        ("storage", size.storage),
        ("clients", size.clients),
    ];
    let faults = if options.faults { "" } else { " --no-faults" };
    sizes.iter().map(|(name, count)| format!(" --{name} {count}")).collect::<String>() + faults
}

impl Sum {
    fn add(&mut self, options: &Options, seed: u64, text: &str, status: Option<ExitStatus>) {
        self.seeds += 1;
        let mut found = false;
        for line in text.lines() {
            if let Some(count) = line.strip_prefix("COUNT ") {
                let (number, what) = count.split_once(' ').unwrap_or_default();
                *self.counts.entry(what.into()).or_default() += number.parse::<u64>().unwrap_or(0);
            } else if let Some(most) = line.strip_prefix("MOST ") {
                let (number, what) = most.split_once(' ').unwrap_or_default();
                let known = self.most.entry(what.into()).or_default();
                *known = number.parse::<u64>().unwrap_or(0).max(*known);
            } else if let Some(end) = line.strip_prefix("END ") {
                let simulated = end.split(&[':', ' '][..]).filter_map(|word| word.parse::<u64>().ok()).nth(1);
                self.simulated_s += simulated.unwrap_or(0);
            } else if line.starts_with("FINDING ") {
                found = true;
                println!("{line}");
            }
        }
        if !status.is_some_and(|status| status.success()) {
            if !found {
                println!("FINDING seed {seed}: the run ended with {status:?}:\n{text}");
            }
            println!(
                "{}nyala-sim-services --shrink {seed}{} looks for less",
                environment::assignments(),
                same_world(options)
            );
            self.findings.push(seed.to_string());
        }
    }
}
