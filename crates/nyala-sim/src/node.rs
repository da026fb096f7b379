// SPDX-License-Identifier: Apache-2.0

//! A storage server: the shell around a member that the real service has, with a simulated disk and a clock of its own.

use crate::disk::{Disk, Tag, Unflushed, blocks};
use crate::event::Blocks;
use crate::rng::Rng;
use nyala_replica::{Effect, FENCES, Input, Job, Member, Span, Ticket};
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
    Flush(Vec<Unflushed>),
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

    /// Its clock, microseconds.
    pub fn clock_us(&self, now_us: u64) -> u64 {
        now_us * self.clock_percent / 100
    }

    /// Its clock, milliseconds.
    pub fn clock_ms(&self, now_us: u64) -> u64 {
        self.clock_us(now_us) / 1000
    }

    /// The name of its present run for management.
    pub fn incarnation(&self) -> u64 {
        1000 * u64::from(self.id.0) + self.boot
    }

    /// The member handles an input.
    pub fn handle(&mut self, now_us: u64, input: Input) -> Vec<Effect> {
        let now_us = self.clock_us(now_us);
        self.member.as_mut().map(|member| member.handle(now_us, input)).unwrap_or_default()
    }

    /// The process ends. Disk work under way has been done in part.
    pub fn stop(&mut self, power: Power, rng: &mut Rng) {
        self.power = power;
        self.boot += 1;
        let mut first_record = usize::MAX;
        for (doing, _) in std::mem::take(&mut self.doing).into_values() {
            match doing {
                Doing::Persist { records, .. } => first_record = first_record.min(records - 1),
                Doing::Write { file: FENCES, .. } => {}
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

    pub(crate) fn write_part(&mut self, file: ChunkFileId, span: Span, data: &Blocks, rng: &mut Rng) {
        for block in blocks(span) {
            if rng.percent(50) {
                self.put(file, block, data);
            }
        }
    }

    pub(crate) fn put(&mut self, file: ChunkFileId, block: u64, data: &Blocks) {
        let tag = block.checked_sub(data.first).and_then(|at| data.tags.get(at as usize)).copied().unwrap_or(0);
        self.disk.put(file, block, tag);
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
