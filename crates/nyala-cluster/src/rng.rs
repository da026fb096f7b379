// SPDX-License-Identifier: Apache-2.0

//! The generator that placement is specified with: SplitMix64, seeded by (seed, counter). Not for secrets.

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's output function.
pub(crate) fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub(crate) struct Rng(u64);

impl Rng {
    /// Hashing seed and counter apart keeps neighbouring counters from sharing a sequence shifted by one.
    pub(crate) fn new(seed: u64, counter: u64) -> Rng {
        Rng(mix(seed ^ mix(counter.wrapping_add(GAMMA))))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    /// A number below `n`, which must not be 0: the upper half of the 128-bit product.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_splitmix64_sequence() {
        // Seed 1234567, as printed with the reference implementation's test.
        let mut rng = Rng(1_234_567);
        let got: Vec<_> = (0..5).map(|_| rng.next()).collect();
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(got, expected);
    }
}
