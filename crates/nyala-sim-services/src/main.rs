// SPDX-License-Identifier: Apache-2.0

//! The services as shipped, whole clusters of them, on a simulated kernel. See `docs/decisions/0014-simulated-services.md`.
//!
//! ```text
//! nyala-sim-services [--seeds N] [--first SEED] [--jobs J]   runs seeds, each in a process of its own; --until-found
//! nyala-sim-services --one SEED [--trace FILE]              runs one; SIM_LOG=nyala_client=debug,... shows what is logged
//! SIM_MOVES=1 has slots moved in every run, SIM_MOVES=0 in none, in place of a quarter of them; SIM_SPLITS=1 has directories split, in none without it
//! SIM_SYNC_CUTS=1 has power fail right after clients were told that something is synced, too
//! ```

mod check;
mod conform;
mod kernel;
mod many;
mod options;
mod random;
mod world;

use kernel::{clock, real, trace::Trace, with};
use options::Options;
use std::ffi::CString;
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
    match (options.conform, options.one) {
        (Some(simulated), _) => conform::run(simulated),
        (None, Some(seed)) => one(seed, &options),
        (None, None) => many::run(&options),
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
    let trace = options.trace.as_ref().map(|path| open(path));
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
    world::run::run(Plan { seed, size: options.size, faults: options.faults, trip: options.trip });
    let (events, hash, now, turns, complaints) = with(|kernel| {
        let (events, hash) = kernel.trace.finish();
        (events, hash, kernel.sched.now, kernel.sched.turns, std::mem::take(&mut kernel.complaints))
    });
    let (findings, counts) = check::ledger(|ledger| (std::mem::take(&mut ledger.findings), ledger.counts.clone()));
    let findings: Vec<String> = complaints.into_iter().chain(findings).collect();
    let took = (real::now() - began) / clock::MILLI;
    let mut text = String::new();
    for finding in &findings {
        text += &format!("FINDING seed {seed}: {finding}\n");
    }
    for (what, count) in counts {
        text += &format!("COUNT {count} {what}\n");
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

fn open(path: &str) -> i32 {
    let path = CString::new(path).expect("a path has no zero byte");
    let flags = (libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC) as usize;
    // SAFETY: a path that ends with a zero byte.
    unsafe { real::call(libc::SYS_open, [path.as_ptr() as usize, flags, 0o644, 0, 0, 0]) as i32 }
}
