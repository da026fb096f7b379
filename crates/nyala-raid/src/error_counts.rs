// SPDX-License-Identifier: Apache-2.0

//! How many errors members have made of late.

use crate::event::ErrorLimit;

/// By member: errors since a time, milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct ErrorCounts {
    limit: ErrorLimit,
    counts: Vec<(u32, u64)>,
}

impl ErrorCounts {
    pub fn new(members: usize, limit: ErrorLimit) -> ErrorCounts {
        ErrorCounts { limit, counts: vec![(0, 0); members] }
    }

    /// Counts errors of a member; whether they are too many.
    pub fn count(&mut self, now_ms: u64, member: usize, count: u32) -> bool {
        let (errors, since) = &mut self.counts[member];
        if now_ms.saturating_sub(*since) > self.limit.within_ms {
            (*errors, *since) = (0, now_ms);
        }
        *errors = errors.saturating_add(count);
        *errors >= self.limit.errors
    }

    /// A member begins anew.
    pub fn forget(&mut self, member: usize, now_ms: u64) {
        self.counts[member] = (0, now_ms);
    }
}
