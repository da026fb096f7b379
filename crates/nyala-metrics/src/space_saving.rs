// SPDX-License-Identifier: Apache-2.0

//! The heaviest keys of a stream in fixed memory: the space-saving sketch of Metwally, Agrawal and El Abbadi.
//!
//! So many keys are counted. One that is not among them takes the place of the lightest, with the count of that one as its error. With a
//! total weight `W` of what was added and `K` places, this holds of each key whose true weight is `t`:
//! - it is listed with a count and an error, and `count - error <= t <= count`; or
//! - it is not listed, and `t <= missed`, which is the smallest count, and at most `W / K`.

/// Keys that are counted.
pub const MAX_KEYS: usize = 256;

/// A key that is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heavy {
    /// Which.
    pub key: u64,
    /// Its weight, too large by `error` at most.
    pub count: u64,
    /// How much of it may be another key's.
    pub error: u64,
    /// Of its weight, what was said to be of one kind, since it has its place.
    pub part: u64,
}

/// See the module's words. The first `used` places are taken.
#[derive(Clone, Debug)]
pub(crate) struct SpaceSaving {
    used: usize,
    /// Apart from the rest: they are looked through for each addition.
    keys: [u64; MAX_KEYS],
    counts: [u64; MAX_KEYS],
    others: [(u64, u64); MAX_KEYS],
}

impl SpaceSaving {
    pub const fn new() -> SpaceSaving {
        SpaceSaving { used: 0, keys: [0; MAX_KEYS], counts: [0; MAX_KEYS], others: [(0, 0); MAX_KEYS] }
    }

    /// So much more of a key, `part` of it of the one kind.
    pub fn add(&mut self, key: u64, weight: u64, part: u64) {
        let place = match self.keys[..self.used].iter().position(|known| *known == key) {
            Some(place) => place,
            None => self.take_place(key),
        };
        self.counts[place] = self.counts[place].saturating_add(weight);
        self.others[place].1 = self.others[place].1.saturating_add(part);
    }

    fn take_place(&mut self, key: u64) -> usize {
        let place = match self.used < MAX_KEYS {
            true => {
                self.used += 1;
                self.used - 1
            }
            false => self.lightest(),
        };
        self.keys[place] = key;
        // Of a free place both are 0.
        self.others[place] = (self.counts[place], 0);
        place
    }

    fn lightest(&self) -> usize {
        let (mut place, mut least) = (0, u64::MAX);
        for (at, count) in self.counts.iter().enumerate() {
            if *count < least {
                (place, least) = (at, *count);
            }
        }
        place
    }

    /// The keys that are counted, in no order.
    pub fn listed(&self) -> impl Iterator<Item = Heavy> {
        (0..self.used).map(|at| {
            let (error, part) = self.others[at];
            Heavy { key: self.keys[at], count: self.counts[at], error, part }
        })
    }

    /// A key that is not listed weighs no more than this.
    pub fn missed(&self) -> u64 {
        if self.used < MAX_KEYS { 0 } else { self.counts.iter().copied().min().unwrap_or(0) }
    }

    /// Nothing is counted any more.
    pub fn clear(&mut self) {
        *self = SpaceSaving::new();
    }
}
