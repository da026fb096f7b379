// SPDX-License-Identifier: Apache-2.0

//! The generator that placement is specified with (`docs/decisions/0003-placement.md`): SplitMix64, seeded by
//! (seed, counter), and numbers below a limit by multiplication.

use nyala_wire::SplitMix64;
use nyala_wire::splitmix::{GAMMA, mix};

pub(crate) struct Rng(SplitMix64);

impl Rng {
    /// Hashing seed and counter apart keeps neighbouring counters from sharing a sequence shifted by one.
    pub(crate) fn new(seed: u64, counter: u64) -> Rng {
        Rng(SplitMix64::new(mix(seed ^ mix(counter.wrapping_add(GAMMA)))))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number below `n`, which must not be 0: the upper half of the 128-bit product.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }
}
