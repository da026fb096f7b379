// SPDX-License-Identifier: Apache-2.0

//! SplitMix64, the one generator of repeatable numbers: of placement, whose choices are part of the format
//! (`docs/decisions/0003-placement.md`), of the simulators, of tests and of benchmarks.
//!
//! It lies here since this is the crate that all of them stand on. It draws nothing by itself: the seed is an argument,
//! and the same seed gives the same sequence on every machine and in every version. Not for secrets: an output gives
//! away all that follow.

/// What the state advances by: 2^64 divided by the golden ratio, odd.
pub const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function: a bijection on 64 bits in which each bit of the argument changes about half of the result.
/// 0 stays 0.
pub const fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A sequence of 64-bit numbers that is determined by its seed. Its period is 2^64.
///
/// Seeds that differ by a multiple of [`GAMMA`] give the same sequence, shifted; where seeds are made by counting in a way
/// that could hit that, [`mix`] them first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The sequence of a seed.
    pub const fn new(seed: u64) -> SplitMix64 {
        SplitMix64(seed)
    }

    /// The next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    /// A number below `limit`, which must not be 0. By the remainder: small numbers are favoured, by at most `limit` in 2^64.
    pub const fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit
    }

    /// A place in something of `len` elements; there must be one.
    pub const fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// True in `percent` of 100 cases.
    pub const fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Heads or tails.
    pub const fn coin(&mut self) -> bool {
        self.bits() & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sequence() {
        // Seed 1234567, as printed with the reference implementation's test.
        let mut random = SplitMix64::new(1_234_567);
        let got: Vec<_> = (0..5).map(|_| random.bits()).collect();
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(got, expected);
    }

    #[test]
    fn what_is_drawn_from_the_bits() {
        // The first two numbers of the published sequence.
        let drawn = |draw: fn(&mut SplitMix64) -> u64| {
            let mut random = SplitMix64::new(1_234_567);
            [draw(&mut random), draw(&mut random)]
        };
        assert_eq!(drawn(|random| random.below(1000)), [317, 973]);
        assert_eq!(drawn(|random| random.index(10) as u64), [7, 3]);
        assert_eq!(drawn(|random| u64::from(random.percent(18))), [1, 0]);
        assert_eq!(drawn(|random| u64::from(random.percent(17))), [0, 0]);
        assert_eq!(drawn(|random| u64::from(random.coin())), [1, 1]);
        assert_eq!(SplitMix64::new(2).clone().coin(), mix(GAMMA.wrapping_add(2)) & 1 == 1);
    }
}
