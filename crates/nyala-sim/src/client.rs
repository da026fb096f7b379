// SPDX-License-Identifier: Apache-2.0

//! A client: writes, truncates, reads and syncs, one request at a time, and sends again until it gets an answer.

use crate::disk::{BLOCK, MAX_BLOCKS};
use crate::event::{Asked, Blocks};
use crate::rng::Rng;
use nyala_replica::Span;
use nyala_wire::InodeId;
use nyala_wire::map::{ClusterMap, MemberState};
use nyala_wire::storage::ChunkFileId;
use std::rc::Rc;

/// Chunk files that clients share.
pub const FILES: u64 = 3;

/// A request under way.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Its number.
    pub seq: u64,
    /// What it asks for.
    pub asked: Asked,
    /// When it was sent first, microseconds.
    pub began_us: u64,
    /// Number of the last copy that was sent.
    pub attempt: u64,
    /// Number of the first copy.
    pub first_attempt: u64,
    /// When the last copy was sent.
    pub sent_us: u64,
    /// A member to read from, when one said so.
    pub read_at_primary: bool,
}

/// A client.
pub struct Client {
    /// Its number.
    pub number: usize,
    /// The map that it has.
    pub map: Rc<ClusterMap>,
    /// The request under way.
    pub pending: Option<Pending>,
    /// Last number given to a request.
    pub seq: u64,
    attempts: u64,
    /// Time between requests, microseconds.
    pub pause_us: u64,
    /// Percentage of reads.
    pub reads: u64,
    /// Requests that it got answers to.
    pub answered: u64,
    /// It makes no new requests.
    pub stopped: bool,
}

impl Client {
    /// A client that has nothing under way.
    pub fn new(number: usize, map: Rc<ClusterMap>, pause_us: u64, reads: u64) -> Client {
        let (pending, seq, attempts, answered) = (None, 0, 0, 0);
        Client { number, map, pending, seq, attempts, pause_us, reads, answered, stopped: false }
    }

    /// Thinks of a request. `tag` names each block that anybody ever writes.
    pub fn think(&mut self, rng: &mut Rng, tag: &mut u64, now_us: u64) {
        let file = ChunkFileId { inode: InodeId(1 + rng.range(0, FILES - 1)), index: 0 };
        let first = rng.range(0, MAX_BLOCKS - 1);
        let count = rng.range(1, 5.min(MAX_BLOCKS - first));
        let span = Span { start: first * BLOCK, end: (first + count) * BLOCK };
        let roll = rng.range(1, 100);
        let asked = if roll <= self.reads {
            Asked::Read(file, span)
        } else if roll <= self.reads + 4 {
            Asked::Sync
        } else {
            let to_end = rng.one_in(12);
            let count = if to_end { MAX_BLOCKS - first } else { count };
            let tags = (0..count).map(|_| {
                *tag += 1;
                *tag
            });
            let blocks = Blocks { first, tags: tags.collect() };
            Asked::Write(file, if to_end { Span { start: span.start, end: u64::MAX } } else { span }, blocks)
        };
        self.begin(asked, now_us);
    }

    /// Begins a request.
    pub fn begin(&mut self, asked: Asked, now_us: u64) {
        self.seq += 1;
        let seq = self.seq;
        self.pending = Some(Pending {
            seq,
            asked,
            began_us: now_us,
            attempt: 0,
            first_attempt: 0,
            sent_us: 0,
            read_at_primary: false,
        });
    }

    /// Sends the request (again): the member to ask, the attempt, the epoch.
    pub fn send(&mut self, rng: &mut Rng, now_us: u64) -> Option<(nyala_wire::TargetId, u64, u32)> {
        let group = self.map.groups.first()?;
        let pending = self.pending.as_mut()?;
        self.attempts += 1;
        pending.attempt = self.attempts;
        if pending.first_attempt == 0 {
            pending.first_attempt = self.attempts;
        }
        pending.sent_us = now_us;
        let good: Vec<_> =
            group.members_with_states().filter(|(_, s)| *s == MemberState::Good).map(|(t, _)| t).collect();
        let reads = matches!(pending.asked, Asked::Read(..)) && !pending.read_at_primary;
        let target = if reads && !good.is_empty() { good[rng.index(good.len())] } else { group.primary()? };
        Some((target, pending.attempt, group.epoch))
    }
}
