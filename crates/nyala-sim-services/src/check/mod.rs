// SPDX-License-Identifier: Apache-2.0

//! What has to hold, one file each. The clients say what they do and what they are told; nothing here is read from servers.

pub mod append;
pub mod data_moves;
pub mod exclusive;
pub mod locks;
pub mod memory;
pub mod mirrors;
pub mod names;
pub mod register;
pub mod said_again;
pub mod waits;

use append::Appended;
use data_moves::DataMoves;
use exclusive::Exclusive;
use locks::Inside;
use names::{History, Op, Outcome, Verdict};
use nyala_wire::Slot;
use register::Register;
use said_again::SaidAgain;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use waits::Waits;

/// A moment: the number of things that clients have said before it.
pub type Moment = u64;
/// A client's life, by the number of its first program: one that is killed and starts again is another. And a program of it, which does one thing after
/// the other.
pub type ClientId = u32;
/// Programs that a client may have.
pub const PROGRAMS: ClientId = 2;

/// The client of a program.
fn client_of(program: ClientId) -> ClientId {
    program / PROGRAMS * PROGRAMS
}

fn programs_of(client: ClientId) -> impl Iterator<Item = ClientId> {
    (0..PROGRAMS).map(move |program| client + program)
}

/// The invariant of what is looked for.
const SUSPECTED: &str = "suspected";

/// All that clients have said.
#[derive(Default)]
pub struct Ledger {
    now: Moment,
    /// Cells of files, and names whose file is replaced as a whole.
    pub registers: BTreeMap<(String, u32), Register>,
    /// By file.
    pub appended: BTreeMap<String, Appended>,
    pub exclusive: Exclusive,
    pub data_moves: DataMoves,
    /// By directory.
    pub names: BTreeMap<String, History>,
    pub waits: Waits,
    /// By what is locked.
    pub inside: BTreeMap<String, Inside>,
    /// Until when (nanoseconds of the simulation) what a client writes may be lost before it is synced: it is cut off, or
    /// stands still, and may have lost its sessions. Client 0: all of them, a disk fails.
    doubts: BTreeMap<ClientId, u64>,
    said_again: SaidAgain,
    /// How inodes begin whose files are not mirrored.
    pub plain: Vec<String>,
    /// Inodes of which bits have flipped on a disk: reading them may say so.
    pub damaged: BTreeSet<String>,
    /// Slots of the directories that clients work in.
    pub busy: Vec<Slot>,
    pub findings: Vec<String>,
    /// What is looked for as if it were wrong: the name of a count.
    pub suspect: Option<String>,
    /// Accidents that there were, and operations that were begun at each client's place; with those that are left out.
    pub accidents: u64,
    pub operations: BTreeMap<u64, u64>,
    /// A client was told that something is synced, since an accident last asked.
    told_synced: bool,
    /// What was done, for people.
    pub counts: BTreeMap<String, u64>,
    /// The largest of each.
    pub most: BTreeMap<String, u64>,
}

impl Ledger {
    /// A moment later than all before.
    pub fn tick(&mut self) -> Moment {
        self.now += 1;
        self.now
    }

    /// A client was told that something is synced.
    pub fn tell_synced(&mut self) {
        self.told_synced = true;
    }

    /// Whether one was since this was asked last.
    pub fn take_told_synced(&mut self) -> bool {
        std::mem::take(&mut self.told_synced)
    }

    /// Notes what is wrong.
    pub fn found(&mut self, invariant: &str, what: Option<String>) {
        if let Some(what) = what {
            self.findings.push(format!("{invariant}: {what}"));
        }
    }

    /// Notes that something was done.
    pub fn count(&mut self, what: &str) {
        *self.counts.entry(what.into()).or_default() += 1;
        if self.suspect.as_deref() == Some(what) && !self.findings.iter().any(|found| found.starts_with(SUSPECTED)) {
            self.findings.push(format!("{SUSPECTED}: {what}"));
        }
    }

    /// The number of the next operation at a client's place.
    pub fn next_operation(&mut self, place: u64) -> u64 {
        let next = self.operations.entry(place).or_default();
        *next += 1;
        *next - 1
    }

    /// A client is gone.
    pub fn gone(&mut self, client: ClientId, at: u64) {
        for program in programs_of(client) {
            self.lost(program, at);
            self.waits.end(program);
        }
    }

    /// A program was told that it has lost what it had not synced. What the others of its client have not may be lost as well.
    pub fn told_of_loss(&mut self, program: ClientId, at: u64) {
        self.lost(program, at);
        for other in programs_of(client_of(program)).filter(|other| *other != program) {
            self.may_be_fenced(other);
            self.exclusive.lost(other, at);
            self.leaves(other);
        }
    }

    fn lost(&mut self, program: ClientId, at: u64) {
        let now = self.tick();
        self.registers.values_mut().for_each(|register| register.lost(program, now));
        self.appended.values_mut().for_each(|appended| appended.lost(Some(program)));
        self.exclusive.lost(program, at);
        self.names.values_mut().for_each(|names| names.gone(program, at + exclusive::LATE));
        if self.said_again.is_gone(at) {
            self.rests_on_what_is_lost(at);
        }
        self.leaves(program);
    }

    /// A client may lose its sessions and locks until then, and not know it.
    pub fn away(&mut self, client: ClientId, now: u64, until: u64) {
        let doubt = self.doubts.entry(client).or_default();
        *doubt = until.max(*doubt);
        if self.said_again.may_be_gone(now) {
            self.rests_on_what_is_lost(now);
        }
        for program in programs_of(client) {
            self.leaves(program);
            self.may_be_fenced(program);
        }
    }

    /// A client is back earlier than was said.
    pub fn back_by(&mut self, client: ClientId, until: u64) {
        self.doubts.entry(client).and_modify(|doubt| *doubt = until.min(*doubt));
    }

    /// Servers that would tell clients of what they have lost are away for a while.
    pub fn tell_later(&mut self, now: u64, until: u64) {
        let clients = self.doubts.iter_mut().filter(|(client, doubt)| **client != 0 && **doubt > now);
        clients.for_each(|(_, doubt)| *doubt = until.max(*doubt));
    }

    /// It has no lock any more, or may have none.
    fn leaves(&mut self, program: ClientId) {
        self.inside.values_mut().for_each(|inside| inside.leave(program));
    }

    /// All that is not synced until then may be lost: a disk fails.
    pub fn disk_fails(&mut self, until: u64) {
        let doubt = self.doubts.entry(0).or_default();
        *doubt = until.max(*doubt);
        self.may_be_lost(None);
        self.exclusive.may_be_lost(until);
        self.names.values_mut().for_each(|names| names.shake(until));
    }

    /// Whether what a program does now is in doubt.
    pub fn is_in_doubt(&self, program: ClientId, now: u64) -> bool {
        [0, client_of(program)].iter().any(|client| self.doubts.get(client).is_some_and(|until| *until > now))
    }

    /// What a program has done just now is in doubt, if anything of its client is.
    pub fn doubt(&mut self, program: ClientId, now: u64) {
        if !self.is_in_doubt(program, now) {
            return;
        }
        match self.doubts.get(&client_of(program)) {
            Some(until) if *until > now => self.may_be_fenced(program),
            _ => self.may_be_lost(Some(program)),
        }
        self.leaves(program);
    }

    fn may_be_fenced(&mut self, program: ClientId) {
        self.registers.values_mut().for_each(|register| register.may_be_fenced(program));
        self.appended.values_mut().for_each(|appended| appended.lost(Some(program)));
    }

    fn may_be_lost(&mut self, client: Option<ClientId>) {
        self.registers.values_mut().for_each(|register| register.may_be_lost(client));
        self.appended.values_mut().for_each(|appended| appended.lost(client));
    }

    /// Servers lost power at a time: what clients have not synced may be gone, which the next sync tells. Where only metadata servers did,
    /// nothing is gone, as long as all clients live.
    pub fn power_cut(&mut self, now: u64, only_metadata: bool) {
        let all_well = !self.doubts.values().any(|until| *until > now);
        let whole = only_metadata && self.said_again.cut(now, all_well);
        self.count(if whole {
            "fault: power cut that loses nothing"
        } else {
            "fault: power cut that may lose something"
        });
        if !whole {
            self.rests_on_what_is_lost(now);
        }
    }

    /// A server's log may have been cut at the last record that was synced.
    pub fn log_is_cut(&mut self, now: u64) {
        self.rests_on_what_is_lost(now);
    }

    /// A client was told that bytes of a file are damaged. They are only where bits flipped, or a disk failed.
    pub fn told_of_damage(&mut self, what: &str, now: u64) {
        let wrong = self.damaged.is_empty() && self.doubts.get(&0).is_none_or(|until| *until <= now);
        self.found("damage is told where there is some", wrong.then(|| what.to_owned()));
    }

    /// Whatever is not synced may be lost.
    fn rests_on_what_is_lost(&mut self, now: u64) {
        self.may_be_lost(None);
        self.exclusive.may_be_lost(now);
        self.names.values_mut().for_each(|names| names.shake(now));
    }

    /// A client begins something with a name of a directory.
    pub fn begin_name(&mut self, dir: &str, client: ClientId, op: Op, now: u64) -> usize {
        self.names.entry(dir.into()).or_default().begin(client, op, now)
    }

    /// It was told something. What is told to a client in doubt counts for nothing: its request may have been sent again under another
    /// session, and be done twice, or be answered by what it has kept without a right to it.
    pub fn end_name(&mut self, dir: &str, client: ClientId, number: usize, now: u64, told: Outcome) {
        let doubt = self.is_in_doubt(client, now);
        let names = self.names.entry(dir.into()).or_default();
        match (doubt, told) {
            (false, told) => names.end(number, now, told),
            (true, _) => {
                names.end(number, now, Outcome::Unknown(now + exclusive::LATE));
                names.again(number);
            }
        }
    }

    /// Whether members of the mirror group are to have the same under a chunk file's name.
    pub fn is_mirrored(&self, name: &str) -> bool {
        self.data_moves.is_mirrored(name).unwrap_or_else(|| !self.plain.iter().any(|plain| name.starts_with(plain)))
    }

    /// Whether names are linearisable, once nobody is at them.
    pub fn judge_names(&mut self) {
        for (dir, history) in std::mem::take(&mut self.names) {
            let verdict = history.judge();
            let (what, wrong) = match verdict {
                Verdict::Fine => ("names: directories judged", None),
                Verdict::NotKnown => ("names: directories with too many orders to judge", None),
                Verdict::Wrong(what) => ("names: directories judged", Some(format!("{dir}: {what}"))),
            };
            self.count(what);
            self.found("names are linearisable", wrong);
        }
    }
}

/// The ledger of this run.
static LEDGER: Mutex<Option<Ledger>> = Mutex::new(None);

/// Looks at the ledger. Never across something that waits.
pub fn ledger<R>(work: impl FnOnce(&mut Ledger) -> R) -> R {
    let mut guard: MutexGuard<'_, Option<Ledger>> = LEDGER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    work(guard.get_or_insert_default())
}
