// SPDX-License-Identifier: Apache-2.0

//! What is known of one file's locks, and the rule of [`lock_holders`](super). Pure.

use crate::Fh;
use std::time::{Duration, Instant};

/// How long after an exit the kernel may take to report it.
pub(super) const QUIET: Duration = Duration::from_millis(100);
/// How long whoever asks waits at most.
pub(super) const LIMIT: Duration = Duration::from_millis(800);
/// How often the kernel's queue is looked at.
pub(super) const LOOK: Duration = Duration::from_millis(5);
/// Most processes that are known of one holder; of others it is not known that they are alive.
pub(super) const MAX_PROCESSES: usize = 16;

/// A process that took a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number; 0 if it is not seen from here.
    pub pid: u32,
    /// Time since the machine started when it took the lock: a process that is younger is another one.
    pub seen: Duration,
}

/// What can be seen of the machine's processes and of the kernel's queue.
pub trait Around {
    /// Whether the process has not begun to exit.
    fn is_alive(&self, process: &Process) -> bool;
    /// Whether a thread belongs to the process.
    fn is_of(&self, thread: u32, process: &Process) -> bool;
    /// Whether the kernel has requests that were not fetched yet.
    fn has_requests(&self) -> bool;
}

/// Whose lock, as the cluster has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Through which open file.
    pub fh: Fh,
    /// The kernel's owner number.
    pub owner: u64,
    /// `flock`.
    pub flock: bool,
}

#[derive(Debug)]
pub(super) struct Holder {
    pub(super) holding: Holding,
    /// Who took it, and who of them has closed the file since.
    pub(super) processes: Vec<(Process, bool)>,
}

/// The locks on one file.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) holders: Vec<Holder>,
    /// FLUSH and RELEASE under way.
    pub(super) closes: u32,
    /// When the last one ended.
    pub(super) ended: Option<Instant>,
}

/// What is known of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It stands, or was given up.
    Settled,
    /// Something may come: look again after so long.
    Unsure(Duration),
}

/// A question after a lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    /// The kernel's owner number.
    pub(super) owner: u64,
    pub(super) flock: bool,
    pub(super) began: Instant,
    pub(super) now: Instant,
    /// The kernel had nothing queued at some time since it began.
    pub(super) idle: bool,
}

impl File {
    /// A process is about to take a lock.
    pub(super) fn note_lock(&mut self, holding: Holding, process: Process) {
        let at = self.holders.iter().position(|holder| holder.holding == holding).unwrap_or_else(|| {
            self.holders.push(Holder { holding, processes: Vec::new() });
            self.holders.len() - 1
        });
        let processes = &mut self.holders[at].processes;
        processes.retain(|(known, _)| known.pid != process.pid);
        if processes.len() == MAX_PROCESSES {
            processes.remove(0);
        }
        processes.push((process, false));
    }

    /// A thread (0: one that is not seen) of a process (`owner`) begins to close an open file.
    pub(super) fn begin_close(&mut self, fh: Fh, owner: u64, thread: u32, around: &impl Around) {
        self.holders.retain(|holder| holder.holding.flock || holder.holding.owner != owner);
        for holder in self.holders.iter_mut().filter(|holder| holder.holding.fh == fh) {
            for (process, closed) in &mut holder.processes {
                *closed |= thread == 0 || around.is_of(thread, process);
            }
        }
        self.closes += 1;
    }

    /// Whether a lock stands or is gone, as far as can be known now.
    pub(super) fn verdict(&self, asked: &Question, around: &impl Around) -> Verdict {
        let left = LIMIT.saturating_sub(asked.now.saturating_duration_since(asked.began));
        let is_asked = |holding: &Holding| (holding.owner, holding.flock) == (asked.owner, asked.flock);
        let mut holders = self.holders.iter().filter(|holder| is_asked(&holder.holding)).peekable();
        let any = holders.peek().is_some();
        let stands =
            holders.any(|holder| holder.processes.iter().any(|(process, closed)| !closed && around.is_alive(process)));
        if stands || left.is_zero() || (!any && self.closes == 0) {
            return Verdict::Settled;
        }
        if self.closes > 0 {
            return Verdict::Unsure(left);
        }
        let since = self.ended.map_or(asked.began, |ended| ended.max(asked.began));
        match QUIET.saturating_sub(asked.now.saturating_duration_since(since)) {
            Duration::ZERO if asked.idle => Verdict::Settled,
            quiet => Verdict::Unsure(if asked.idle { quiet } else { LOOK }.min(left)),
        }
    }
}
