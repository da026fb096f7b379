// SPDX-License-Identifier: Apache-2.0

//! A simulated disk: chunk files of numbered blocks and a log of rows.
//!
//! **Failure model.** A process that dies loses nothing that was written, and of disk work under way any part may have been
//! done. A machine that loses power loses, keeps or tears every block that was not flushed, and keeps of the log at least what
//! was made durable and then any number of further records, in order.

use crate::rng::Rng;
use nyala_replica::{Row, RowKey, Runs, Span};
use nyala_wire::storage::ChunkFileId;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a block.
pub const BLOCK: u64 = 4096;
/// Blocks of the longest file.
pub const MAX_BLOCKS: u64 = 16;

/// What a block holds: the name of the write that filled it. 0: a hole.
pub type Tag = u64;

/// The blocks of a span, within the longest file.
pub fn blocks(span: Span) -> std::ops::Range<u64> {
    (span.start / BLOCK).min(MAX_BLOCKS)..span.end.div_ceil(BLOCK).min(MAX_BLOCKS)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cell {
    cached: Tag,
    durable: Tag,
    /// Number of the write that brought what is cached, and of the one that brought what is on disk.
    written: u64,
    flushed: u64,
}

/// A block that is not on disk: its place, what it holds, the number of the write that brought it.
pub type Unflushed = ((ChunkFileId, u64), Tag, u64);

/// A disk.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    cells: BTreeMap<(ChunkFileId, u64), Cell>,
    log: Vec<Vec<Row>>,
    /// Records that are on disk for good.
    durable_records: usize,
    torn: u64,
    /// Fenced sessions; on disk when they are here.
    pub fences: BTreeSet<Tag>,
}

impl Disk {
    /// What a block reads as.
    pub fn get(&self, file: ChunkFileId, block: u64) -> Tag {
        self.cells.get(&(file, block)).map_or(0, |cell| cell.cached)
    }

    /// What a block would be after a power cut that loses everything that was not flushed.
    pub fn durable(&self, file: ChunkFileId, block: u64) -> Tag {
        self.cells.get(&(file, block)).map_or(0, |cell| cell.durable)
    }

    /// Writes a block.
    pub fn put(&mut self, file: ChunkFileId, block: u64, tag: Tag) {
        let cell = self.cells.entry((file, block)).or_default();
        cell.cached = tag;
        cell.written += 1;
    }

    /// All blocks that are not flushed, with what they hold.
    pub fn unflushed(&self) -> Vec<Unflushed> {
        self.cells.iter().filter(|(_, c)| c.written > c.flushed).map(|(at, c)| (*at, c.cached, c.written)).collect()
    }

    /// These blocks, as they were then, are on disk; one that a later flush has brought there is not taken back.
    pub fn flushed(&mut self, blocks: &[Unflushed]) {
        for (at, tag, written) in blocks {
            let cell = self.cells.entry(*at).or_default();
            if *written > cell.flushed {
                (cell.durable, cell.flushed) = (*tag, *written);
            }
        }
    }

    /// Blocks that hold something, of all files.
    pub fn content(&self) -> BTreeMap<(ChunkFileId, u64), Tag> {
        self.cells.iter().filter(|(_, c)| c.cached != 0).map(|(at, c)| (*at, c.cached)).collect()
    }

    /// Length of a file in blocks.
    pub fn len(&self, file: ChunkFileId) -> u64 {
        let last = self.cells.range((file, 0)..=(file, u64::MAX)).rfind(|(_, c)| c.cached != 0);
        last.map_or(0, |((_, block), _)| block + 1)
    }

    /// Appends a record; returns how many there are then.
    pub fn append(&mut self, rows: Vec<Row>) -> usize {
        self.log.push(rows);
        self.log.len()
    }

    /// The first `records` are on disk for good.
    pub fn make_durable(&mut self, records: usize) {
        self.durable_records = self.durable_records.max(records.min(self.log.len()));
    }

    /// The process dies: records from `from` on, of which nobody was told, may not have been written.
    pub fn kill(&mut self, from: usize, rng: &mut Rng) {
        let from = from.max(self.durable_records).min(self.log.len());
        let keep = rng.range(from as u64, self.log.len() as u64) as usize;
        self.log.truncate(keep);
    }

    /// The machine loses power.
    pub fn cut_power(&mut self, rng: &mut Rng) {
        self.kill(self.durable_records, rng);
        for cell in self.cells.values_mut().filter(|c| c.written > c.flushed) {
            match rng.range(0, 9) {
                0..=4 => {}
                5..=8 => cell.durable = cell.cached,
                _ => {
                    // A value that nobody wrote.
                    self.torn += 1;
                    cell.durable = u64::MAX - (rng.bits() >> 20) - self.torn;
                }
            }
            (cell.cached, cell.flushed) = (cell.durable, cell.written);
        }
        self.durable_records = self.log.len();
    }

    /// The rows, as the log says.
    pub fn rows(&self) -> Vec<Row> {
        let mut table: BTreeMap<RowKey, Option<Runs>> = BTreeMap::new();
        for row in self.log.iter().flatten() {
            table.insert(row.key, row.runs.clone());
        }
        table.into_iter().map(|(key, runs)| Row { key, runs }).collect()
    }

    /// Puts the log together, so that it does not grow without bound.
    pub fn compact(&mut self) {
        if self.log.len() > 200 && self.durable_records == self.log.len() {
            self.log = vec![self.rows()];
            self.durable_records = 1;
        }
    }
}
