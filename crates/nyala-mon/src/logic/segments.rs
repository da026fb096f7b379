// SPDX-License-Identifier: Apache-2.0

//! The segments of one tier, oldest first; the last one may be open.

use super::block::Block;
use super::record::{Codec, MAGIC};
use super::series::Key;
use std::collections::VecDeque;
use std::sync::Arc;

/// Rounds of a segment.
const ROUNDS: usize = 60;

/// Rounds that are a file on disk.
#[derive(Debug)]
pub struct Segment {
    /// The time of its first round.
    pub id: u64,
    /// The same in memory.
    pub block: Block,
    /// Bytes of the file.
    pub disk: u64,
}

/// All segments of a tier.
#[derive(Debug, Default)]
pub struct Segments {
    /// Oldest first.
    pub segments: VecDeque<Segment>,
    open: Option<Codec>,
}

impl Segments {
    /// Time of the last round.
    pub fn last_ms(&self) -> Option<u64> {
        self.segments.back()?.block.times().last().copied()
    }

    /// Takes the next one from disk, if it has rounds; `open` goes on with it, unless it is full or another one follows.
    pub fn restore(&mut self, segment: Segment, open: Codec) {
        if segment.block.times().is_empty() {
            return;
        }
        self.open = (segment.block.times().len() < ROUNDS).then_some(open);
        self.segments.push_back(segment);
    }

    /// Adds a round; the segment that it is in, and what comes to the end of its file.
    pub fn append(&mut self, time_ms: u64, values: &[(Arc<Key>, i64)]) -> (u64, Vec<u8>) {
        let mut bytes = Vec::new();
        if self.open.is_none() {
            bytes.extend(MAGIC);
            self.segments.push_back(Segment { id: time_ms, block: Block::default(), disk: 0 });
        }
        bytes.extend(self.open.get_or_insert_default().encode(time_ms, values));
        let Some(segment) = self.segments.back_mut() else { return (time_ms, bytes) };
        segment.block.push(time_ms, values);
        segment.disk += bytes.len() as u64;
        if segment.block.times().len() >= ROUNDS {
            self.open = None;
        }
        (segment.id, bytes)
    }

    /// Removes the segments with rounds at or after this time.
    pub fn forget_from(&mut self, time_ms: u64) -> Vec<u64> {
        let late = |segment: &mut Segment| segment.block.times().last().is_some_and(|last| *last >= time_ms);
        let mut removed = Vec::new();
        while let Some(segment) = self.segments.pop_back_if(late) {
            removed.push(segment.id);
            self.open = None;
        }
        removed
    }

    /// Removes the first.
    pub fn remove_oldest(&mut self) -> Option<u64> {
        let segment = self.segments.pop_front();
        if self.segments.is_empty() {
            self.open = None;
        }
        segment.map(|segment| segment.id)
    }
}
