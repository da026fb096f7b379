// SPDX-License-Identifier: Apache-2.0

//! Signals to processes.

use std::time::{Duration, Instant};

/// Sends a signal. When this returns after a SIGSTOP, every thread stands still: the call itself returns while some still work, for milliseconds
/// on a busy machine, and answer what a test believes unanswered.
pub fn signal(pid: i32, signal: i32) {
    assert!(pid > 1, "pid {pid} is nobody's");
    // SAFETY: a system call without memory.
    unsafe { libc::kill(pid, signal) };
    let began = Instant::now();
    // One that waits for a disk stops when it has its answer.
    while signal == libc::SIGSTOP && !has_stopped(pid) && began.elapsed() < Duration::from_secs(5) {
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether no thread of a process runs, waits or sleeps: all are stopped, traced or dead.
fn has_stopped(pid: i32) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return true };
    let state = |stat: String| stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    let stats = threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
    stats.filter_map(state).all(|state| "TtZXx".contains(state))
}
