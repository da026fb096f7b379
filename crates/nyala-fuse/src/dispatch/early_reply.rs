// SPDX-License-Identifier: Apache-2.0

//! When a request is answered though its work is not done: its caller is being killed, or has waited for as long as a
//! call may take.
//!
//! The work itself goes on. A write that is under way must not outlive the delegation that it was admitted under, and what the
//! kernel would hold of a late reply (a node, an open file) has to be given back; both need the work's own end.
//!
//! **Failure model.** Linux sends INTERRUPT once for any signal, the first one, also for those that the program handles;
//! it never says which signal came, nor that a deadly one followed. A file operation must not end for a timer's signal, so
//! only a caller that is sure to die is let go: whether it is, the process table says, and it is looked at again and
//! again once a signal came. A caller of another PID name space that this one does not see has number 0 and waits for
//! the time limit. A process that exits closes its files, with nobody left to see an error, and no signal ends it any more: such
//! a close waits for [`EXIT_WAIT`] only. The number of a dead caller may name a new thread; a wrong answer then ends a request
//! of somebody who was dead, or lets it wait for the limit.

use super::Interrupts;
use crate::abi::opcode::Opcode;
use crate::errno::Errno;
use crate::types::Context;
use std::time::Duration;

/// Between two looks at a caller that has got a signal.
const LOOK: Duration = Duration::from_millis(100);
/// How long a close waits that is a part of its process's exit: a process may have many files.
const EXIT_WAIT: Duration = Duration::from_millis(100);

/// Ends when nobody waits for the request's answer any more, or it may take no longer, with what to answer.
pub(super) async fn exhausted(interrupts: &Interrupts, ctx: &Context, opcode: u32, limit: Option<Duration>) -> Errno {
    tokio::select! {
        () = dying(interrupts, ctx) => Errno::EINTR,
        () = exiting(ctx), if opcode == Opcode::Flush as u32 => Errno::EINTR,
        () = tokio::time::sleep(limit.unwrap_or_default()), if limit.is_some() => {
            tracing::warn!(opcode, unique = ctx.unique, pid = ctx.pid, ?limit, "a call took longer than it may: it fails");
            Errno::ETIMEDOUT
        }
    }
}

/// Ends once the caller has got a signal that ends it.
async fn dying(interrupts: &Interrupts, ctx: &Context) {
    let watch = interrupts.watch(ctx.unique);
    watch.wait().await;
    while !is_dying(ctx.pid) {
        tokio::time::sleep(LOOK).await;
    }
}

/// Ends once the caller is exiting, and has waited for a while.
async fn exiting(ctx: &Context) {
    loop {
        tokio::time::sleep(EXIT_WAIT).await;
        if is_exiting(ctx.pid) {
            return;
        }
    }
}

/// By `status`, not by `stat` with its flags: that one waits for a caller that is in `execve`, which waits for us when it closes a
/// file on the way.
fn is_exiting(tid: u32) -> bool {
    tid != 0
        && match std::fs::read_to_string(format!("/proc/{tid}/status")) {
            Ok(status) => has_no_memory(&status),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }
}

/// Whether a thread has given its memory back, which an exit does before it closes files (the text of `/proc/TID/status`).
fn has_no_memory(status: &str) -> bool {
    status.starts_with("Name:") && !status.lines().any(|line| line.starts_with("VmSize:"))
}

fn is_dying(tid: u32) -> bool {
    tid != 0
        && match std::fs::read_to_string(format!("/proc/{tid}/status")) {
            Ok(status) => has_deadly_signal(&status),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }
}

/// Whether a thread has a signal pending that ends its process (the text of `/proc/TID/status`).
fn has_deadly_signal(status: &str) -> bool {
    let set = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0)
    };
    let bit = |signal: i32| 1u64 << (signal - 1);
    // What they do by default is not to end the process.
    let harmless = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH, libc::SIGSTOP, libc::SIGTSTP]
        .into_iter()
        .chain([libc::SIGTTIN, libc::SIGTTOU])
        .fold(0, |all, signal| all | bit(signal));
    let pending = set("SigPnd") | set("ShdPnd");
    let survived = set("SigBlk") | set("SigIgn") | set("SigCgt") | harmless;
    // Linux marks every thread of a process that is to die with a kill of its own, which nothing blocks.
    pending & (bit(libc::SIGKILL) | !survived) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(pending: &str, shared: &str, blocked: &str, ignored: &str, caught: &str) -> String {
        format!(
            "Name:\tx\nSigQ:\t0/1\nSigPnd:\t{pending}\nShdPnd:\t{shared}\nSigBlk:\t{blocked}\nSigIgn:\t{ignored}\nSigCgt:\t{caught}\n"
        )
    }

    #[test]
    fn only_signals_that_end_the_process_count() {
        let zero = "0000000000000000";
        let (kill, term, alarm, child) =
            ("0000000000000100", "0000000000004000", "0000000000002000", "0000000000010000");
        assert!(!has_deadly_signal(&status(zero, zero, zero, zero, zero)));
        assert!(has_deadly_signal(&status(kill, zero, "ffffffffffffffff", "ffffffffffffffff", "ffffffffffffffff")));
        assert!(has_deadly_signal(&status(zero, term, zero, zero, zero)));
        assert!(!has_deadly_signal(&status(zero, term, term, zero, zero)), "blocked");
        assert!(!has_deadly_signal(&status(zero, term, zero, term, zero)), "ignored");
        assert!(!has_deadly_signal(&status(alarm, zero, zero, zero, alarm)), "handled");
        assert!(has_deadly_signal(&status(alarm, zero, zero, zero, zero)));
        assert!(!has_deadly_signal(&status(child, zero, zero, zero, zero)), "by default nothing happens");
        assert!(!has_deadly_signal("something else"));
    }

    #[test]
    fn who_exits_has_no_memory_any_more_and_who_runs_another_program_has() {
        assert!(has_no_memory("Name:\tx\nState:\tD (disk sleep)\nThreads:\t1\n"));
        assert!(!has_no_memory("Name:\tx\nState:\tD (disk sleep)\nVmPeak:\t4 kB\nVmSize:\t4 kB\n"));
        assert!(!has_no_memory(""));
        assert!(!is_exiting(std::process::id()) && !is_exiting(0));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        while !is_exiting(child.id()) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(is_exiting(child.id()), "nobody is there");
    }

    #[test]
    fn who_is_not_there_is_dying_and_who_is_not_known_is_not() {
        assert!(!is_dying(std::process::id()));
        assert!(is_dying(u32::MAX >> 1), "no such thread");
        assert!(!is_dying(0), "not known who");
    }
}
