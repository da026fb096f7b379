// SPDX-License-Identifier: Apache-2.0

//! What files a round has and what happens to each. Pure: all follows from a seed.

use super::model::{Change, File};
use crate::posix::pattern;
use nyala_wire::SplitMix64;

/// Sizes of files: inline, at its limit, one chunk, many blocks, more than one target.
const SIZES: [usize; 9] = [1, 700, 1024, 4096, 4097, 30_000, 100_000, 400_000, 2_500_000];
/// How many kinds of changes there are.
const KINDS: usize = 14;

/// The files of a round: `count`, with every kind of change.
pub fn files(random: &mut SplitMix64, count: usize) -> Vec<File> {
    (0..count).map(|number| file(random, number)).collect()
}

fn file(random: &mut SplitMix64, number: usize) -> File {
    // Mostly small ones: a round is to be short.
    let sizes = if random.index(8) == 0 { SIZES.len() } else { 7 };
    let size = SIZES[random.index(sizes)];
    let old = pattern(random.bits(), size);
    let more = SIZES[random.index(7)];
    let (at, len) = (random.index(size), 1 + random.index(size));
    let len = len.min(size - at);
    let change = match number % KINDS {
        0 => Change::None,
        1 | 12 => Change::Unlink,
        2 | 13 => Change::Truncate(random.index(size)),
        3 => Change::Append { gap: 0, len: more },
        4 => Change::Append { gap: random.index(60_000), len: more },
        5 => Change::Overwrite { at, len },
        6 => Change::Zero { at, len, punch: random.index(2) == 0 },
        7 => Change::Replace,
        8 => Change::Move,
        9 => [Change::Rewrite(random.index(size)), Change::Create(more)][random.index(2)],
        10 => Change::Sync(more),
        _ => Change::SyncElsewhere(more),
    };
    let fresh = pattern(random.bits(), size.max(more) + 1);
    let new = after(&old, change, &fresh);
    let old = (!matches!(change, Change::Create(_))).then_some(old);
    File { name: format!("f{number}"), old, change, new, open: random.index(3) == 0 }
}

/// The content after a change that writes `fresh` bytes.
fn after(old: &[u8], change: Change, fresh: &[u8]) -> Vec<u8> {
    let mut new = old.to_vec();
    match change {
        Change::None | Change::Unlink | Change::Move => {}
        Change::Truncate(len) => new.truncate(len),
        Change::Append { gap, len } => {
            new.resize(old.len() + gap, 0);
            new.extend_from_slice(&fresh[..len]);
        }
        Change::Overwrite { at, len } => new[at..at + len].copy_from_slice(&fresh[..len]),
        Change::Zero { at, len, .. } => new[at..at + len].fill(0),
        // Of another size than the old one.
        Change::Replace => new = fresh[..fresh.len().min(old.len() + 1)].to_vec(),
        Change::Rewrite(len) | Change::Create(len) => new = fresh[..len].to_vec(),
        Change::Sync(len) | Change::SyncElsewhere(len) => new.extend_from_slice(&fresh[..len]),
    }
    new
}
