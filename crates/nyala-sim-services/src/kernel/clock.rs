// SPDX-License-Identifier: Apache-2.0

//! Clocks and sleeping. Those of a machine count by its own rate ([`super::own_clock`]), all from the same moment on; the time of day begins
//! at a fixed date. Setting the time of day wakes nobody who waits for one: std, tokio and parking_lot wait for monotonic times only.

use super::own_clock::OwnClock;
use super::process::MachineId;
use super::sched::{self, Nanos, Wait};
use super::{Kernel, real, runs, with};
use libc::{c_int, clockid_t, time_t, timespec, timeval};

/// Time of day at the start, nanoseconds since 1970.
const DAY: Nanos = 1_700_000_000 * SECOND;
/// Monotonic time at the start: a machine has run for a while.
const UPTIME: Nanos = 1000 * SECOND;
pub const SECOND: Nanos = 1_000_000_000;
pub const MILLI: Nanos = 1_000_000;

/// What a clock of a machine showed at the start.
fn shows(clock: clockid_t, own: &OwnClock) -> Nanos {
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE => DAY.saturating_add_signed(own.ahead()),
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => 0,
        _ => UPTIME,
    }
}

impl Kernel {
    /// The clock of the machine on which the thread runs that asks.
    fn own_clock(&self) -> &OwnClock {
        &self.machines[self.processes[self.sched.threads[sched::me()].process].machine].clock
    }
}

/// The simulated time at which `clock` shows `time` to the thread that asks.
pub fn when(clock: clockid_t, time: &timespec) -> Nanos {
    let own = with(|kernel| *kernel.own_clock());
    own.reaches(span(time).saturating_sub(shows(clock, &own)))
}

/// The simulated time at which so much has passed by the clock of the thread that asks.
pub fn after(span: Nanos) -> Nanos {
    with(|kernel| kernel.sched.now.saturating_add(kernel.own_clock().lasts(span)))
}

/// From now on a machine's clocks count `rate` while [`super::own_clock::EVEN`] passes; whoever waits there, waits by them.
pub fn set_rate(machine: MachineId, rate: u64) {
    with(|kernel| {
        kernel.trace.event("clock-rate", &[machine as u64, rate]);
        let before = kernel.machines[machine].clock;
        kernel.machines[machine].clock.set_rate(kernel.sched.now, rate);
        let (now, processes) = (kernel.machines[machine].clock, &kernel.processes);
        kernel.sched.move_wakes(|process| processes[process].machine == machine, |at| now.moved(&before, at));
    });
}

/// A machine's time of day is set: so much ahead of the others', or behind.
pub fn set_day(machine: MachineId, ahead: i64) {
    with(|kernel| {
        kernel.trace.event("clock-set", &[machine as u64, ahead as u64]);
        kernel.machines[machine].clock.set_ahead(ahead);
    });
}

/// A length of time.
pub fn span(time: &timespec) -> Nanos {
    (time.tv_sec.max(0) as u64).saturating_mul(SECOND).saturating_add(time.tv_nsec as u64)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: clockid_t, into: *mut timespec) -> c_int {
    if !runs() {
        // SAFETY: the caller's.
        return unsafe {
            real::libc_call(libc::SYS_clock_gettime, [clock as usize, into as usize, 0, 0, 0, 0]) as c_int
        };
    }
    let now = sched::read_clock();
    let own = with(|kernel| *kernel.own_clock());
    let now = shows(clock, &own) + own.counts(now);
    // SAFETY: the caller gives room for the answer.
    unsafe { *into = timespec { tv_sec: (now / SECOND) as time_t, tv_nsec: (now % SECOND) as i64 } };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(into: *mut timeval, _zone: *mut libc::c_void) -> c_int {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for the answers; the caller's is checked.
    unsafe {
        clock_gettime(libc::CLOCK_REALTIME, &raw mut time);
        if !into.is_null() {
            *into = timeval { tv_sec: time.tv_sec, tv_usec: time.tv_nsec / 1000 };
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int {
    if !runs() {
        // SAFETY: the caller's.
        return unsafe { real::libc_call(libc::SYS_nanosleep, [time as usize, left as usize, 0, 0, 0, 0]) as c_int };
    }
    // SAFETY: the caller's time.
    sleep_until(after(span(unsafe { &*time })));
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    left: *mut timespec,
) -> c_int {
    if !runs() {
        let arguments = [clock as usize, flags as usize, time as usize, left as usize, 0, 0];
        // SAFETY: the caller's. This call returns the error number.
        return -unsafe { real::call(libc::SYS_clock_nanosleep, arguments) } as c_int;
    }
    // SAFETY: the caller's time.
    let time = unsafe { &*time };
    if flags & libc::TIMER_ABSTIME != 0 {
        sleep_until(when(clock, time));
    } else {
        sleep_until(after(span(time)));
    }
    0
}

/// Sleeps in simulated time, whatever the machine's clock says: what a disk takes, and the world itself.
pub fn sleep(span: Nanos) {
    let now = with(|kernel| kernel.sched.now);
    sleep_until(now.saturating_add(span));
}

fn sleep_until(at: Nanos) {
    sched::enter("sleep", &[at]);
    while with(|kernel| kernel.sched.now) < at {
        sched::wait(Wait::Time, Some(at));
    }
}
