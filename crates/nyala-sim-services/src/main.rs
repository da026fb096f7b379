// SPDX-License-Identifier: Apache-2.0

//! The services as shipped, whole clusters of them, on a simulated kernel. See `docs/decisions/0014-simulated-services.md`.
//!
//! ```text
//! nyala-sim-services [--seeds N] [--first SEED] [--jobs J]   runs seeds, each in a process of its own; --until-found
//! nyala-sim-services --one SEED [--trace FILE]              runs one; SIM_LOG=nyala_client=debug,... shows what is logged
//! nyala-sim-services --shrink SEED [--seconds S] [--tries N]          leaves out of a failing seed what it does not need, and prints the command for the rest
//! nyala-sim-services --one SEED --suspect COUNT             takes a count of the statistics for a finding: to see, or shrink, when it happens
//! SIM_MOVES=1 has slots moved in every run, SIM_MOVES=0 in none, in place of a quarter of them; SIM_SPLITS=1 has directories split, in none without it
//! SIM_DATA_MOVES=1 has clients move files' data to other targets in every run, SIM_DATA_MOVES=0 in none, in place of a quarter of them
//! SIM_CODED=1 has some of these moves encode the data, so that clients move it back whenever they write to it, in none without it
//! SIM_FLIPS, SIM_FULL and SIM_CLOCKS (1: in every run that may have them, 0: in none, else in a third): bits flip on disks, disks are full for a while, clocks run apart
//! SIM_PROGRAMS=1 has two programs on each client in every run, SIM_PROGRAMS=0 in none, in place of half of them
//! SIM_SYNC_CUTS=1 has power fail right after clients were told that something is synced, too
//! ```

mod check;
mod conform;
mod environment;
mod kernel;
mod many;
mod memory;
mod options;
mod random;
mod shrink;
mod without;
mod world;

use kernel::{clock, real, trace::Trace, with};
use options::Options;
use std::os::unix::process::CommandExt;
use world::cluster::secret_file;
use world::run::Plan;

fn main() {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    };
    match (options.conform, options.one, options.shrink) {
        (Some(simulated), ..) => conform::run(simulated),
        (None, Some(seed), _) => one(seed, &options),
        (None, None, Some(seed)) => shrink::run(seed, &options),
        (None, None, None) => many::run(&options),
    }
}

/// Takes chance out of addresses, by beginning again without it, and runs on one core: there is one turn.
fn settle() {
    // SAFETY: takes no memory.
    let is = unsafe { libc::personality(0xffff_ffff) };
    if is & libc::ADDR_NO_RANDOMIZE == 0 {
        // SAFETY: takes no memory.
        unsafe { libc::personality((is | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong) };
        let program = std::env::current_exe().expect("a process knows its program");
        let failed = std::process::Command::new(program).args(std::env::args().skip(1)).exec();
        eprintln!("cannot begin again, addresses stay random: {failed}");
    }
    // SAFETY: a set of the size that is told. Without it the run is only slower.
    unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu().max(0) as usize, &mut cores);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const cores);
        // Who gives the turn away goes to sleep before the one who gets it runs: one change of threads, not two.
        let priority: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const priority);
    }
}

/// Where the services' log goes: past the simulated kernel, so that a seed runs with it as it does without. Only what libraries read
/// for their own messages changes a run: openraft's ask for the time, so leave them out where a seed has to be met again.
struct Log;

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        real::write_all(2, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl tracing_subscriber::fmt::time::FormatTime for Log {
    fn format_time(&self, into: &mut tracing_subscriber::fmt::format::Writer<'_>) -> std::fmt::Result {
        let now = with(|kernel| kernel.sched.now);
        write!(into, "{}.{:09}", now / clock::SECOND, now % clock::SECOND)
    }
}

/// Runs one seed in this process, which ends with it.
fn one(seed: u64, options: &Options) {
    settle();
    let dir = tempfile::tempdir_in("/var/tmp").expect("there is a directory for temporary files");
    let trace = options.trace.as_ref().map(|path| real::create_file(path));
    // Paths are the same in every run.
    std::env::set_current_dir(dir.path()).expect("it was just made");
    if let Ok(filter) = std::env::var("SIM_LOG") {
        let subscriber = tracing_subscriber::fmt().with_writer(|| Log).with_timer(Log).with_ansi(false);
        subscriber.with_env_filter(filter).init();
    }
    let began = real::now();
    kernel::start(seed, Trace::new(trace));
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        usual(panic);
        with(|kernel| kernel.complaints.push(format!("panic: {panic}")));
    }));
    nyala_transport::Secret::generate(&secret_file()).expect("the directory is empty");
    check::ledger(|ledger| ledger.suspect = options.suspect.clone());
    let without = options.without.clone();
    world::run::run(Plan { seed, size: options.size, faults: options.faults, without, trip: options.trip });
    let (events, hash, now, turns, complaints) = with(|kernel| {
        let (events, hash) = kernel.trace.finish();
        (events, hash, kernel.sched.now, kernel.sched.turns, std::mem::take(&mut kernel.complaints))
    });
    let (findings, counts, of) = check::ledger(|ledger| {
        let of = (ledger.accidents, ledger.operations.clone(), ledger.most.clone());
        (std::mem::take(&mut ledger.findings), ledger.counts.clone(), of)
    });
    let findings: Vec<String> = complaints.into_iter().chain(findings).collect();
    let took = (real::now() - began) / clock::MILLI;
    let mut text = String::new();
    for finding in &findings {
        text += &format!("FINDING seed {seed}: {finding}\n");
    }
    for (what, count) in counts {
        text += &format!("COUNT {count} {what}\n");
    }
    for (what, most) in of.2 {
        text += &format!("MOST {most} {what}\n");
    }
    text += &format!("PLAN accidents {}\n", of.0);
    for (place, count) in of.1 {
        text += &format!("PLAN operations-of-{place} {count}\n");
    }
    text += &format!(
        "END seed {seed}: {} s simulated, {took} ms, {turns} turns, {events} events, trace {hash:016x}\n",
        now / clock::SECOND
    );
    // The directory is needed no more, but services that still run must not see it go.
    drop(std::fs::remove_dir_all(dir.path()));
    real::write_all(1, text.as_bytes());
    real::end(i32::from(!findings.is_empty()));
}
