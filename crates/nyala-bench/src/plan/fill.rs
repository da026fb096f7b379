// SPDX-License-Identifier: Apache-2.0

//! File content that costs nothing to make and can be checked: every file is a stretch of one pseudo-random pattern whose
//! length is a prime number, begun at a place that depends on the file. Data that ends up at a wrong offset, or in a
//! wrong file, differs, since no chunk, block or record size is a multiple of the pattern's length.

use nyala_wire::SplitMix64;

/// Length of the pattern: the smallest prime above 1 MiB.
const PERIOD: usize = 1_048_583;

/// The first number of the sequence of a seed: a well mixed function of its argument.
pub fn mix(value: u64) -> u64 {
    SplitMix64::new(value).bits()
}

/// Content of all files up to a largest transfer.
#[derive(Debug)]
pub struct Fill {
    pattern: Vec<u8>,
}

impl Fill {
    /// For transfers of up to `max_bytes`.
    pub fn new(seed: u64, max_bytes: usize) -> Fill {
        let mut pattern: Vec<u8> = (0..PERIOD as u64).map(|at| mix(seed ^ at) as u8).collect();
        while pattern.len() < PERIOD + max_bytes {
            let more = PERIOD.min(PERIOD + max_bytes - pattern.len());
            let from = pattern.len() % PERIOD;
            let more = more.min(pattern.len() - from);
            pattern.extend_from_within(from..from + more);
        }
        Fill { pattern }
    }

    /// What belongs at `offset` of the file with this key. Not more than the largest transfer.
    pub fn at(&self, key: u64, offset: u64, bytes: usize) -> &[u8] {
        let period = PERIOD as u64;
        let start = ((mix(key) % period + offset % period) % period) as usize;
        &self.pattern[start..start + bytes]
    }

    /// Where `data`, read at `offset`, first differs.
    pub fn first_difference(&self, key: u64, offset: u64, data: &[u8]) -> Option<u64> {
        let want = self.at(key, offset, data.len());
        if want == data {
            return None;
        }
        want.iter().zip(data).position(|(want, got)| want != got).map(|at| offset + at as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_depends_on_file_and_offset_only() {
        let fill = Fill::new(1, 3 << 20);
        let whole = fill.at(7, 0, 3 << 20);
        for (offset, bytes) in [(0, 1), (4096, 4096), (1 << 20, 1 << 20), (PERIOD as u64 - 1, 2), (47_008, 47_008)] {
            let at = offset as usize;
            assert_eq!(fill.at(7, offset, bytes), &whole[at..at + bytes]);
        }
        assert_ne!(fill.at(7, 0, 4096), fill.at(8, 0, 4096));
        for step in [4096_u64, 47_008, 65_536, 512 << 10, 1 << 20, 1 << 30] {
            assert_ne!(fill.at(7, 0, 4096), fill.at(7, step, 4096), "moved by {step}");
        }
    }

    #[test]
    fn a_wrong_byte_is_found_where_it_is() {
        let fill = Fill::new(1, 8192);
        let mut data = fill.at(3, 100_000, 8192).to_vec();
        assert_eq!(fill.first_difference(3, 100_000, &data), None);
        data[5000] ^= 1;
        assert_eq!(fill.first_difference(3, 100_000, &data), Some(105_000));
        assert_eq!(fill.first_difference(3, 100_000, &[]), None);
    }
}
