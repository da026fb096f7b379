// SPDX-License-Identifier: Apache-2.0

//! Cells that several threads add to without sharing a cache line: each thread has a shard, made when it first adds.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Shards of everything that is sharded. Threads beyond that share one with others: slower, and as exact.
pub(crate) const SHARDS: usize = 16;
/// Cells in a line of the cache; two lines, since processors fetch them in pairs.
const LINES: usize = 16;

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SHARD: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The number of the calling thread's shard.
#[inline(always)]
pub(crate) fn own_shard() -> usize {
    match SHARD.get() {
        usize::MAX => first(),
        number => number,
    }
}

#[cold]
fn first() -> usize {
    let number = THREADS.fetch_add(1, Ordering::Relaxed) % SHARDS;
    SHARD.set(number);
    number
}

/// So many cells in each shard.
#[derive(Debug)]
pub(crate) struct Shards {
    cells: usize,
    shards: [OnceLock<Box<[Line]>>; SHARDS],
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Line([AtomicU64; LINES]);

impl Shards {
    pub fn new(cells: usize) -> Shards {
        Shards { cells, shards: [const { OnceLock::new() }; SHARDS] }
    }

    /// The cells of the calling thread.
    #[inline(always)]
    pub fn own(&self) -> Cells<'_> {
        // The number is below that already; said once more, it needs no check.
        let shard = &self.shards[own_shard() % SHARDS];
        match shard.get() {
            Some(lines) => Cells(lines),
            None => Cells(self.make(shard)),
        }
    }

    #[cold]
    fn make<'a>(&self, shard: &'a OnceLock<Box<[Line]>>) -> &'a [Line] {
        shard.get_or_init(|| (0..self.cells.div_ceil(LINES)).map(|_| Line::default()).collect())
    }

    /// The cells of every thread that has added something.
    pub fn all(&self) -> impl Iterator<Item = Cells<'_>> {
        self.shards.iter().filter_map(|shard| shard.get().map(|lines| Cells(lines)))
    }

    /// One cell, over all shards.
    pub fn sum(&self, cell: usize) -> u64 {
        self.all().map(|cells| cells.at(cell).load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }
}

/// The cells of one shard.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'a>(&'a [Line]);

impl<'a> Cells<'a> {
    #[inline(always)]
    pub fn at(self, cell: usize) -> &'a AtomicU64 {
        &self.0[cell / LINES].0[cell % LINES]
    }

    #[inline(always)]
    pub fn add(self, cell: usize, n: u64) {
        self.at(cell).fetch_add(n, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_many_threads_add_is_all_there() {
        let shards = Shards::new(40);
        std::thread::scope(|scope| {
            for _ in 0..2 * SHARDS {
                scope.spawn(|| (0..1000).for_each(|n| shards.own().add(n % 40, 2)));
            }
        });
        assert_eq!((0..40).map(|cell| shards.sum(cell)).sum::<u64>(), 2 * SHARDS as u64 * 2000);
        // How many shards that was depends on how many threads other tests begin meanwhile: they take numbers too.
        assert!((2..=SHARDS).contains(&shards.all().count()), "{} shards", shards.all().count());
    }

    #[test]
    fn neighbours_share_no_line() {
        let shards = Shards::new(1);
        shards.own().add(0, 1);
        let address = std::ptr::from_ref(shards.own().at(0)).addr();
        assert_eq!((address % 128, size_of::<Line>(), shards.all().count()), (0, 128, 1));
    }
}
