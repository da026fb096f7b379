// SPDX-License-Identifier: Apache-2.0

//! Power cuts over the parts together: a client's logic, a metadata service and a storage service with two targets, all as
//! shipped, on simulated disks that remember what they were. Sequences of up to three operations; after each, the power fails at
//! every write and sync that any of the disks saw, each disk loses for itself what it had not synced (nothing, all, or parts of
//! it), everything starts again, and another client looks: what was synced is there, the rest is old or new, nothing fails.
//!
//! A short form, of random sequences and moments within a bounded time, is part of every test run and prints its seed;
//! `NYALA_POWER_SEED` repeats one (threads still race), `make power-cuts` does all of them.

mod cluster;
mod history;
mod restart;
mod work;

use cluster::{Cluster, Machines, Pace};
use history::History;
use nyala_store::testing::Clock;
use nyala_wire::SplitMix64;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::task::LocalSet;
use work::{OPS, Op, STARTS, Start, Worker, look};

/// Clusters at once: most of their time they wait.
const MAX_CONCURRENT: usize = 24;
/// Of the short form.
const SHORT: Duration = Duration::from_secs(25);
const CUTS_EACH: u64 = 12;

const FAST: Duration = Duration::from_millis(5);
const NEVER: Duration = Duration::from_secs(3600);

fn on_client<F: Future>(work: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, work)
}

/// One sequence.
#[derive(Clone, Debug)]
struct Sequence {
    start: Start,
    ops: Vec<Op>,
    seed: u64,
}

impl Sequence {
    fn random(random: &mut SplitMix64) -> Sequence {
        let start = STARTS[random.below(STARTS.len() as u64) as usize];
        let ops = (0..1 + random.below(3)).map(|_| OPS[random.below(OPS.len() as u64) as usize]).collect();
        Sequence { start, ops, seed: random.bits() }
    }

    /// All of them, shortest first.
    fn all(seed: u64) -> Vec<Sequence> {
        let mut longer: Vec<Vec<Op>> = vec![Vec::new()];
        let mut all = Vec::new();
        for _ in 0..3 {
            longer = longer.iter().flat_map(|ops| OPS.map(|op| [&ops[..], &[op]].concat())).collect();
            all.extend(longer.iter().cloned());
        }
        let sequence = |start, ops: &Vec<Op>| Sequence { start, ops: ops.clone(), seed };
        all.iter().flat_map(|ops| STARTS.map(|start| sequence(start, ops))).collect()
    }

    /// Does it once. What the disks were and are, at which moments, and what was told to the client when.
    fn run(&self) -> (Machines, std::ops::RangeInclusive<u64>, History) {
        let mut random = SplitMix64::new(self.seed);
        let mut pace = || if random.coin() { FAST } else { NEVER };
        let pace = Pace { meta_sync: pace(), storage_sync: pace(), session_timeout: Duration::from_secs(20) };
        let machines = Machines::new(self.seed);
        let clock = Clock::default();
        let cluster = Cluster::start(&machines, 0, pace);
        let history = on_client(async {
            let client = cluster.client().await;
            let mut worker = Worker::start(client.clone(), clock.clone(), self.start).await;
            machines.remember(&clock);
            for op in &self.ops {
                worker.run(*op).await;
                // What was written goes out, or not yet.
                // sleeps: the pace of the load, by chance
                tokio::time::sleep(Duration::from_millis(4 * random.below(3))).await;
            }
            // Storage hears of removals after a while.
            // sleeps: the cut comes before or after removals, by chance
            tokio::time::sleep(Duration::from_millis(if random.coin() { 20 } else { 300 })).await;
            worker.history
        });
        let end = clock.load(Ordering::SeqCst);
        cluster.stop();
        (machines, 0..=end, history)
    }

    /// Cuts the power at a moment; what is wrong then. A machine that stood still for longer than the short session timeout ends
    /// the session of who looks, which tells nothing: then it is done again.
    fn cut(&self, machines: &Machines, moment: u64, history: &History) -> Option<String> {
        let stood_still = |why: &Option<String>| why.as_ref().is_some_and(|why| why.contains("DelegationLost"));
        let mut tries = (0..3).map(|_| self.cut_once(machines, moment, history)).skip_while(stood_still);
        tries.next().unwrap_or_else(|| Some("who looks loses its delegations again and again".into()))
    }

    fn cut_once(&self, machines: &Machines, moment: u64, history: &History) -> Option<String> {
        let pace = Pace { session_timeout: Duration::from_millis(150), meta_sync: FAST, storage_sync: NEVER };
        let after = machines.cut(moment, self.seed ^ moment);
        let cluster = Cluster::start(&after, 1 + moment, pace);
        let seen = on_client(async {
            let client = cluster.client().await;
            let seen = tokio::time::timeout(Duration::from_secs(30), look(&client)).await;
            let _ = tokio::time::timeout(Duration::from_secs(5), client.shutdown()).await;
            seen
        });
        cluster.stop();
        match seen {
            Ok(seen) => history.judge(moment, &seen),
            Err(_) => Some("who looks waits for ever".into()),
        }
    }
}

/// What was tried, and what was wrong.
#[derive(Default)]
struct Tally {
    sequences: AtomicUsize,
    cuts: AtomicUsize,
    wrong: Mutex<Vec<String>>,
}

impl Tally {
    fn try_sequence(&self, sequence: &Sequence, most: u64) {
        let (machines, moments, history) = sequence.run();
        self.sequences.fetch_add(1, Ordering::Relaxed);
        let mut random = SplitMix64::new(sequence.seed);
        let count = moments.end() + 1;
        let chosen: Vec<u64> = match count <= most {
            true => moments.collect(),
            false => (0..most).map(|_| random.below(count)).collect(),
        };
        for moment in chosen {
            self.cuts.fetch_add(1, Ordering::Relaxed);
            if let Some(why) = sequence.cut(&machines, moment, &history) {
                let steps: Vec<_> = history.0.iter().map(|shot| format!("{}@{}", shot.what, shot.moment)).collect();
                let wrong = format!("{sequence:?} cut at {moment} of {count}, {steps:?}:\n{why}");
                eprintln!("{wrong}");
                self.wrong.lock().unwrap().push(wrong);
            }
        }
    }

    /// Takes sequences until there are none, on several threads.
    fn try_all(&self, next: impl Fn() -> Option<Sequence> + Sync, most: u64) {
        std::thread::scope(|scope| {
            for _ in 0..MAX_CONCURRENT {
                scope.spawn(|| {
                    while let Some(sequence) = next() {
                        self.try_sequence(&sequence, most);
                    }
                });
            }
        });
        let (sequences, cuts) = (self.sequences.load(Ordering::Relaxed), self.cuts.load(Ordering::Relaxed));
        println!("{sequences} sequences, {cuts} power cuts");
        let wrong = self.wrong.lock().unwrap();
        assert!(wrong.is_empty(), "{} of {cuts} cuts went wrong; the first:\n{}", wrong.len(), wrong[0]);
        assert!(cuts >= 20, "hardly any power cut: {cuts}");
    }
}

#[test]
fn what_was_synced_outlives_a_power_cut_of_all_disks_at_any_moment() {
    let seed = std::env::var("NYALA_POWER_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| std::process::id().into());
    let tally = Tally::default();
    if std::env::var("NYALA_POWER_CUTS").is_ok_and(|what| what == "all") {
        let (all, at) = (Sequence::all(seed), AtomicUsize::new(0));
        tally.try_all(|| all.get(at.fetch_add(1, Ordering::Relaxed)).cloned(), u64::MAX);
        return;
    }
    println!("NYALA_POWER_SEED={seed}");
    let (began, number) = (Instant::now(), AtomicU64::new(0));
    let next = || {
        let number = number.fetch_add(1, Ordering::Relaxed);
        let mut random = SplitMix64::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
        (began.elapsed() < SHORT).then(|| Sequence::random(&mut random))
    };
    tally.try_all(next, CUTS_EACH);
}
