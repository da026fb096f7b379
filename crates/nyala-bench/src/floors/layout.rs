// SPDX-License-Identifier: Apache-2.0

//! How much is moved, and in which order. Pure.
//!
//! A connection has files of its own and goes over them in turn, a block of each, as the tasks of a benchmark do with their files.

use super::error::FloorError;
use super::message::{CHECKED_BYTES, HEAD_BYTES, Location};
use crate::plan::Step;
use crate::plan::fill::mix;
use serde::Serialize;

/// What is done, in this order: the later phases use what the first has written.
pub const STEPS: [Step; 4] = [Step::Write, Step::Read, Step::RandomRead, Step::RandomWrite];
/// Bytes of a random transfer.
pub const RANDOM_BYTES: usize = crate::plan::data::RANDOM_BYTES;
/// Largest block, as of a request to a storage service.
const MAX_BLOCK: usize = 4 << 20;
/// Transfers from here on are handled one at a time, so that a block is checked while it is in the processor's cache.
const LARGE: usize = 64 << 10;
/// Short messages that are taken from a connection, or given to it, in one call.
const MAX_BATCH: usize = 64;

/// How much is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Connections, each with a thread at either end.
    pub connections: usize,
    /// Requests under way at once, on all connections together.
    pub depth: usize,
    /// Files on all connections together.
    pub files: usize,
    /// Bytes of each file.
    pub file_bytes: u64,
    /// Bytes of a sequential transfer.
    pub block: usize,
    /// Random transfers, on all connections together.
    pub random: u64,
    /// Start of content and places.
    pub seed: u64,
}

/// What one connection does in a phase.
#[derive(Clone, Copy, Debug)]
pub struct Assignment {
    sizes: Sizes,
    connection: usize,
    /// What is done.
    pub step: Step,
    /// Blocks that were written on this connection; of the phase that writes them, those to be written.
    blocks: u64,
}

impl Sizes {
    /// The same with whole blocks and no connection without a file; an error says what makes no sense.
    pub fn checked(self) -> Result<Sizes, FloorError> {
        let refused = |why: String| Err(FloorError::Sizes(why));
        if self.block > MAX_BLOCK || self.block < CHECKED_BYTES || !self.block.is_multiple_of(CHECKED_BYTES) {
            return refused(format!("blocks of {} bytes: give a multiple of 4k, at most 4m", self.block));
        }
        if self.files == 0 || self.connections == 0 || self.depth == 0 {
            return refused("files, connections and requests at once: at least one of each".to_owned());
        }
        let file_bytes = self.file_bytes / self.block as u64 * self.block as u64;
        if file_bytes == 0 {
            return refused(format!("files of {} bytes do not hold one block of {}", self.file_bytes, self.block));
        }
        Ok(Sizes { file_bytes, connections: self.connections.min(self.files), ..self })
    }

    /// How many files a connection has.
    pub fn files_of(&self, connection: usize) -> usize {
        self.files / self.connections + usize::from(connection < self.files % self.connections)
    }

    /// Requests under way at once on one connection.
    pub fn window(&self) -> usize {
        (self.depth / self.connections).max(1)
    }

    /// What a connection does; `written`: blocks that the first phase wrote on it, if it has been.
    pub fn share(self, connection: usize, step: Step, written: Option<u64>) -> Assignment {
        let all = self.files_of(connection) as u64 * (self.file_bytes / self.block as u64);
        Assignment { sizes: self, connection, step, blocks: written.unwrap_or(all) }
    }
}

impl Assignment {
    /// Bytes of one transfer.
    pub fn bytes(&self) -> usize {
        if self.step.is_random() { RANDOM_BYTES } else { self.sizes.block }
    }

    /// Transfers at most.
    pub fn count(&self) -> u64 {
        if !self.step.is_random() {
            return self.blocks;
        }
        let (connections, random) = (self.sizes.connections as u64, self.sizes.random);
        let own = random / connections + u64::from((self.connection as u64) < random % connections);
        if self.blocks == 0 { 0 } else { own }
    }

    /// Requests under way at once.
    pub fn window(&self) -> usize {
        self.sizes.window()
    }

    /// Messages that are sent or taken in one call.
    pub fn batch(&self) -> usize {
        if self.bytes() >= LARGE { 1 } else { self.window().min(MAX_BATCH) }
    }

    /// Where transfer `n` goes. Random ones go to blocks that were written.
    pub fn location(&self, n: u64) -> Location {
        if !self.step.is_random() {
            return self.block(n);
        }
        let stream = mix(self.sizes.seed ^ (self.connection as u64) << 40 ^ u64::from(self.step.is_write()) << 63);
        let (which, piece) = (mix(stream ^ n), mix(stream ^ n ^ 1 << 39));
        let within = piece % (self.sizes.block / RANDOM_BYTES) as u64 * RANDOM_BYTES as u64;
        let block = self.block(which % self.blocks.max(1));
        Location { offset: block.offset + within, ..block }
    }

    fn block(&self, n: u64) -> Location {
        let files = self.sizes.files_of(self.connection) as u64;
        Location { file: (n % files) as usize, offset: n / files * self.sizes.block as u64 }
    }

    /// Which content belongs into a file.
    pub fn key(&self, file: usize) -> u64 {
        (self.connection as u64) << 32 | file as u64
    }

    /// Bytes of a message that carries data, before the data.
    pub fn full_head(&self) -> usize {
        HEAD_BYTES + self.bytes() / CHECKED_BYTES * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const SIZES: Sizes =
        Sizes { connections: 2, depth: 6, files: 5, file_bytes: 3 * 8192, block: 8192, random: 101, seed: 7 };

    #[test]
    fn every_block_of_every_file_is_moved_once() {
        let mut seen = HashSet::new();
        for connection in 0..2 {
            let share = SIZES.share(connection, Step::Write, None);
            for n in 0..share.count() {
                let at = share.location(n);
                assert!(at.offset + 8192 <= SIZES.file_bytes && at.file < SIZES.files_of(connection), "{at:?}");
                assert!(seen.insert((connection, at.file, at.offset)), "{at:?} twice");
            }
        }
        assert_eq!(seen.len(), 15);
    }

    #[test]
    fn random_places_are_where_something_was_written() {
        for (step, connection, count) in [(Step::RandomRead, 0, 51), (Step::RandomWrite, 1, 50)] {
            let share = SIZES.share(connection, step, Some(4));
            let written: Vec<Location> =
                (0..4).map(|n| SIZES.share(connection, Step::Write, None).location(n)).collect();
            assert_eq!(share.count(), count);
            let places: Vec<Location> = (0..count).map(|n| share.location(n)).collect();
            for at in &places {
                let inside = |block: &Location| {
                    block.file == at.file && (block.offset..block.offset + 8192).contains(&at.offset)
                };
                assert!(written.iter().any(inside) && at.offset.is_multiple_of(4096), "{at:?}");
            }
            assert!(places.iter().any(|at| at.file != places[0].file), "they are spread");
        }
        assert_eq!(SIZES.share(0, Step::RandomRead, Some(0)).count(), 0, "nothing was written");
    }

    #[test]
    fn messages_come_one_at_a_time_where_they_are_large() {
        let large = Sizes { block: 512 << 10, file_bytes: 1 << 20, ..SIZES };
        assert_eq!(large.share(0, Step::Read, None).batch(), 1);
        assert_eq!((large.share(0, Step::RandomRead, None).batch(), large.window()), (3, 3));
        assert_eq!(large.share(0, Step::Write, None).full_head(), 16 + 128 * 4);
    }

    #[test]
    fn senseless_sizes_are_refused_and_others_made_whole() {
        for sizes in [
            Sizes { block: 1000, ..SIZES },
            Sizes { block: 8 << 20, file_bytes: 8 << 20, ..SIZES },
            Sizes { files: 0, ..SIZES },
            Sizes { depth: 0, ..SIZES },
            Sizes { file_bytes: 8191, ..SIZES },
        ] {
            assert!(matches!(sizes.checked(), Err(FloorError::Sizes(_))), "{sizes:?}");
        }
        let whole = Sizes { file_bytes: 20_000, connections: 9, ..SIZES }.checked().unwrap();
        assert_eq!((whole.file_bytes, whole.connections, whole.window()), (16_384, 5, 1));
    }
}
