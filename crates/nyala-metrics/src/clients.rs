// SPDX-License-Identifier: Apache-2.0

//! Counts by the address of whoever asks.

use crate::by_key::{ByKey, OTHERS, OTHERS_WORD};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// Longer addresses of which this many are known; the rest is counted together.
const LONG: usize = 1024;

/// `N` counters for each address. See [`ByKey`] for how many.
#[derive(Debug, Default)]
pub struct ByAddress<const N: usize> {
    counts: ByKey<N>,
    /// Addresses that are longer than a key, by their keys.
    long: Mutex<BTreeMap<u64, IpAddr>>,
}

impl<const N: usize> ByAddress<N> {
    /// Somebody has connected from this address, who will be counted.
    pub fn connected(&self, address: IpAddr) {
        let address = address.to_canonical();
        if address.is_ipv6() {
            let mut long = self.long.lock().unwrap_or_else(PoisonError::into_inner);
            if long.len() < LONG {
                long.entry(key(address)).or_insert(address);
            }
        }
    }

    /// So many more of each.
    #[inline(always)]
    pub fn add(&self, address: IpAddr, more: [u64; N]) {
        self.counts.add(key(address), more);
    }

    /// The counts of every address, under the label's value.
    pub fn get(&self) -> BTreeMap<String, [u64; N]> {
        let long = self.long.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut all = BTreeMap::new();
        for (key, counts) in self.counts.get() {
            let name = match (u32::try_from(key), long.get(&key)) {
                (Ok(short), _) => std::net::Ipv4Addr::from_bits(short).to_string(),
                (_, Some(long)) => long.to_string(),
                (_, None) => OTHERS_WORD.to_owned(),
            };
            let sums: &mut [u64; N] = all.entry(name).or_insert([0; N]);
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        all
    }

    /// The same as counters by name: `client.ADDRESS.WHAT`.
    pub fn counters(&self, names: [&str; N]) -> Vec<(String, u64)> {
        let all = self.get();
        let named = |(client, counts): (&String, &[u64; N])| {
            let name = |(name, count)| (format!("client.{client}.{name}"), count);
            names.into_iter().zip(*counts).map(name).collect::<Vec<_>>()
        };
        all.iter().flat_map(named).collect()
    }
}

/// A key for an address: its own 32 bits, or a mixture of 128 that is never taken for those.
#[inline(always)]
fn key(address: IpAddr) -> u64 {
    let bits = match address {
        IpAddr::V4(address) => return address.to_bits().into(),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => return address.to_bits().into(),
            None => address.to_bits(),
        },
    };
    let mixed = (bits as u64) ^ ((bits >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed | 1 << 63).min(OTHERS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_kinds_are_named() {
        let counts = ByAddress::<2>::default();
        for (address, n) in [("10.0.0.1", 1), ("::ffff:10.0.0.1", 2), ("fd00::7", 3), ("fd00::8", 4)] {
            let address: IpAddr = address.parse().unwrap();
            if n != 4 {
                counts.connected(address);
            }
            counts.add(address, [1, n]);
        }
        let all: Vec<(String, [u64; 2])> = counts.get().into_iter().collect();
        let named = |name: &str, counts| (name.to_owned(), counts);
        assert_eq!(counts.counters(["requests", "bytes"])[1], ("client.10.0.0.1.bytes".to_owned(), 3));
        assert_eq!(all, [named("10.0.0.1", [2, 3]), named("fd00::7", [1, 3]), named("others", [1, 4])]);
    }
}
