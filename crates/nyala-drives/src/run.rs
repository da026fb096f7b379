// SPDX-License-Identifier: Apache-2.0

//! Who does effects: a thread for each drive, or the caller.
//!
//! A drive that hangs must not hold up reads that go around it, so reads have a deadline; what is late is answered to nobody. Writes are waited for,
//! however long they take: whether they happened has to be known. What a table knows without its disk is looked up at once: two threads changing places costs
//! more than that.

use crate::drive::Drive;
use crate::runner::{Job, Runner};
use nyala_raid::latency::Latencies;
use nyala_raid::{Effect, Reply};
use parking_lot::Mutex;
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// All members' drives.
pub(crate) struct Runners {
    /// By member; none where it is missing.
    runners: Mutex<Vec<Option<Runner>>>,
    drives: Mutex<Vec<Option<Drive>>>,
    /// Where they are, or were.
    locations: Mutex<Vec<Option<String>>>,
    latencies: Mutex<Latencies>,
    threads: bool,
}

impl Runners {
    pub fn new(members: usize, threads: bool) -> Runners {
        let runners = Mutex::new((0..members).map(|_| None).collect());
        let drives = Mutex::new(vec![None; members]);
        let locations = Mutex::new(vec![None; members]);
        Runners { runners, drives, locations, latencies: Mutex::new(Latencies::new(members)), threads }
    }

    /// Gives a member its drive.
    pub fn set(&self, member: usize, drive: Drive) -> io::Result<()> {
        let kept = drive.clone();
        let runner = if self.threads { Runner::thread(member, drive)? } else { Runner::Inline(drive) };
        self.runners.lock()[member] = Some(runner);
        self.locations.lock()[member] = Some(kept.location().to_owned());
        self.drives.lock()[member] = Some(kept);
        Ok(())
    }

    /// Lets go of a member's drive, so that it can be opened again. Its thread ends when it has done what it is at.
    pub fn release(&self, member: usize) {
        let runner = self.runners.lock()[member].take();
        let drive = self.drives.lock()[member].take();
        // Outside the locks: its table is closed.
        drop((runner, drive));
    }

    /// Where a member's drive is, or was.
    pub fn location(&self, member: usize) -> Option<String> {
        self.locations.lock().get(member).cloned().flatten()
    }

    /// A member's drive.
    pub fn drive(&self, member: usize) -> Option<Drive> {
        self.drives.lock().get(member).cloned().flatten()
    }

    /// Whether a read should go around a member.
    pub fn avoid(&self, member: usize) -> bool {
        self.latencies.lock().avoid(member)
    }

    /// Does all effects. Reads of files may be late.
    pub fn run(&self, effects: Vec<Effect>) -> Vec<Reply> {
        let count = effects.len();
        let (replies, answers) = mpsc::channel();
        let mut out: Vec<Option<Reply>> = vec![None; count];
        let mut may_be_late = vec![None; count];
        for (at, effect) in effects.into_iter().enumerate() {
            if matches!(effect, Effect::Read { patient: false, .. }) {
                may_be_late[at] = Some(effect.member());
            }
            out[at] = self.send(at, effect, &replies);
        }
        drop(replies);
        let began = Instant::now();
        let deadline = began + Duration::from_micros(self.latencies.lock().deadline_us());
        while let Some(missing) = out.iter().position(Option::is_none) {
            let all_reads = (0..count).all(|at| out[at].is_some() || may_be_late[at].is_some());
            let answer = match all_reads {
                true => answers.recv_timeout(deadline.saturating_duration_since(Instant::now())),
                false => answers.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match answer {
                Ok((at, reply, took)) => {
                    if let Some(member) = may_be_late[at] {
                        self.took(member, took);
                    }
                    out[at] = Some(reply);
                }
                Err(RecvTimeoutError::Timeout) => {
                    for at in (0..count).filter(|at| out[*at].is_none()).collect::<Vec<_>>() {
                        may_be_late[at].iter().for_each(|member| self.took(*member, began.elapsed()));
                        out[at] = Some(Reply::Late);
                    }
                }
                // Its thread has ended without an answer.
                Err(RecvTimeoutError::Disconnected) => out[missing] = Some(Reply::Failed),
            }
        }
        out.into_iter().map(|reply| reply.unwrap_or(Reply::Failed)).collect()
    }

    fn send(&self, at: usize, effect: Effect, replies: &Sender<(usize, Reply, Duration)>) -> Option<Reply> {
        let member = effect.member();
        // Before the lock of all runners: a table that is being written answers late.
        if let Effect::Get { key, .. } = &effect
            && self.threads
            && let Some(reply) = self.drive(member).and_then(|drive| drive.peek(key))
        {
            return Some(reply);
        }
        let runners = self.runners.lock();
        match &runners[member] {
            None => Some(Reply::Failed),
            Some(Runner::Thread(sender)) => {
                let job = Job { effect, at, replies: replies.clone() };
                if sender.send(job).is_ok() { None } else { Some(Reply::Failed) }
            }
            Some(Runner::Inline(drive)) => {
                let drive = drive.clone();
                drop(runners);
                Some(drive.run(effect))
            }
        }
    }

    fn took(&self, member: usize, took: Duration) {
        self.latencies.lock().took(member, u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }
}
