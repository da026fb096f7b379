// SPDX-License-Identifier: Apache-2.0

//! Messages, and a member that takes what the primary sends.

use super::io::LogEffect;
use super::link::Mode;
use super::message::{LogBody, LogEnvelope};
use super::position::Position;
use super::recent::Record;
use super::{LogMember, LogRule};
use crate::role::MemberRole;
use nyala_wire::TargetId;
use nyala_wire::map::MemberState;

impl LogMember {
    pub(super) fn message(&mut self, from: TargetId, envelope: LogEnvelope, records: Vec<Record>) {
        let LogEnvelope { epoch, body, .. } = envelope;
        let mine = self.view.as_ref().map_or(0, |view| view.group.epoch);
        if self.view.is_none() || epoch != mine {
            if body == LogBody::Behind || epoch > mine {
                self.out.push(LogEffect::FetchMap);
            } else {
                self.send(from, LogBody::Behind, Vec::new());
            }
            return;
        }
        match body {
            LogBody::Behind => {}
            LogBody::StatusIs { .. }
            | LogBody::Have { .. }
            | LogBody::Misfit
            | LogBody::Fetched { .. }
            | LogBody::Copied { .. }
            | LogBody::Compared { .. } => {
                if self.leads() {
                    self.hear_member(from, body, records);
                }
            }
            _ => self.hear_primary(from, body, records),
        }
    }

    fn hear_member(&mut self, from: TargetId, body: LogBody, records: Vec<Record>) {
        match body {
            LogBody::StatusIs { position, copying } => self.found(from, position, copying),
            LogBody::Have { index, durable } => self.member_has(from, index, durable),
            LogBody::Fetched { after, terms } => self.fetched(from, after, &terms, records),
            LogBody::Copied { copy, cursor, done } => self.copied(from, copy, cursor, done),
            LogBody::Compared { number, sum } => self.out.push(LogEffect::Compared(from, number, sum)),
            LogBody::Misfit => {
                let good = self.state_of(from) == Some(MemberState::Good);
                let Some(link) = self.links.get_mut(&from) else { return };
                link.heard();
                if good || link.caught_up {
                    // It is not what it has to be.
                    return self.ask_mark(from);
                }
                (link.mode, link.found) = (Mode::Unknown, None);
                self.pump(from);
            }
            _ => {}
        }
    }

    fn hear_primary(&mut self, from: TargetId, body: LogBody, mut records: Vec<Record>) {
        let primary = self.view.as_ref().and_then(|view| view.group.primary());
        let resyncs = self.role == MemberRole::Resyncing;
        if primary != Some(from) || !(resyncs || self.role == MemberRole::Secondary) {
            return;
        }
        match body {
            LogBody::Status => {
                let (position, copying) = (self.position(), self.copying.clone());
                self.tell(LogBody::StatusIs { position, copying });
            }
            LogBody::Append { after, terms, durable_to, question } => {
                let at = after.index + records.len() as u64;
                if self.take_records(after, &terms, durable_to, records) {
                    let now = question.filter(|_| at == self.last());
                    now.into_iter().for_each(|range| self.out.push(LogEffect::SumUp(range)));
                }
            }
            LogBody::Fetch { after } => {
                let (last, bytes) = (self.last(), self.config.append_bytes);
                let known = self.terms.contain(after, last) && self.recent.follow(after.index);
                let found = if known { self.recent.behind(after.index, last, bytes) } else { Vec::new() };
                let terms = self.terms_within(after.index, after.index + found.len() as u64);
                self.send(from, LogBody::Fetched { after, terms }, found);
            }
            LogBody::CopyBegin { copy, position, terms } if resyncs => self.take_copy_begin(copy, position, &terms),
            LogBody::CopyRows { copy, at, from, to } if resyncs => {
                if let Some(rows) = records.pop() {
                    self.take_rows(copy, at, (from, to), rows);
                }
            }
            _ => {}
        }
    }

    /// Records of the primary's, as far as they follow what is here; whether they do.
    fn take_records(&mut self, after: Position, terms: &[(u32, u64)], to_disk: u64, mut records: Vec<Record>) -> bool {
        let lax = self.breaks(LogRule::SameHistory);
        let shares = self.terms.contain(after, self.last());
        if !shares && (!lax || after.index > self.last()) {
            self.misfit();
            return false;
        }
        // What is here already was sent again.
        let known = usize::try_from(self.last() - after.index).unwrap_or(usize::MAX).min(records.len());
        let theirs = terms.iter().rev().find(|(_, first)| *first <= after.index + known as u64);
        if !lax && self.terms.term_of(after.index + known as u64) != theirs.map_or(after.term, |(term, _)| *term) {
            self.misfit();
            return false;
        }
        records.drain(..known);
        self.take_in(terms, records);
        self.follow();
        let to_disk = to_disk.min(self.last());
        if to_disk > self.durable {
            self.out.push(LogEffect::Sync(to_disk));
        }
        if self.written >= self.last() {
            self.tell_primary();
        }
        true
    }

    /// Takes up the records that follow the last one here.
    pub(super) fn take_in(&mut self, terms: &[(u32, u64)], records: Vec<Record>) {
        if records.is_empty() {
            return;
        }
        let first = self.last() + 1;
        records.iter().for_each(|record| self.recent.push(record.clone()));
        let last = self.last();
        terms.iter().filter(|(_, at)| *at >= first && *at <= last).for_each(|(term, at)| self.terms.begin(*term, *at));
        if !self.leads() {
            self.recent.trim(u64::MAX);
        }
        self.out.push(LogEffect::Apply { first, records });
    }

    /// What is here, for the primary.
    pub(super) fn tell_primary(&mut self) {
        if matches!(self.role, MemberRole::Secondary | MemberRole::Resyncing) {
            let (index, durable) = (self.written, self.durable.min(self.written));
            self.tell(LogBody::Have { index, durable });
        }
    }
}
