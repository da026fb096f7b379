// SPDX-License-Identifier: Apache-2.0

//! Workers that all do the same, several on each mount, and share an arena.

use super::arena::Arena;
use super::{gang, number};
use nyala_wire::SplitMix64;
use std::path::PathBuf;

/// One of them.
pub struct Member {
    /// What they share.
    pub arena: Arena,
    /// Which one this is, from 0; neighbours are on different mounts.
    pub index: usize,
    /// How many there are.
    pub total: usize,
    /// The directory, through its mount.
    pub dir: PathBuf,
    /// The test's own arguments.
    pub args: Vec<String>,
}

impl Member {
    /// From a worker's command line.
    pub fn new(args: &[&str]) -> Result<Member, String> {
        let [arena, index, total, dir, rest @ ..] = args else { return Err(super::USAGE.to_owned()) };
        let args = rest.iter().map(|&arg| arg.to_owned()).collect();
        let (arena, dir) = (Arena::open(arena)?, PathBuf::from(dir));
        Ok(Member { arena, index: number(index)?, total: number(total)?, dir, args })
    }

    /// An argument that is a number.
    pub fn number(&self, at: usize) -> Result<usize, String> {
        number(self.args.get(at).ok_or(super::USAGE)?)
    }

    /// Waits for all others; `round` counts the meetings, from 1. False: the test is stopped.
    pub fn meet(&self, round: usize) -> bool {
        self.arena.meet((round * self.total) as u64);
        !self.arena.stopped()
    }

    /// An error with who has it.
    pub fn fail(&self, what: impl std::fmt::Display, error: impl std::fmt::Display) -> String {
        format!("worker {} in {}: {what}: {error}", self.index, self.dir.display())
    }
}

/// Runs `total` workers of a test over the directories.
pub fn run(test: &str, arena: &Arena, total: usize, dirs: &[&str], args: &[String]) -> Result<(), String> {
    let member = |index: usize| {
        let dir = dirs[index % dirs.len()].to_owned();
        let own = [test.to_owned(), arena.path(), index.to_string(), total.to_string(), dir];
        own.into_iter().chain(args.iter().cloned()).collect()
    };
    gang::run(arena, &(0..total).map(member).collect::<Vec<_>>())
}

/// Puts things in random order.
pub fn shuffle<T>(random: &mut SplitMix64, all: &mut [T]) {
    for at in (1..all.len()).rev() {
        all.swap(at, random.index(at + 1));
    }
}

/// A byte that nobody else writes at this place: of a file's position, a writer and a round.
pub fn byte(at: u64, writer: u64, round: u64) -> u8 {
    let mixed = (at / 8 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (writer + 1).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((mixed ^ (round + 1).wrapping_mul(0x94D0_49BB_1331_11EB)) >> (at % 8 * 5 + 20)) as u8
}
