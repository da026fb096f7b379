// SPDX-License-Identifier: Apache-2.0

//! What requests took. Pure.

/// Requests of at least so many bytes are large.
const LARGE_BYTES: u64 = 64 << 10;

/// Number and time of requests of each kind: reads and writes, small and large.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    count: [u64; 4],
    us: [u64; 4],
}

impl Times {
    /// One was done.
    pub fn add(&mut self, write: bool, bytes: u64, us: u64) {
        let kind = usize::from(write) + 2 * usize::from(bytes >= LARGE_BYTES);
        self.count[kind] += 1;
        self.us[kind] = self.us[kind].saturating_add(us);
    }

    /// How many.
    pub fn requests(&self) -> u64 {
        self.count.iter().sum()
    }

    /// Older times count for less.
    pub fn fade(&mut self) {
        self.count.iter_mut().chain(&mut self.us).for_each(|n| *n /= 2);
    }

    /// What these took, and what requests that take as long as those of `calm` would have. Kinds that it lacks are left out.
    pub fn against(&self, calm: &Times) -> (u64, u64) {
        let known = (0..4).filter(|kind| calm.count[*kind] > 0 && self.count[*kind] > 0);
        known.fold((0, 0), |(took, would), kind| {
            let mean = self.count[kind].saturating_mul(calm.us[kind]) / calm.count[kind];
            (took.saturating_add(self.us[kind]), would.saturating_add(mean))
        })
    }
}
