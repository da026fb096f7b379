// SPDX-License-Identifier: Apache-2.0

//! Processes of this machine, as `/proc` shows them, and the kernel's queue: what [`lock_holders`](super::lock_holders) asks.
//!
//! **Failure model.** A process may go at any moment, and its number be another one's: it is told by when it began. What cannot
//! be read counts as gone, which costs whoever asks a moment and nobody a lock.

use super::lock_holders::{Around, Process};
use crate::Notifier;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The kernel's `PF_EXITING`.
const EXITING: u64 = 4;

/// What `/proc/…/stat` says of a process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    exits: bool,
    /// In clock ticks after the machine started.
    began: u64,
}

pub(crate) fn parse(stat: &str) -> Option<Stat> {
    // The name before may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let state = fields.first()?;
    let flags: u64 = fields.get(6)?.parse().ok()?;
    let began = fields.get(19)?.parse().ok()?;
    Some(Stat { exits: matches!(*state, "Z" | "X") || flags & EXITING != 0, began })
}

/// A process that takes a lock now.
pub fn seen_now(pid: u32) -> Process {
    let now = clock_gettime(ClockId::Boottime);
    let seen = Duration::new(now.tv_sec.try_into().unwrap_or(0), now.tv_nsec.try_into().unwrap_or(0));
    Process { pid, seen }
}

/// This machine, and the queue of one mount if it is known.
pub struct Machine {
    /// Of the mount.
    pub notifier: Option<Notifier>,
}

impl Around for Machine {
    fn is_alive(&self, process: &Process) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.pid)).ok();
        let Some(stat) = stat.as_deref().and_then(parse) else { return false };
        let began = Duration::from_secs_f64(stat.began as f64 / rustix::param::clock_ticks_per_second() as f64);
        !stat.exits && began <= process.seen
    }

    fn is_of(&self, thread: u32, process: &Process) -> bool {
        thread == process.pid || std::fs::exists(format!("/proc/{}/task/{thread}", process.pid)).unwrap_or(false)
    }

    fn has_requests(&self) -> bool {
        self.notifier.as_ref().is_some_and(|notifier| notifier.has_requests())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_line_of_proc_is_read_whatever_the_name() {
        let rest = " S 1 2 3 4 5 4194560 6 7 8 9 10 11 12 13 20 0 1 0 4711 22 23";
        assert_eq!(parse(&format!("77 (a) Z 1){rest}")), Some(Stat { exits: false, began: 4711 }));
        assert_eq!(parse(&format!("77 (a){}", rest.replace(" S", " Z"))).map(|stat| stat.exits), Some(true));
        assert_eq!(parse(&format!("77 (a){}", rest.replace("4194560", "4194564"))).map(|stat| stat.exits), Some(true));
        assert_eq!(parse("77 (a) S 1 2"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_process_is_alive_until_it_exits_and_a_younger_one_is_another() {
        let machine = Machine { notifier: None };
        let me = seen_now(std::process::id());
        assert!(machine.is_alive(&me));
        assert!(!machine.is_alive(&Process { seen: Duration::ZERO, ..me }), "it began after that");
        assert!(!machine.is_alive(&seen_now(0)));
        let thread = std::thread::spawn(|| rustix::thread::gettid().as_raw_nonzero().get() as u32).join().unwrap();
        assert!(machine.is_of(me.pid, &me) && !machine.is_of(1, &me) && !machine.is_of(thread, &me), "it has ended");
        let here = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        assert!(machine.is_of(here, &me));
        let mut child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let known = seen_now(child.id());
        assert!(machine.is_alive(&known));
        child.kill().unwrap();
        // It is a zombie now or soon, and then gone.
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while machine.is_alive(&known) && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert!(!machine.is_alive(&known));
        child.wait().unwrap();
        assert!(!machine.is_alive(&known));
    }
}
