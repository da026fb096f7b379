// SPDX-License-Identifier: Apache-2.0

//! A storage server: the shell around a member that the real service has, with a simulated disk and a clock of its own.

use crate::disk::{Disk, Tag, blocks};
use crate::event::Blocks;
use crate::rng::Rng;
use nyala_replica::{Change, Effect, Input, Job, Member, Span, Ticket};
use nyala_wire::map::ClusterMap;
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{MapVersion, NodeId, TargetId};
use std::collections::BTreeMap;

/// Whether a server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// It runs.
    Up,
    /// Its process is dead, its host refuses connections.
    Dead,
    /// Its machine is off: nothing answers.
    Off,
}

/// Disk work under way.
#[derive(Clone, Debug)]
// The docs of a variant name its fields.
#[allow(missing_docs)]
pub enum Doing {
    /// Records up to this one will be durable.
    Persist { records: usize, durable: bool },
    /// Blocks into a file.
    Write { file: ChunkFileId, span: Span, data: Blocks },
    /// A client's read, or a region into a buffer; the first half has been read.
    Read { file: ChunkFileId, span: Span, got: Vec<Tag>, into: Option<Ticket> },
    /// A flush of what was not on disk then.
    Flush(Vec<((ChunkFileId, u64), Tag)>),
}

/// A server.
pub struct Node {
    /// Its node id.
    pub id: NodeId,
    /// Its target.
    pub target: TargetId,
    /// Whether it runs.
    pub power: Power,
    /// Number of its run; events of another run are void.
    pub boot: u64,
    /// It stands still until then (microseconds).
    pub paused_until: u64,
    /// Percent by which its clock is fast, plus 100.
    pub clock_percent: u64,
    /// Its disk.
    pub disk: Disk,
    /// Disk work takes so many times as long.
    pub slow: u64,
    /// One of so many writes fails; 0: none.
    pub fails: u64,
    /// Management has confirmed its registration.
    pub registered: bool,
    /// The member, while it runs.
    pub member: Option<Member>,
    /// Newest map that it has.
    pub has: MapVersion,
    /// Buffers.
    pub buffers: BTreeMap<Ticket, Blocks>,
    /// What reads brought.
    pub reads: BTreeMap<Job, Blocks>,
    /// Disk work under way, with whether it will work.
    pub doing: BTreeMap<Job, (Doing, bool)>,
    /// Requests that wait: client, attempt, number.
    pub waiting: BTreeMap<u64, (usize, u64, u64)>,
    /// Last token and ticket.
    pub last: u64,
    /// It lost power and has not been made good again since.
    pub lost_power: bool,
    /// Management has noticed that.
    pub found_out: bool,
    /// When it sent its last heartbeat, by its clock.
    pub beat_ms: u64,
}

impl Node {
    /// A server that is off.
    pub fn new(id: NodeId, target: TargetId, clock_percent: u64) -> Node {
        Node {
            id,
            target,
            power: Power::Off,
            boot: 0,
            paused_until: 0,
            clock_percent,
            disk: Disk::default(),
            slow: 1,
            fails: 0,
            registered: false,
            member: None,
            has: MapVersion(0),
            buffers: BTreeMap::new(),
            reads: BTreeMap::new(),
            doing: BTreeMap::new(),
            waiting: BTreeMap::new(),
            last: 0,
            lost_power: false,
            found_out: false,
            beat_ms: 0,
        }
    }

    /// Its clock, milliseconds.
    pub fn clock_ms(&self, now_us: u64) -> u64 {
        now_us * self.clock_percent / 100_000
    }

    /// The name of its present run for management.
    pub fn incarnation(&self) -> u64 {
        1000 * u64::from(self.id.0) + self.boot
    }

    /// The member handles an input.
    pub fn handle(&mut self, now_us: u64, input: Input) -> Vec<Effect> {
        let now_ms = self.clock_ms(now_us);
        self.member.as_mut().map(|member| member.handle(now_ms, input)).unwrap_or_default()
    }

    /// The process ends. Disk work under way has been done in part.
    pub fn stop(&mut self, power: Power, rng: &mut Rng) {
        self.power = power;
        self.boot += 1;
        let mut first_record = usize::MAX;
        for (doing, _) in std::mem::take(&mut self.doing).into_values() {
            match doing {
                Doing::Persist { records, .. } => first_record = first_record.min(records - 1),
                Doing::Write { file, span, data } => self.write_part(file, span, &data, rng),
                Doing::Read { .. } | Doing::Flush(_) => {}
            }
        }
        self.disk.kill(first_record, rng);
        if power == Power::Off {
            (self.lost_power, self.found_out) = (true, false);
            self.disk.cut_power(rng);
        }
        self.member = None;
        self.registered = false;
        self.has = MapVersion(0);
        self.paused_until = 0;
        self.buffers.clear();
        self.reads.clear();
        self.waiting.clear();
    }

    fn write_part(&mut self, file: ChunkFileId, span: Span, data: &Blocks, rng: &mut Rng) {
        for block in blocks(span) {
            if rng.percent(50) {
                self.put(file, block, data);
            }
        }
    }

    fn put(&mut self, file: ChunkFileId, block: u64, data: &Blocks) {
        let tag = block.checked_sub(data.first).and_then(|at| data.tags.get(at as usize)).copied().unwrap_or(0);
        self.disk.put(file, block, tag);
    }

    /// Begins disk work.
    pub fn begin(&mut self, effect: Effect, rng: &mut Rng) -> Option<Job> {
        let fails = self.fails > 0 && rng.one_in(self.fails);
        let (job, doing, ok) = match effect {
            Effect::Persist { job, rows, durable } => {
                let records = self.disk.append(rows);
                (job, Doing::Persist { records, durable }, true)
            }
            Effect::Apply { job, change: Change { file, span }, payload }
            | Effect::WriteRegion { job, file, span, from: payload } => {
                let data = self.buffers.get(&payload).cloned().unwrap_or(Blocks { first: 0, tags: Vec::new() });
                (job, Doing::Write { file, span, data }, !fails)
            }
            Effect::Read { job, file, span } => (job, self.begin_read(file, span, None), true),
            Effect::ReadRegion { job, file, span, into } => (job, self.begin_read(file, span, Some(into)), true),
            Effect::Flush { job } => (job, Doing::Flush(self.disk.unflushed()), true),
            _ => return None,
        };
        self.doing.insert(job, (doing, ok));
        Some(job)
    }

    fn begin_read(&self, file: ChunkFileId, span: Span, into: Option<Ticket>) -> Doing {
        let range = blocks(span);
        let half = range.start..range.start + (range.end - range.start) / 2;
        Doing::Read { file, span, got: half.map(|block| self.disk.get(file, block)).collect(), into }
    }

    /// Disk work ends: what the member is told.
    pub fn end(&mut self, job: Job, rng: &mut Rng) -> Option<Input> {
        let (doing, ok) = self.doing.remove(&job)?;
        let mut last = false;
        match doing {
            Doing::Persist { records, durable } => {
                if durable {
                    self.disk.make_durable(records);
                    self.disk.compact();
                }
            }
            Doing::Write { file, span, data } if ok => {
                blocks(span).for_each(|block| self.put(file, block, &data));
            }
            Doing::Write { file, span, data } => self.write_part(file, span, &data, rng),
            Doing::Read { file, span, mut got, into } => {
                let range = blocks(span);
                let rest = range.start + got.len() as u64..range.end;
                got.extend(rest.map(|block| self.disk.get(file, block)));
                last = self.disk.len(file) <= range.end;
                let data = Blocks { first: range.start, tags: got };
                match into {
                    Some(ticket) => self.buffers.insert(ticket, data),
                    None => self.reads.insert(job, data),
                };
            }
            Doing::Flush(blocks) => self.disk.flushed(&blocks),
        }
        Some(Input::Done { job, ok, last })
    }

    /// A newer map, unless it is an old one.
    pub fn takes_map(&mut self, map: &ClusterMap) -> bool {
        let newer = self.registered && map.version > self.has;
        if newer {
            self.has = map.version;
        }
        newer
    }
}
