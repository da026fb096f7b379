// SPDX-License-Identifier: Apache-2.0

//! Pure: one target's part in a mirror group of metadata targets, whose members have one log of changes.
//!
//! The primary numbers its records, sends them to the members, and answers for a record when every member that the map calls good
//! has written it. Who is good, who is primary and in which term is decided by management, as for storage
//! ([`nyala_cluster`], [`crate::role`]). A shell feeds a [`LogMember`] with [`LogInput`]s and carries out its [`LogEffect`]s.
//!
//! | File | |
//! |---|---|
//! | `position`, `recent` | places in the log, its newest records |
//! | `map` | a newer map: roles change, rights go, duties come |
//! | `lead` | primary: records, until they are everywhere |
//! | `recovery` | a new primary's first duty: have all that any good member has |
//! | `copy` | members that lack more than the newest records are given everything |
//! | `compare` | members' tables compared at one place of the log |
//! | `follow` | member: what the primary sends |
//! | `tick` | what time brings: sending again, giving up, resync |
//!
//! **Failure model.** Messages are lost, late, repeated and reordered; members stop, lose power (the log's end is lost), come back,
//! stand still for a while and go on with an old view. What is counted on: management decides one thing at a time and hands out leases
//! that end before it gives a right to somebody else; records are lost only from the log's end; what was written survives the death
//! of the process. Therefore:
//!
//! - A good member has every record that was answered for, and so has whoever becomes primary. What a good member has beyond that was
//!   never answered for; a new primary takes it up ([`LogBody::Fetch`]), or has the member resynced.
//! - A member has records only behind ones that it shares with the primary: each message says what its records follow, by number and
//!   term. A member whose log goes on where the primary's does not is given everything.
//! - The primary writes its own log last, so that one whose process dies has nothing that others lack; it can, if the log was
//!   written for another reason, and then is given everything, too.
//! - An old primary whose records are acknowledged by nobody any more answers for none: members take only messages of their own epoch.
//!   It answers for nothing without a lease either, nor while somebody who lost a right may not know it ([`Group::is_settled`]).
//!
//! [`Group::is_settled`]: nyala_wire::map::Group::is_settled

mod compare;
mod copy;
mod follow;
pub mod io;
mod lead;
mod link;
mod map;
pub mod message;
pub mod position;
pub mod ranges;
pub mod recent;
mod recovery;
mod tick;

#[cfg(test)]
mod tests;

pub use io::{LogConfig, LogEffect, LogInput, LogState};
pub use message::{LogBody, LogEnvelope};
pub use position::{Position, Terms};
pub use ranges::{CopyState, RangeSum, Summed};
pub use recent::{Recent, Record};

use crate::input::View;
use crate::role::MemberRole;
pub use crate::rules::LogRule;
use crate::rules::log_broken;
use crate::share::Share;
use link::Link;
use nyala_cluster::{Command, MemberAt};
use nyala_wire::map::MemberState;
use nyala_wire::{GroupId, MapVersion, TargetId};
use std::collections::{BTreeMap, VecDeque};

/// A member of a mirror group of metadata targets.
#[derive(Clone, Debug)]
pub struct LogMember {
    me: TargetId,
    group: GroupId,
    config: LogConfig,
    broken: Option<LogRule>,
    now_us: u64,
    now_ms: u64,
    view: Option<View>,
    role: MemberRole,
    lease: (u64, MapVersion),
    terms: Terms,
    recent: Recent,
    /// Last records that survive the death of the process, and a power cut, here.
    written: u64,
    durable: u64,
    copying: Option<CopyState>,
    /// What the shell puts into the tables of a copy: how far that is then, `None` for the end.
    incoming: VecDeque<Option<Vec<u8>>>,
    /// As a good member it has taken a record of the newest term that it knew, since this process began: nothing is answered for without
    /// it, and all that was before is here.
    followed: bool,
    /// When something was asked of management last.
    asked: BTreeMap<(TargetId, u8), u64>,
    retry_at_ms: BTreeMap<TargetId, u64>,
    /// Members that we cannot reach, and until when that is not tried.
    silent: BTreeMap<TargetId, u64>,
    // Of a primary.
    links: BTreeMap<TargetId, Link>,
    /// The record that begins the term, once it is asked for.
    term_record: Option<u64>,
    committed: u64,
    want_durable: u64,
    told_durable: u64,
    last_copy: u64,
    share: Share,
    /// The newest copy that was begun here.
    newest_copy: u64,
    out: Vec<LogEffect>,
}

impl LogMember {
    /// A member with what it found on its disk, all of which is there.
    pub fn open(me: TargetId, group: GroupId, config: LogConfig, state: LogState) -> LogMember {
        let LogState { last, terms, copying } = state;
        LogMember {
            me,
            group,
            config,
            broken: None,
            now_us: 0,
            now_ms: 0,
            view: None,
            role: MemberRole::Unknown,
            lease: (0, MapVersion(0)),
            terms,
            recent: Recent::new(last + 1, config.recent_bytes),
            written: last,
            durable: last,
            copying,
            incoming: VecDeque::new(),
            followed: false,
            asked: BTreeMap::new(),
            retry_at_ms: BTreeMap::new(),
            silent: BTreeMap::new(),
            links: BTreeMap::new(),
            term_record: None,
            committed: 0,
            want_durable: 0,
            told_durable: 0,
            last_copy: 0,
            share: Share::new(config.share),
            newest_copy: 0,
            out: Vec::new(),
        }
    }

    /// Something happens at `now_us` (microseconds of a monotonic clock); what is to be done about it is appended.
    pub fn handle(&mut self, now_us: u64, input: LogInput, effects: &mut Vec<LogEffect>) {
        self.now_us = self.now_us.max(now_us);
        self.now_ms = self.now_us / 1000;
        match input {
            LogInput::Map(view) => self.map(view),
            LogInput::Lease { until_ms, version } => {
                self.lease = (until_ms.max(self.lease.0), version.max(self.lease.1));
                self.advance();
            }
            LogInput::Append(records) => self.append(records),
            LogInput::Written(index) => self.written_here(index),
            LogInput::Durable(index) => self.durable_here(index),
            LogInput::WantDurable(index) => self.wanted_on_disk(index),
            LogInput::Message(from, envelope, records) => self.message(from, envelope, records),
            LogInput::Refused(target) => self.refused(target),
            LogInput::Silent(target, until_ms) => {
                self.silent.insert(target, until_ms);
                self.refused(target);
            }
            LogInput::Rows { member, from, to, rows } => self.rows_read(member, &from, to, rows),
            LogInput::CopyTaken => self.copy_taken(),
            LogInput::Compare(range) => {
                let (at, good) = (self.last(), self.comparable());
                compare::ask(&mut self.links, &good, at, &range);
                self.pump_all();
            }
            LogInput::Summed(number, sum) => self.tell(LogBody::Compared { number, sum }),
            LogInput::Served { change, began_us } => self.share.request(change, 0, began_us, self.now_us),
            LogInput::Tick => self.tick(),
        }
        effects.append(&mut self.out);
    }

    /// Breaks a rule, for the simulator.
    #[cfg(feature = "mutations")]
    pub fn break_rule(&mut self, rule: LogRule) {
        self.broken = Some(rule);
    }

    /// The records in memory up to one, with their numbers, to look at.
    pub fn records_up_to(&self, up_to: u64) -> Vec<(u64, Record)> {
        let first = self.recent.first();
        (first..).zip(self.recent.behind(first - 1, up_to, usize::MAX)).collect()
    }

    fn breaks(&self, rule: LogRule) -> bool {
        log_broken(self.broken, rule)
    }

    /// What it is now.
    pub fn role(&self) -> MemberRole {
        self.role
    }

    /// Number of the last record that it has.
    pub fn last(&self) -> u64 {
        self.recent.last()
    }

    /// Whether this primary has everything that any primary before it has answered for, also what was on no disk yet. `false`: that is not
    /// known, as this process has begun since.
    pub fn has_all_answered(&self) -> bool {
        self.leads() && self.copying.is_none() && (self.followed || self.breaks(LogRule::ClaimOnlyWhatFollowed))
    }

    /// It has taken what its primary sent. The record that begins a term comes behind all that was answered for in those before.
    fn follow(&mut self) {
        let term = self.epoch().map_or(0, |(_, term)| term);
        self.followed |= self.role == MemberRole::Secondary && self.terms.term_of(self.last()) == term;
    }

    /// What it has.
    pub fn position(&self) -> Position {
        self.terms.position(self.last())
    }

    /// Last record that every good member has, as far as this primary knows.
    pub fn committed(&self) -> u64 {
        self.committed
    }

    /// Epoch and term of the newest map that it has seen.
    pub fn epoch(&self) -> Option<(u32, u32)> {
        self.view.as_ref().map(|view| (view.group.epoch, view.group.term))
    }

    /// Whether it may serve clients at `now_ms`.
    pub fn serves(&self, now_ms: u64) -> bool {
        self.role == MemberRole::Primary && self.has_lease(now_ms)
    }

    fn has_lease(&self, now_ms: u64) -> bool {
        let version = self.view.as_ref().map_or(MapVersion(0), |view| view.version);
        (now_ms < self.lease.0 && version >= self.lease.1) || self.breaks(LogRule::NeedLease)
    }

    fn leads(&self) -> bool {
        matches!(self.role, MemberRole::Recovering | MemberRole::Primary)
    }

    /// Good members, which have to hold what the primary holds.
    pub fn comparable(&self) -> Vec<TargetId> {
        self.others(|state| state == MemberState::Good)
    }

    /// Other members in a state that is asked for.
    fn others(&self, wanted: impl Fn(MemberState) -> bool) -> Vec<TargetId> {
        let members = self.view.iter().flat_map(|view| view.group.members_with_states());
        members.filter(|(target, state)| *target != self.me && wanted(*state)).map(|(target, _)| target).collect()
    }

    fn state_of(&self, target: TargetId) -> Option<MemberState> {
        self.view.as_ref()?.group.state(target)
    }

    fn send(&mut self, to: TargetId, body: LogBody, records: Vec<Record>) {
        let epoch = self.view.as_ref().map_or(0, |view| view.group.epoch);
        let envelope = LogEnvelope { group: self.group, epoch, body };
        self.out.push(LogEffect::Send(to, envelope, records));
    }

    /// To the primary: what it sent does not fit to what is here.
    fn misfit(&mut self) {
        self.tell(LogBody::Misfit);
    }

    /// To the primary.
    fn tell(&mut self, body: LogBody) {
        let primary = self.view.as_ref().and_then(|view| view.group.primary());
        primary.into_iter().for_each(|primary| self.send(primary, body.clone(), Vec::new()));
    }

    fn member_at(&self, target: TargetId) -> MemberAt {
        MemberAt { group: self.group, epoch: self.epoch().map_or(0, |(epoch, _)| epoch), target }
    }

    /// Wants a member marked needs-resync.
    fn ask_mark(&mut self, target: TargetId) {
        self.retry_at_ms.insert(target, self.now_ms + self.config.retry_ms);
        let (member, by) = (self.member_at(target), self.me);
        self.ask(target, 0, Command::MarkNeedsResync { member, by });
    }

    /// Asks management, not too often.
    fn ask(&mut self, target: TargetId, what: u8, command: Command) {
        let last = self.asked.get(&(target, what)).copied();
        if last.is_none_or(|at| self.now_ms >= at + self.config.resend_ms) {
            self.asked.insert((target, what), self.now_ms);
            self.out.push(LogEffect::Ask(command));
        }
    }

    /// Terms that begin with one of these records.
    fn terms_within(&self, after: u64, last: u64) -> Vec<(u32, u64)> {
        self.terms.iter().filter(|(_, first)| *first > after && *first <= last).collect()
    }
}
