// SPDX-License-Identifier: Apache-2.0

//! Other processes of ours: still running, told to end, waited for.
//!
//! **Failure model.** Process ids are used again. One is taken for the process that we mean only with the same start time
//! and, where known, the right words on its command line; signals go through a pidfd, so that nobody else can get them
//! even if the process ends at that very moment. A zombie counts as ended.

use crate::exit::{Failure, io};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its number.
    pub pid: i32,
    /// When it started, clock ticks since boot.
    pub start_ticks: u64,
}

/// A running process.
pub struct Running {
    /// Which.
    pub id: ProcessId,
    fd: OwnedFd,
}

impl ProcessId {
    /// This process.
    pub fn own() -> Option<ProcessId> {
        ProcessId::of(rustix::process::getpid().as_raw_nonzero().get())
    }

    /// The process that has this number now; none if there is none, or a zombie.
    pub fn of(pid: i32) -> Option<ProcessId> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name stands in parentheses and may hold anything; fields are counted after the last one.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        let start_ticks = fields.nth(18)?.parse().ok()?;
        (!matches!(state, "Z" | "X" | "x")).then_some(ProcessId { pid, start_ticks })
    }

    /// The process if it still runs, with `word` among its arguments if one is given.
    pub fn running(self, word: Option<&str>) -> Option<Running> {
        let fd = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()?;
        // Looked at after the pidfd was opened: what is seen now is what the pidfd is.
        let same = ProcessId::of(self.pid) == Some(self);
        let fits = word.is_none_or(|word| arguments(self.pid).iter().any(|argument| argument == word));
        (same && fits).then_some(Running { id: self, fd })
    }
}

fn arguments(pid: i32) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    bytes.split(|byte| *byte == 0).map(|argument| String::from_utf8_lossy(argument).into_owned()).collect()
}

impl Running {
    /// Sends a signal; a process that is gone meanwhile is fine.
    pub fn signal(&self, signal: Signal) -> Result<(), Failure> {
        match pidfd_send_signal(&self.fd, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(io(format!("cannot signal process {}", self.id.pid))(error.into())),
        }
    }

    /// Waits until it ends; false if it still runs after that time.
    pub fn wait(&self, longest: Duration) -> bool {
        let deadline = Instant::now() + longest;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec { tv_sec: left.as_secs().min(3600) as i64, tv_nsec: left.subsec_nanos().into() };
            match poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], Some(&timeout)) {
                Ok(0) if left.is_zero() => return false,
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return true,
                // Without poll the table of processes has to do.
                Err(_) => {
                    if ProcessId::of(self.id.pid) != Some(self.id) {
                        return true;
                    }
                    if left.is_zero() {
                        return false;
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
    }

    /// Asks it to end, waits, then makes it end. False if it had to be made to.
    pub fn stop(&self, timeout: Duration) -> Result<bool, Failure> {
        self.signal(Signal::TERM)?;
        if self.wait(timeout) {
            return Ok(true);
        }
        self.kill()?;
        Ok(false)
    }

    /// Makes it end at once.
    pub fn kill(&self) -> Result<(), Failure> {
        self.signal(Signal::KILL)?;
        if self.wait(Duration::from_secs(10)) {
            return Ok(());
        }
        // Stuck in the kernel, on a disk that does not answer.
        Err(Failure::failed(format!("process {} does not end although it was killed", self.id.pid)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn only_the_very_process_is_meant() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let id = ProcessId::of(child.id() as i32).unwrap();
        // Between fork and exec the arguments are still ours.
        let deadline = Instant::now() + Duration::from_secs(10);
        while id.running(Some("60")).is_none() && Instant::now() < deadline {
            // sleeps: between two looks
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(id.running(Some("60")).is_some());
        assert!(id.running(Some("61")).is_none());
        assert!(ProcessId { start_ticks: id.start_ticks + 1, ..id }.running(None).is_none());
        let running = id.running(None).unwrap();
        assert!(!running.wait(Duration::from_millis(10)));
        assert!(running.stop(Duration::from_secs(10)).unwrap());
        assert!(id.running(None).is_none(), "a zombie does not run");
        child.wait().unwrap();
        assert_eq!(ProcessId::of(id.pid).filter(|found| *found == id), None);
        assert!(ProcessId::own().unwrap().running(None).is_some());
    }

    #[test]
    fn who_does_not_listen_is_killed() {
        let mut child = Command::new("sh")
            .args(["-c", "trap '' TERM; echo; while :; do sleep 1; done"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // Wait for the line: the trap is set then.
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let running = ProcessId::of(child.id() as i32).unwrap().running(None).unwrap();
        assert!(!running.stop(Duration::from_millis(50)).unwrap());
        child.wait().unwrap();
    }
}
