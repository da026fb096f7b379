// SPDX-License-Identifier: Apache-2.0

//! Which drive is slow: one that takes much longer than the others do now, whatever "long" is on these drives.

/// A read takes so many times longer than the median of the others.
const SLOW_FACTOR: u64 = 4;
/// It is fast again below this.
const FAST_FACTOR: u64 = 2;
/// Faster than this nobody is slow, microseconds.
const LEAST_SLOW_US: u64 = 2_000;
/// A new value counts as one part of so many.
const WEIGHT: u64 = 8;
/// One of so many reads still goes to a slow drive, to see whether it is fast again.
const PROBE: u64 = 64;

/// How long reads take.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// By member: average, microseconds; whether it counts as slow; reads that were planned since.
    members: Vec<(u64, bool, u64)>,
}

impl Latencies {
    /// Of a set of so many members.
    pub fn new(members: usize) -> Latencies {
        Latencies { members: vec![(0, false, 0); members] }
    }

    /// A read of a member took so long, or has not ended after that.
    pub fn took(&mut self, member: usize, us: u64) {
        let mut others: Vec<u64> = self
            .members
            .iter()
            .enumerate()
            .filter(|(at, (us, ..))| *at != member && *us > 0)
            .map(|(_, m)| m.0)
            .collect();
        others.sort_unstable();
        let median = others.get(others.len() / 2).copied().unwrap_or(us);
        let (average, slow, _) = &mut self.members[member];
        *average = if *average == 0 { us } else { (*average * (WEIGHT - 1) + us) / WEIGHT }.max(1);
        let factor = if *slow { FAST_FACTOR } else { SLOW_FACTOR };
        *slow = *average > LEAST_SLOW_US && *average > median.saturating_mul(factor);
    }

    /// Whether a read that is planned now should go around a member.
    pub fn avoid(&mut self, member: usize) -> bool {
        let (_, slow, reads) = &mut self.members[member];
        *reads += 1;
        *slow && !reads.is_multiple_of(PROBE)
    }

    /// How long to wait for reads before going around those that are late, microseconds: much longer than any drive takes now.
    pub fn deadline_us(&self) -> u64 {
        let fast = self.members.iter().filter(|(_, slow, _)| !slow).map(|(us, ..)| *us).max().unwrap_or(0);
        fast.saturating_mul(SLOW_FACTOR).clamp(20_000, 2_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_much_slower_is_avoided_until_it_is_fast() {
        let mut latencies = Latencies::new(4);
        let all = |latencies: &mut Latencies, last: u64| {
            (0..30).for_each(|_| (0..4).for_each(|at| latencies.took(at, if at == 3 { last } else { 500 })));
        };
        all(&mut latencies, 1_900);
        assert!(!latencies.avoid(3), "not worth it");
        all(&mut latencies, 50_000);
        assert!(latencies.avoid(3) && !latencies.avoid(0));
        assert!((0..PROBE).any(|_| !latencies.avoid(3)), "it is asked now and then");
        all(&mut latencies, 600);
        assert!(!latencies.avoid(3));
    }

    #[test]
    fn drives_that_are_all_slow_are_not() {
        let mut latencies = Latencies::new(3);
        (0..30).for_each(|_| (0..3).for_each(|at| latencies.took(at, 40_000 + at as u64)));
        assert!((0..3).all(|at| !latencies.avoid(at)));
        assert_eq!(latencies.deadline_us(), 4 * 40_002);
    }
}
