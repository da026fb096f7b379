// SPDX-License-Identifier: Apache-2.0

//! A simulated Linux under a whole cluster in one operating-system process: threads, clocks, entropy, futexes, epoll and TCP.
//!
//! This program defines the functions of the C library through which Rust's standard library, tokio and our crates reach the
//! kernel (`clock_gettime`, `pthread_create`, `epoll_wait`, `send`, ...), and the linker prefers its own definitions. So the
//! services run as they ship, with their threads, runtimes and sockets; none of their code knows. Exactly one thread runs
//! at any time, until it waits; who runs next is drawn from the seed; the clock moves when nobody can run.
//!
//! **Failure model** (what it does to the code on it): connections break, are slow, or carry nothing in one or both directions;
//! connecting is refused, or never answered; a process is killed between any two of its system calls, or stands still for minutes;
//! a machine loses power, and who talked to it hears nothing; its clock runs faster or slower than others, or is set. Files other than simulated disks are the real ones, without
//! syncs.
//!
//! What is not simulated: preemption between two system calls, io_uring (it is said to be missing), memory that runs
//! out, signals.

pub mod clock;
pub mod entropy;
pub mod epoll;
pub mod fds;
pub mod files;
pub mod futex;
pub mod io;
pub mod net;
pub mod own_clock;
pub mod process;
pub mod real;
pub mod sched;
pub mod socket;
pub mod sockopt;
pub mod switch;
pub mod threads;
pub mod timers;
pub mod trace;
pub mod watchers;

use crate::memory;
use crate::random::Random;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// Everything there is.
pub struct Kernel {
    pub sched: sched::Scheduler,
    pub processes: Vec<process::Process>,
    pub machines: Vec<process::Machine>,
    pub futexes: Vec<(usize, sched::Tid)>,
    pub fds: fds::Table,
    pub epolls: Vec<epoll::Epoll>,
    pub watchers: watchers::Watchers,
    pub counters: Vec<epoll::Counter>,
    pub sockets: Vec<socket::Socket>,
    pub net: net::Net,
    pub entropy: Random,
    pub trace: trace::Trace,
    /// Faults that the code under test showed by itself: panics, exits.
    pub complaints: Vec<String>,
}

struct Global(UnsafeCell<Option<Kernel>>);

// SAFETY: only the thread whose turn it is touches it, and turns are handed over through atomics (`sched`).
unsafe impl Sync for Global {}

static KERNEL: Global = Global(UnsafeCell::new(None));
static RUNS: AtomicBool = AtomicBool::new(false);

/// Whether the simulation runs: before, every call is the real one.
pub fn runs() -> bool {
    RUNS.load(Ordering::Relaxed)
}

/// Starts the simulation; the calling thread becomes the world's.
pub fn start(seed: u64, trace: trace::Trace) {
    let mut random = Random::new(seed);
    let kernel = Kernel {
        sched: sched::Scheduler::new(random.fork()),
        processes: vec![process::Process::world()],
        machines: vec![process::Machine::default()],
        futexes: Vec::new(),
        fds: fds::Table::default(),
        epolls: Vec::new(),
        watchers: watchers::Watchers::default(),
        counters: Vec::new(),
        sockets: Vec::new(),
        net: net::Net::new(random.fork()),
        entropy: random.fork(),
        trace,
        complaints: Vec::new(),
    };
    // SAFETY: nothing else runs yet that would look at it.
    unsafe { *KERNEL.0.get() = Some(kernel) };
    RUNS.store(true, Ordering::Release);
}

/// Looks at the kernel or changes it. `work` must neither wait nor call this again.
pub fn with<R>(work: impl FnOnce(&mut Kernel) -> R) -> R {
    // SAFETY: the caller has the turn, and no other reference exists: closures do not nest.
    let kernel = unsafe { &mut *KERNEL.0.get() };
    memory::as_world(|| work(kernel.as_mut().expect("the simulation runs where this is called")))
}

/// What a system call that fails returns.
pub fn fails(errno: i32) -> isize {
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() = errno };
    -1
}
