// SPDX-License-Identifier: Apache-2.0

//! Futexes, which all of std's and parking_lot's locks wait on; and the other calls that arrive by number.

use super::sched::{self, Nanos, Wait};
use super::{clock, entropy, fails, real, runs, with};
use libc::{c_int, c_long, timespec};

/// The C function takes any number of arguments; registers and stack hold them as they do those of this one.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    if !runs() {
        // SAFETY: the caller's.
        return unsafe { real::libc_call(number, [a, b, c, d, e, f]) as c_long };
    }
    match number {
        // SAFETY: the caller's word and time.
        libc::SYS_futex => unsafe { futex(a as *const u32, b as c_int, c as u32, d as *const timespec, f as u32) },
        // SAFETY: the caller's buffer.
        libc::SYS_getrandom => unsafe { entropy::getrandom(a as *mut _, b, 0) as c_long },
        libc::SYS_io_uring_setup | libc::SYS_io_uring_enter | libc::SYS_io_uring_register => {
            fails(libc::ENOSYS) as c_long
        }
        // SAFETY: the caller's.
        _ => unsafe { real::libc_call(number, [a, b, c, d, e, f]) as c_long },
    }
}

unsafe fn futex(word: *const u32, operation: c_int, value: u32, time: *const timespec, _bits: u32) -> c_long {
    let command = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    match command {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            // SAFETY: the caller's time, if there is one.
            let deadline = unsafe { time.as_ref() }.map(|time| deadline(operation, command, time));
            wait(word, value, deadline)
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => wake(word, value),
        other => {
            with(|kernel| kernel.complaints.push(format!("futex operation {other} is not simulated")));
            fails(libc::ENOSYS) as c_long
        }
    }
}

fn deadline(operation: c_int, command: c_int, time: &timespec) -> Nanos {
    let clock = if operation & libc::FUTEX_CLOCK_REALTIME != 0 { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
    match command {
        // Only this one counts from now on.
        libc::FUTEX_WAIT => clock::after(clock::span(time)),
        _ => clock::when(clock, time),
    }
}

fn wait(word: *const u32, value: u32, deadline: Option<Nanos>) -> c_long {
    sched::enter("futex-wait", &[]);
    // SAFETY: the caller's word; volatile, because others change it.
    if unsafe { word.read_volatile() } != value {
        return fails(libc::EAGAIN) as c_long;
    }
    if sched::wait(Wait::Futex(word as usize), deadline) {
        return fails(libc::ETIMEDOUT) as c_long;
    }
    0
}

fn wake(word: *const u32, count: u32) -> c_long {
    let woken = with(|kernel| {
        let waits = kernel.futexes.iter().filter(|(address, _)| *address == word as usize);
        let woken: Vec<_> = waits.map(|(_, thread)| *thread).take(count as usize).collect();
        woken.iter().for_each(|thread| kernel.wake(*thread));
        woken.len()
    });
    sched::enter("futex-wake", &[woken as u64]);
    woken as c_long
}
