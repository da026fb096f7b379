// SPDX-License-Identifier: Apache-2.0

//! A metadata target: the shell around a member, tables in memory, and what of them is written and on disk.

use crate::node::Power;
use crate::rng::Rng;
use nyala_replica::log::{CopyState, LogConfig, LogEffect, LogInput, LogMember, LogState, Record, Summed, Terms};
use nyala_wire::{GroupId, MapVersion, NodeId, TargetId};
use std::collections::BTreeMap;

/// Tables at some moment.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Which record set each key last.
    pub rows: BTreeMap<u8, u64>,
    /// Where the log is.
    pub state: LogState,
}

/// A record: a key and the record's value, or the beginning of a term.
pub fn record(key: u8, value: u64) -> Record {
    let mut bytes = vec![key];
    bytes.extend(value.to_le_bytes());
    bytes.into()
}

/// The key of records that begin a term.
pub const TERM: u8 = u8::MAX;

/// Keys and values of a record, or of rows.
pub fn pairs(record: &[u8]) -> impl Iterator<Item = (u8, u64)> + '_ {
    record.chunks_exact(9).map(|pair| (pair[0], u64::from_le_bytes(pair[1..].try_into().unwrap_or_default())))
}

impl Tables {
    /// Applies the record with this number.
    pub fn apply(&mut self, index: u64, record: &Record) {
        assert_eq!(index, self.state.last + 1, "records are applied in order");
        self.state.last = index;
        for (key, value) in pairs(record) {
            match key {
                TERM => self.state.terms.begin(value as u32, index),
                _ => drop(self.rows.insert(key, value)),
            }
        }
    }
}

/// A member.
pub struct Node {
    /// Its node id.
    pub id: NodeId,
    /// Its target.
    pub target: TargetId,
    /// Whether it runs.
    pub power: Power,
    /// Number of its run.
    pub boot: u64,
    /// It stands still until then, microseconds.
    pub paused_until: u64,
    /// Percent by which its clock is fast, plus 100.
    pub clock_percent: u64,
    /// Management has confirmed its registration.
    pub registered: bool,
    /// Newest map that it has.
    pub has: MapVersion,
    /// When it sent its last heartbeat, by its clock.
    pub beat_ms: u64,
    /// The member, while it runs.
    pub member: Option<LogMember>,
    /// It serves clients, in this term.
    pub leads: Option<u32>,
    /// What is applied, what survives the process, what survives a power cut; the versions in between may survive one.
    pub applied: Tables,
    /// See [`Node::applied`].
    pub written: Tables,
    /// See [`Node::applied`].
    pub versions: Vec<Tables>,
    /// Records of a primary that are applied and not written.
    pub unwritten: Vec<(u64, Record)>,
}

impl Node {
    /// A target that is off.
    pub fn new(id: NodeId, target: TargetId, clock_percent: u64) -> Node {
        Node {
            id,
            target,
            power: Power::Off,
            boot: 0,
            paused_until: 0,
            clock_percent,
            registered: false,
            has: MapVersion(0),
            beat_ms: 0,
            member: None,
            leads: None,
            applied: Tables::default(),
            written: Tables::default(),
            versions: vec![Tables::default()],
            unwritten: Vec::new(),
        }
    }

    /// Its clock, microseconds.
    pub fn clock_us(&self, now_us: u64) -> u64 {
        now_us * self.clock_percent / 100
    }

    /// The same in milliseconds.
    pub fn clock_ms(&self, now_us: u64) -> u64 {
        self.clock_us(now_us) / 1000
    }

    /// The name of its present run for management.
    pub fn incarnation(&self) -> u64 {
        1000 * u64::from(self.id.0) + self.boot
    }

    /// Its process starts.
    pub fn start(&mut self, group: GroupId, config: LogConfig) {
        (self.power, self.boot) = (Power::Up, self.boot + 1);
        // Opening its tables, it puts on disk what it found.
        self.versions = vec![self.written.clone()];
        self.member = Some(LogMember::open(self.target, group, config, self.written.state.clone()));
    }

    /// Its process ends, or its machine.
    pub fn stop(&mut self, power: Power, rng: &mut Rng) {
        (self.power, self.boot) = (power, self.boot + 1);
        if power == Power::Off {
            let at = rng.index(self.versions.len());
            self.written = self.versions[at].clone();
            self.versions = vec![self.written.clone()];
        }
        self.applied = self.written.clone();
        (self.member, self.leads, self.registered, self.has) = (None, None, false, MapVersion(0));
        (self.paused_until, self.unwritten) = (0, Vec::new());
    }

    /// The member handles an input.
    pub fn handle(&mut self, now_us: u64, input: LogInput) -> Vec<LogEffect> {
        let (clock_us, mut effects) = (self.clock_us(now_us), Vec::new());
        self.member.iter_mut().for_each(|member| member.handle(clock_us, input.clone(), &mut effects));
        effects
    }

    /// Writes all that is applied up to a record.
    pub fn write(&mut self, up_to: u64) {
        let later = self.unwritten.iter().position(|(index, _)| *index > up_to).unwrap_or(self.unwritten.len());
        for (index, record) in self.unwritten.drain(..later) {
            self.written.apply(index, &record);
        }
        self.versions.push(self.written.clone());
    }

    /// What is written as a whole.
    pub fn write_all(&mut self) {
        self.unwritten.clear();
        self.written = self.applied.clone();
        self.versions.push(self.written.clone());
    }

    /// Rows from a key on, as one record, and the key behind them.
    pub fn read_rows(&self, from: &[u8]) -> (Vec<u8>, Record) {
        let from = from.first().copied().unwrap_or(0);
        let rows: Vec<(u8, u64)> = self.applied.rows.range(from..).take(4).map(|(key, value)| (*key, *value)).collect();
        let to =
            if rows.len() < 4 { Vec::new() } else { rows.last().map(|(key, _)| vec![key + 1]).unwrap_or_default() };
        let bytes: Vec<u8> = rows.iter().flat_map(|(key, value)| record(*key, *value).to_vec()).collect();
        (to, bytes.into())
    }

    /// Its rows, summed up.
    pub fn sum(&self) -> Summed {
        let rows = &self.applied.rows;
        let mixed = rows.iter().fold(7_u64, |hash, (key, value)| {
            (hash ^ u64::from(*key)).wrapping_mul(0x0100_0000_01b3).rotate_left(17) ^ value.wrapping_mul(0x9e37_79b9)
        });
        Summed { rows: rows.len() as u32, hash: mixed }
    }

    /// A copy begins.
    pub fn begin_copy(&mut self, state: CopyState, last: u64, terms: &[(u32, u64)]) {
        let terms = Terms::new(terms.iter().copied());
        self.applied.state = LogState { last, terms, copying: Some(state) };
        self.write_all();
    }

    /// A part of a copy.
    pub fn put_rows(&mut self, range: (&[u8], &[u8]), rows: &Record, copy: u64) {
        let (from, to) = (range.0.first().copied().unwrap_or(0), range.1.first().copied());
        self.applied.rows.retain(|key, _| *key < from || to.is_some_and(|to| *key >= to));
        self.applied.rows.extend(pairs(rows));
        self.applied.state.copying = to.map(|to| CopyState { copy, cursor: vec![to] });
        self.write_all();
        if to.is_none() {
            self.versions = vec![self.written.clone()];
        }
    }
}
