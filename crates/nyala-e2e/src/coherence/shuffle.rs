// SPDX-License-Identifier: Apache-2.0

//! One file, written at once from all mounts in pieces that do not overlap and do not end where pages, blocks or chunks
//! do: every byte is then what its writer wrote, as every mount sees it.

use super::arena::Arena;
use super::crew::{self, Member, byte};
use super::number;
use nyala_wire::SplitMix64;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

/// Length of the file: several chunks of 512 KiB.
const LEN: u64 = 1_600_003;
/// Pieces are so long, and up to so much longer.
const SHORTEST: u64 = 301;
const LENGTHS: usize = 9_000;

/// Coordinates: `SEED ROUNDS DIR…`, two workers on each mount.
pub fn run(args: &[&str]) -> Result<(), String> {
    let [seed, rounds, dirs @ ..] = args else { return Err(super::USAGE.to_owned()) };
    let (seed, rounds): (u64, usize) = (number(seed)?, number(rounds)?);
    crew::run("shuffle", &Arena::new(0), dirs.len() * 2, dirs, &[seed.to_string(), rounds.to_string()])
}

/// The pieces of a round and whose they are; the same for all who ask.
fn deal(seed: u64, round: usize, workers: usize) -> Vec<(u64, u64, usize)> {
    let mut random = SplitMix64::new(seed.wrapping_mul(1_000_003).wrapping_add(round as u64));
    let (mut at, mut pieces) = (0, Vec::new());
    while at < LEN {
        let len = (SHORTEST + random.index(LENGTHS) as u64).min(LEN - at);
        pieces.push((at, len, random.index(workers)));
        at += len;
    }
    pieces
}

/// One worker.
pub fn worker(args: &[&str]) -> Result<(), String> {
    let me = Member::new(args)?;
    let (seed, rounds) = (me.number(0)? as u64, me.number(1)?);
    let mut random = SplitMix64::new(seed ^ (me.index as u64) << 32);
    let path = me.dir.join("shared");
    for round in 0..rounds {
        let pieces = deal(seed, round, me.total);
        let mut mine: Vec<_> = pieces.iter().filter(|piece| piece.2 == me.index).collect();
        crew::shuffle(&mut random, &mut mine);
        if !me.meet(round * 2 + 1) {
            return Ok(());
        }
        let open = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let file = open.map_err(|error| me.fail("open", error))?;
        for (at, len, _) in mine {
            let data: Vec<u8> = (*at..at + len).map(|at| byte(at, me.index as u64, round as u64)).collect();
            file.write_all_at(&data, *at).map_err(|error| me.fail(format!("write {len} at {at}"), error))?;
            if random.index(40) == 0 {
                file.sync_all().map_err(|error| me.fail("fsync", error))?;
            }
        }
        // Half of them look while the others' files are still open and hold what was written.
        let kept = me.index.is_multiple_of(2).then_some(file);
        if !me.meet(round * 2 + 2) {
            return Ok(());
        }
        let got = std::fs::read(&path).map_err(|error| me.fail("read", error))?;
        drop(kept);
        verify(&got, &pieces, round).map_err(|wrong| me.fail(format!("seed {seed} round {round}"), wrong))?;
    }
    me.meet(rounds * 2 + 1);
    Ok(())
}

fn verify(got: &[u8], pieces: &[(u64, u64, usize)], round: usize) -> Result<(), String> {
    if got.len() as u64 != LEN {
        return Err(format!("{} bytes instead of {LEN}", got.len()));
    }
    for &(start, len, writer) in pieces {
        let wrong = (start..start + len).filter(|at| got[*at as usize] != byte(*at, writer as u64, round as u64));
        let wrong: Vec<u64> = wrong.collect();
        if let (Some(first), Some(last)) = (wrong.first(), wrong.last()) {
            let zeros = wrong.iter().filter(|at| got[**at as usize] == 0).count();
            let count = wrong.len();
            return Err(format!(
                "{count} bytes from {first} to {last} are not what worker {writer} wrote at {start}+{len} ({zeros} are 0)"
            ));
        }
    }
    Ok(())
}
