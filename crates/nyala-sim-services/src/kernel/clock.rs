// SPDX-License-Identifier: Apache-2.0

//! Clocks and sleeping. All clocks show the same simulated time; that of day begins at a fixed date.

use super::sched::{self, Nanos, Wait};
use super::{real, runs};
use libc::{c_int, clockid_t, time_t, timespec, timeval};

/// Time of day at the start, nanoseconds since 1970.
const DAY: Nanos = 1_700_000_000 * SECOND;
/// Monotonic time at the start: a machine has run for a while.
const UPTIME: Nanos = 1000 * SECOND;
pub const SECOND: Nanos = 1_000_000_000;
pub const MILLI: Nanos = 1_000_000;

fn shows(clock: clockid_t) -> Nanos {
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE => DAY,
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => 0,
        _ => UPTIME,
    }
}

/// The simulated time at which `clock` shows `time`.
pub fn when(clock: clockid_t, time: &timespec) -> Nanos {
    span(time).saturating_sub(shows(clock))
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
    let now = shows(clock) + sched::read_clock();
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
    sleep(span(unsafe { &*time }));
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
        sleep(span(time));
    }
    0
}

/// Sleeps in simulated time.
pub fn sleep(span: Nanos) {
    let now = super::with(|kernel| kernel.sched.now);
    sleep_until(now.saturating_add(span));
}

fn sleep_until(at: Nanos) {
    sched::enter("sleep", &[at]);
    while super::with(|kernel| kernel.sched.now) < at {
        sched::wait(Wait::Time, Some(at));
    }
}

#[unsafe(no_mangle)]
extern "C" fn sched_yield() -> c_int {
    if !runs() {
        // SAFETY: takes nothing.
        return unsafe { real::libc_call(libc::SYS_sched_yield, [0; 6]) as c_int };
    }
    sched::enter("yield", &[]);
    sched::give_way();
    0
}
