// SPDX-License-Identifier: Apache-2.0

//! Which pages are free: runs of pages, and the list of them as it lies in the file. Pure.

use std::collections::BTreeMap;

/// Runs that are looked at for a value of many pages before the file grows instead.
const MAX_RUNS_TRIED: usize = 64;

/// Free pages as runs that do not touch.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct FreePages {
    /// First page and number of pages.
    runs: BTreeMap<u64, u64>,
}

impl FreePages {
    /// Pages in all runs.
    pub(crate) fn pages(&self) -> u64 {
        self.runs.values().sum()
    }

    /// Takes `count` pages that follow each other, from the lowest run that has them.
    pub(crate) fn take(&mut self, count: u64) -> Option<u64> {
        let fit = self.runs.iter().take(MAX_RUNS_TRIED).find(|(_, len)| **len >= count);
        let (start, len) = fit.map(|(start, len)| (*start, *len))?;
        self.runs.remove(&start);
        if len > count {
            self.runs.insert(start + count, len - count);
        }
        Some(start)
    }

    /// Adds pages, none of which is free.
    pub(crate) fn add(&mut self, start: u64, count: u64) {
        let (mut start, mut end) = (start, start + count);
        if let Some((before, len)) = self.runs.range(..start).next_back().map(|(before, len)| (*before, *len)) {
            assert!(before + len <= start, "page {start} is free twice");
            if before + len == start {
                self.runs.remove(&before);
                start = before;
            }
        }
        if let Some((after, len)) = self.runs.range(start..).next().map(|(after, len)| (*after, *len)) {
            assert!(end <= after, "page {after} is free twice");
            if end == after {
                self.runs.remove(&after);
                end = after + len;
            }
        }
        self.runs.insert(start, end - start);
    }

    /// Pairs of (pages since the end of the run before, pages), as numbers of variable length. Zeros may follow.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let (mut out, mut at) = (Vec::with_capacity(4 * self.runs.len()), 0);
        for (start, len) in &self.runs {
            push_number(&mut out, start - at);
            push_number(&mut out, *len);
            at = start + len;
        }
        out
    }

    /// The runs, if they make sense in a file of `end` pages of which the first `from` are never free.
    pub(crate) fn decode(mut bytes: &[u8], from: u64, end: u64) -> Option<FreePages> {
        let (mut runs, mut at) = (BTreeMap::new(), 0_u64);
        while !bytes.is_empty() {
            let start = at.checked_add(take_number(&mut bytes)?)?;
            let len = take_number(&mut bytes)?;
            if len == 0 {
                return bytes.iter().all(|byte| *byte == 0).then_some(FreePages { runs });
            }
            let next = start.checked_add(len)?;
            if start < from || next > end || (start == at && at > 0) {
                return None;
            }
            runs.insert(start, len);
            at = next;
        }
        Some(FreePages { runs })
    }
}

fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..63).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::SplitMix64;

    #[test]
    fn behaves_like_a_set_of_pages() {
        let (mut random, mut free) = (SplitMix64::new(3), FreePages::default());
        let mut model = std::collections::BTreeSet::new();
        let mut used: Vec<(u64, u64)> = vec![(4, 500)];
        for _ in 0..3000 {
            if random.coin() && !used.is_empty() {
                let (start, count) = used.swap_remove(random.below(used.len() as u64) as usize);
                let first = 1 + random.below(count);
                free.add(start, first);
                model.extend(start..start + first);
                if first < count {
                    used.push((start + first, count - first));
                }
            } else if let Some(start) = free.take(1 + random.below(3)) {
                let count = (start..).take_while(|page| model.contains(page)).count().min(1) as u64;
                assert_eq!(count, 1, "page {start} was not free");
                // What was taken is known from what is free no more.
                let left = FreePages::decode(&free.encode(), 4, 504).unwrap();
                assert_eq!(left, free);
                let taken: Vec<u64> = model.iter().copied().filter(|page| !contains(&free, *page)).collect();
                assert_eq!(taken.first(), Some(&start));
                taken.iter().for_each(|page| assert!(model.remove(page)));
                used.push((start, taken.len() as u64));
            }
            assert_eq!(free.pages(), model.len() as u64);
        }
    }

    fn contains(free: &FreePages, page: u64) -> bool {
        free.runs.range(..=page).next_back().is_some_and(|(start, len)| page < start + len)
    }

    #[test]
    fn decoding_any_bytes_is_safe() {
        let mut free = FreePages::default();
        [(5, 1), (9, 300), (1000, 2)].iter().for_each(|(start, count)| free.add(*start, *count));
        let good = free.encode();
        assert_eq!(FreePages::decode(&good, 4, 1002), Some(free));
        assert!(FreePages::decode(&good, 6, 1002).is_none() && FreePages::decode(&good, 4, 1001).is_none());
        for position in 0..good.len() {
            for flip in 1..=255 {
                let mut bad = good.clone();
                bad[position] ^= flip;
                // why ignored: only that it returns
                let _ = FreePages::decode(&bad, 4, 1 << 60);
            }
        }
        assert!(FreePages::decode(&[0xff; 20], 4, u64::MAX).is_none());
    }
}
