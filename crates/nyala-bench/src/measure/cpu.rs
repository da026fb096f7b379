// SPDX-License-Identifier: Apache-2.0

//! CPU time of processes, microseconds, to the nanosecond that the kernel counts.
//!
//! **Failure model.** A process can be gone, or its number can belong to another one by now: no figure, rather than a
//! wrong one, where the kernel says so; the caller checks what the process is.

use rustix::time::{ClockId, clock_gettime};

/// Largest process number of Linux.
const MAX_PID: i32 = 1 << 22;

/// CPU time of this process, all threads, user and system.
pub fn own_us() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    micros(time.tv_sec, time.tv_nsec)
}

/// CPU time of the children of this process that have ended and were waited for.
pub fn children_us() -> u64 {
    // SAFETY: all zeros is a value of this type, which is numbers only.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes to the one variable that it is given, which lives through the call.
    let failed = unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) } != 0;
    let us = |time: libc::timeval| time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_usec.unsigned_abs();
    if failed { 0 } else { us(usage.ru_utime) + us(usage.ru_stime) }
}

/// CPU time of this thread.
pub fn thread_us() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    micros(time.tv_sec, time.tv_nsec)
}

fn micros(seconds: i64, nanos: i64) -> u64 {
    seconds.unsigned_abs() * 1_000_000 + nanos.unsigned_abs() / 1000
}

/// CPU time of another process; `None` if there is none.
pub fn process_us(pid: i32) -> Option<u64> {
    if !(1..=MAX_PID).contains(&pid) {
        // The C library makes some other process's clock of such a number.
        return None;
    }
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both calls write to the one variable that they are given, which lives through the call.
    let failed = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) != 0 || libc::clock_gettime(clock, &raw mut time) != 0
    };
    (!failed).then(|| micros(time.tv_sec, time.tv_nsec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_count_once_they_have_ended() {
        let before = children_us();
        let work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        assert!(std::process::Command::new("sh").args(["-c", work]).status().unwrap().success());
        assert!(children_us() > before);
    }

    #[test]
    fn own_time_is_what_the_kernel_says_of_this_process() {
        let before = own_us();
        let mut work = 0_u64;
        while thread_us() < 20_000 {
            work = std::hint::black_box(work.wrapping_add(1));
        }
        let pid = i32::try_from(std::process::id()).unwrap();
        let between = process_us(pid).unwrap();
        assert!(before <= between && between <= own_us());
        assert!(between >= 20_000);
        assert_eq!([i32::MAX, MAX_PID, 0, -1].map(process_us), [None; 4]);
    }
}
