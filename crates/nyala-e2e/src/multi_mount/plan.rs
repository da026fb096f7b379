// SPDX-License-Identifier: Apache-2.0

//! The next operation. Pure: random numbers and the model's size in, an operation out.

use super::Model;

/// Direct I/O is in such blocks.
pub const BLOCK: usize = 4096;
/// The longest range of an operation, as a part of the largest size.
const PARTS: usize = 8;

/// A generator of random numbers; the same seed gives the same.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }
}

/// How bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Through the page cache.
    Plain,
    /// `O_DIRECT`.
    Direct,
    /// `O_DSYNC`.
    Synchronous,
}

/// An operation on the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names of the fields say it: places and lengths in bytes.
pub enum Action {
    Write { at: usize, len: usize, how: How },
    Append { len: usize },
    Read { at: usize, len: usize, direct: bool },
    MapRead { at: usize, len: usize },
    MapWrite { at: usize, len: usize },
    Truncate { size: usize, by_path: bool },
    Punch { at: usize, len: usize },
    Zero { at: usize, len: usize, keep_size: bool },
    Allocate { at: usize, len: usize, keep_size: bool },
    Copy { from: usize, to: usize, len: usize },
    Stat,
    SeekData { at: usize },
    SeekHole { at: usize },
    Sync { data_only: bool },
    Reopen,
    DropCache,
}

impl Action {
    /// How many kinds there are.
    pub const KINDS: usize = 16;

    /// The kind's name.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Write { .. } => "write",
            Action::Append { .. } => "append",
            Action::Read { .. } => "read",
            Action::MapRead { .. } => "mapread",
            Action::MapWrite { .. } => "mapwrite",
            Action::Truncate { .. } => "truncate",
            Action::Punch { .. } => "punch",
            Action::Zero { .. } => "zero",
            Action::Allocate { .. } => "allocate",
            Action::Copy { .. } => "copy",
            Action::Stat => "stat",
            Action::SeekData { .. } => "seek_data",
            Action::SeekHole { .. } => "seek_hole",
            Action::Sync { .. } => "sync",
            Action::Reopen => "reopen",
            Action::DropCache => "drop_cache",
        }
    }
}

/// An operation through one of the mounts.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Which mount.
    pub mount: usize,
    /// What.
    pub action: Action,
}

impl Step {
    /// The next operation, one that is possible now.
    pub fn next(random: &mut Random, model: &Model, mounts: usize) -> Step {
        let mount = random.below(mounts);
        Step { mount, action: action(random, model) }
    }
}

fn action(random: &mut Random, model: &Model) -> Action {
    let (size, max) = (model.bytes().len(), model.max());
    // Short ranges are as likely as long ones: many meet the same block.
    let most = if random.one_in(2) { BLOCK } else { max / PARTS };
    let len = 1 + random.below(most);
    let at = random.below(max - len);
    let read_at = random.below(size + BLOCK);
    let mapped = |at: usize| (at.min(size - 1), len.min(size - at.min(size - 1)));
    match random.below(100) {
        0..20 => match random.below(10) {
            0..2 => {
                let (at, len) = aligned(at, len, max);
                Action::Write { at, len, how: How::Direct }
            }
            2 => Action::Write { at, len: len.min(BLOCK), how: How::Synchronous },
            _ => Action::Write { at, len, how: How::Plain },
        },
        20..26 if size + len <= max => Action::Append { len },
        20..50 => {
            let direct = random.one_in(6);
            let (at, len) = if direct { aligned(read_at, len, usize::MAX) } else { (read_at, len) };
            Action::Read { at, len, direct }
        }
        50..58 if size > 0 => {
            let (at, len) = mapped(random.below(size));
            Action::MapRead { at, len }
        }
        58..64 if size > 0 => {
            let (at, len) = mapped(random.below(size));
            Action::MapWrite { at, len }
        }
        64..69 => Action::Truncate { size: random.below(max), by_path: random.one_in(2) },
        69..74 => Action::Punch { at, len },
        74..78 => Action::Zero { at, len, keep_size: random.one_in(2) },
        78..80 => Action::Allocate { at, len, keep_size: random.one_in(2) },
        80..85 => {
            // What is copied to behind the end could be copied again: not beyond the end.
            let (from, to) = (random.below(size), random.below(max - len));
            let len = len.min(size.saturating_sub(from));
            let apart = from + len <= to || to + len <= from;
            if apart && len > 0 { Action::Copy { from, to, len } } else { Action::Stat }
        }
        85..87 => Action::SeekData { at: random.below(size + 1) },
        87..89 => Action::SeekHole { at: random.below(size + 1) },
        89..90 => Action::Sync { data_only: random.one_in(2) },
        90..92 => Action::Reopen,
        92..93 => Action::DropCache,
        _ => Action::Stat,
    }
}

/// The same in whole blocks, at least one, ending before `max`.
fn aligned(at: usize, len: usize, max: usize) -> (usize, usize) {
    let at = at / BLOCK * BLOCK;
    let len = len.div_ceil(BLOCK) * BLOCK;
    if at + len <= max { (at, len) } else { (0, BLOCK) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_comes_and_none_goes_beyond_the_largest_size() {
        let (mut random, mut model) = (Random::new(3), Model::new(50_000));
        let mut kinds = std::collections::BTreeSet::new();
        for number in 0..20_000 {
            let Step { mount, action } = Step::next(&mut random, &model, 3);
            assert!(mount < 3);
            kinds.insert(action.name());
            match action {
                Action::Write { at, len, .. } => drop(model.write(number, at, len)),
                Action::MapRead { at, len } | Action::MapWrite { at, len } => {
                    assert!(len > 0 && at + len <= model.bytes().len());
                }
                Action::Append { len } => drop(model.write(number, model.bytes().len(), len)),
                Action::Truncate { size, .. } => model.truncate(size),
                Action::Copy { from, to, len } => drop(model.copy(from, to, len)),
                _ => {}
            }
            assert!(model.bytes().len() <= 50_000, "{action:?}");
        }
        assert_eq!(kinds.len(), Action::KINDS);
    }
}
