// SPDX-License-Identifier: Apache-2.0

//! A server's disk work: begun now, ended later, done in between.

use crate::disk::{BLOCK, blocks};
use crate::event::Blocks;
use crate::node::{Doing, Node};
use crate::rng::Rng;
use nyala_replica::{Change, Effect, FENCES, Input, Job, Span, Ticket};
use nyala_wire::storage::ChunkFileId;

impl Node {
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
            Effect::Read { job, file, span, .. } => (job, self.begin_read(file, span, None), true),
            Effect::ReadRegion { job, file, span, into, .. } => (job, self.begin_read(file, span, Some(into)), true),
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
        let (mut last, mut bytes) = (false, 0);
        match doing {
            Doing::Persist { records, durable } => {
                if durable {
                    self.disk.make_durable(records);
                    self.disk.compact();
                }
            }
            Doing::Write { file: FENCES, data, .. } => self.disk.fences.extend(data.tags),
            Doing::Write { file, span, data } if ok => {
                blocks(span).for_each(|block| self.put(file, block, &data));
            }
            Doing::Write { file, span, data } => self.write_part(file, span, &data, rng),
            Doing::Read { file: FENCES, into, .. } => {
                last = true;
                let data = Blocks { first: 0, tags: self.disk.fences.iter().copied().collect() };
                into.into_iter().for_each(|ticket| drop(self.buffers.insert(ticket, data.clone())));
            }
            Doing::Read { file, span, mut got, into } => {
                let range = blocks(span);
                let rest = range.start + got.len() as u64..range.end;
                got.extend(rest.map(|block| self.disk.get(file, block)));
                last = self.disk.len(file) <= range.end;
                bytes = got.len() as u64 * BLOCK;
                let data = Blocks { first: range.start, tags: got };
                match into {
                    Some(ticket) => self.buffers.insert(ticket, data),
                    None => self.reads.insert(job, data),
                };
            }
            Doing::Flush(blocks) => self.disk.flushed(&blocks),
        }
        Some(Input::Done { job, ok, last, bytes })
    }
}
