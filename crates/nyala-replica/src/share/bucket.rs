// SPDX-License-Identifier: Apache-2.0

//! Bytes that may be copied now. Pure.

/// A copy of hardly any bytes costs disks and network as much as one of this part of a region.
const LEAST_PART: u64 = 16;

/// Filled by time, emptied by copies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    /// The last copy may have taken more than there was, and is paid for later.
    bytes: i64,
    filled_us: u64,
    /// Copies since the rate was last changed, and the time for that: rests do not count.
    taken: u64,
    taking_us: u64,
}

impl Bucket {
    /// What the time since the last look allows at this rate. What was not used in an interval is gone: no burst after a pause.
    pub fn fill(&mut self, now_us: u64, rate: u64, interval_ms: u64) {
        let gone_us = now_us.saturating_sub(std::mem::replace(&mut self.filled_us, now_us));
        let bytes = |us: u64| i64::try_from(u128::from(rate) * u128::from(us) / 1_000_000).unwrap_or(i64::MAX);
        if rate > 0 {
            self.taking_us += gone_us;
            self.bytes = self.bytes.saturating_add(bytes(gone_us)).min(bytes(interval_ms * 1000).max(1));
        }
    }

    /// One copy may go at once.
    pub fn begin(&mut self) {
        self.bytes = 1;
    }

    /// Nothing may.
    pub fn empty(&mut self) {
        self.bytes = 0;
    }

    /// Takes some, if there is any.
    pub fn take(&mut self, bytes: u64) -> bool {
        let some = self.bytes > 0;
        if some {
            self.bytes = self.bytes.saturating_sub_unsigned(bytes);
            self.taken = self.taken.saturating_add(bytes);
        }
        some
    }

    /// What `taken` was taken for has only `bytes`: the rest comes back.
    pub fn sized(&mut self, taken: u64, bytes: u64) {
        let rest = taken.saturating_sub(bytes.max(taken / LEAST_PART));
        self.bytes = self.bytes.saturating_add_unsigned(rest);
        self.taken = self.taken.saturating_sub(rest);
    }

    /// Bytes per second that were really taken.
    pub fn used(&self) -> u64 {
        let used = u128::from(self.taken) * 1_000_000 / u128::from(self.taking_us.max(1));
        u64::try_from(used).unwrap_or(u64::MAX)
    }

    /// Another rate begins.
    pub fn count_anew(&mut self) {
        (self.taken, self.taking_us) = (0, 0);
    }
}
