// SPDX-License-Identifier: Apache-2.0

//! What has to hold, one file each. The clients say what they do and what they are told; nothing here is read from servers.

pub mod append;
pub mod exclusive;
pub mod locks;
pub mod mirrors;
pub mod register;
pub mod said_again;

use append::Appended;
use exclusive::Exclusive;
use locks::Inside;
use nyala_wire::Slot;
use register::Register;
use said_again::SaidAgain;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// A moment: the number of things that clients have said before it.
pub type Moment = u64;
/// A client's life: one that is killed and starts again is another.
pub type ClientId = u32;

/// All that clients have said.
#[derive(Default)]
pub struct Ledger {
    now: Moment,
    /// Cells of files, and names whose file is replaced as a whole.
    pub registers: BTreeMap<(String, u32), Register>,
    /// By file.
    pub appended: BTreeMap<String, Appended>,
    pub exclusive: Exclusive,
    /// By what is locked.
    pub inside: BTreeMap<String, Inside>,
    /// Until when (nanoseconds of the simulation) what a client writes may be lost before it is synced: it is cut off, or
    /// stands still, and may have lost its sessions. Client 0: all of them, a disk fails.
    doubts: BTreeMap<ClientId, u64>,
    said_again: SaidAgain,
    /// How inodes begin whose files are not mirrored.
    pub plain: Vec<String>,
    /// Slots of the directories that clients work in.
    pub busy: Vec<Slot>,
    pub findings: Vec<String>,
    /// A client was told that something is synced, since an accident last asked.
    told_synced: bool,
    /// What was done, for people.
    pub counts: BTreeMap<String, u64>,
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
    }

    /// A client is gone, or was told that it has lost what it had not synced.
    pub fn lost(&mut self, client: ClientId, at: u64) {
        let now = self.tick();
        self.registers.values_mut().for_each(|register| register.lost(client, now));
        self.appended.values_mut().for_each(|appended| appended.lost(Some(client)));
        self.exclusive.lost(client, at);
        if self.said_again.is_gone(at) {
            self.rests_on_what_is_lost(at);
        }
        self.leaves(client);
    }

    /// A client may lose its sessions and locks until then, and not know it.
    pub fn away(&mut self, client: ClientId, now: u64, until: u64) {
        self.leaves(client);
        let doubt = self.doubts.entry(client).or_default();
        *doubt = until.max(*doubt);
        if self.said_again.may_be_gone(now) {
            self.rests_on_what_is_lost(now);
        }
        self.may_be_fenced(client);
    }

    /// It has no lock any more, or may have none.
    fn leaves(&mut self, client: ClientId) {
        self.inside.values_mut().for_each(|inside| inside.leave(client));
    }

    /// All that is not synced until then may be lost: a disk fails.
    pub fn disk_fails(&mut self, until: u64) {
        let doubt = self.doubts.entry(0).or_default();
        *doubt = until.max(*doubt);
        self.may_be_lost(None);
        self.exclusive.may_be_lost(until);
    }

    /// Whether what a client does now is in doubt.
    pub fn is_in_doubt(&self, client: ClientId, now: u64) -> bool {
        [0, client].iter().any(|client| self.doubts.get(client).is_some_and(|until| *until > now))
    }

    /// What a client has done just now is in doubt, if anything of it is.
    pub fn doubt(&mut self, client: ClientId, now: u64) {
        if !self.is_in_doubt(client, now) {
            return;
        }
        match self.doubts.get(&client) {
            Some(until) if *until > now => self.may_be_fenced(client),
            _ => self.may_be_lost(Some(client)),
        }
        self.leaves(client);
    }

    fn may_be_fenced(&mut self, client: ClientId) {
        self.registers.values_mut().for_each(|register| register.may_be_fenced(client));
        self.appended.values_mut().for_each(|appended| appended.lost(Some(client)));
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

    /// Whatever is not synced may be lost.
    fn rests_on_what_is_lost(&mut self, now: u64) {
        self.may_be_lost(None);
        self.exclusive.may_be_lost(now);
    }
}

/// The ledger of this run.
static LEDGER: Mutex<Option<Ledger>> = Mutex::new(None);

/// Looks at the ledger. Never across something that waits.
pub fn ledger<R>(work: impl FnOnce(&mut Ledger) -> R) -> R {
    let mut guard: MutexGuard<'_, Option<Ledger>> = LEDGER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    work(guard.get_or_insert_default())
}
