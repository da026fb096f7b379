// SPDX-License-Identifier: Apache-2.0

//! The newest records of the log in memory, for members that lack some: what is not here any more, a member gets with a copy of
//! everything.

use bytes::Bytes;
use std::collections::VecDeque;

/// A record, as it is in the log. Those that came with one message share its memory.
pub type Record = Bytes;

/// The newest records, without a gap.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    records: VecDeque<Record>,
    /// Number of the record behind the last one here.
    next: u64,
    bytes: usize,
    limit: usize,
}

impl Recent {
    /// None yet: the next record has the number `next`. At most `limit` bytes are kept, as far as nobody needs more.
    pub fn new(next: u64, limit: usize) -> Recent {
        Recent { records: VecDeque::new(), next, bytes: 0, limit }
    }

    /// Adds the next record.
    pub fn push(&mut self, record: Record) {
        self.bytes += record.len();
        self.records.push_back(record);
        self.next += 1;
    }

    /// Forgets the oldest beyond the limit, but none from `needed` on.
    pub fn trim(&mut self, needed: u64) {
        while self.bytes > self.limit && self.first() < needed {
            let Some(oldest) = self.records.pop_front() else { return };
            self.bytes -= oldest.len();
        }
    }

    /// Number of the oldest record that is here, or of the next one.
    pub fn first(&self) -> u64 {
        self.next - self.records.len() as u64
    }

    /// Number of the last record that there was.
    pub fn last(&self) -> u64 {
        self.next - 1
    }

    /// Whether all records behind this one are here.
    pub fn follow(&self, index: u64) -> bool {
        index + 1 >= self.first() && index < self.next
    }

    /// Records behind `index` up to `until`, at most so many bytes of them but at least one if there is one.
    pub fn behind(&self, index: u64, until: u64, bytes: usize) -> Vec<Record> {
        let skip = usize::try_from((index + 1).saturating_sub(self.first())).unwrap_or(usize::MAX);
        let count = usize::try_from(until.saturating_sub(index)).unwrap_or(usize::MAX);
        let mut sum = 0;
        let fits = |record: &&Record| {
            let first = sum == 0;
            sum += record.len().max(1);
            first || sum <= bytes
        };
        self.records.iter().skip(skip).take(count).take_while(fits).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(len: usize) -> Record {
        vec![0; len].into()
    }

    #[test]
    fn records_are_found_by_number_as_long_as_they_are_needed_or_fit() {
        let mut recent = Recent::new(11, 100);
        (0..5).for_each(|_| recent.push(record(40)));
        assert_eq!((recent.first(), recent.last()), (11, 15));
        recent.trim(12);
        assert_eq!(recent.first(), 12, "one is needed");
        recent.trim(u64::MAX);
        assert_eq!(recent.first(), 14);
        assert!(recent.follow(13) && recent.follow(15) && !recent.follow(12) && !recent.follow(16));
        assert_eq!(recent.behind(13, 15, 1000).len(), 2);
        assert_eq!(recent.behind(13, 14, 1000).len(), 1);
        assert_eq!(recent.behind(13, 15, 50).len(), 1);
        assert_eq!(recent.behind(14, 15, 1).len(), 1, "a large one goes alone");
        assert!(recent.behind(15, 15, 1000).is_empty());
    }
}
