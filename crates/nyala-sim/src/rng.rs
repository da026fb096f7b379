// SPDX-License-Identifier: Apache-2.0

//! All chance comes from the seed.

use nyala_wire::SplitMix64;
use nyala_wire::splitmix::GAMMA;

/// A generator.
#[derive(Clone, Debug)]
pub struct Rng(SplitMix64);

impl Rng {
    /// From a seed.
    pub fn new(seed: u64) -> Rng {
        Rng(SplitMix64::new(seed.wrapping_mul(GAMMA) ^ 0x5bf0_3635))
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// From `low` to `high`, both included.
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.bits() % (high - low + 1)
    }

    /// An index below `len`.
    pub fn index(&mut self, len: usize) -> usize {
        self.range(0, len as u64 - 1) as usize
    }

    /// True in `percent` of 100 cases.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.range(1, 100) <= percent
    }

    /// True in one of `n` cases.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.range(1, n) == 1
    }
}
