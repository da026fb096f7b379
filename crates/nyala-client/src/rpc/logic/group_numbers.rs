// SPDX-License-Identifier: Apache-2.0

//! Numbers of requests to one mirror group: which are under way, and below which all are over.

use std::collections::BTreeSet;

/// The numbers of one client with one group.
#[derive(Debug, Default)]
pub struct Numbers {
    last: u64,
    open: BTreeSet<u64>,
}

impl Numbers {
    /// The next number, from 1.
    pub fn begin(&mut self) -> u64 {
        self.last += 1;
        self.open.insert(self.last);
        self.last
    }

    /// The request with this number is over: answered or given up.
    pub fn done(&mut self, number: u64) {
        self.open.remove(&number);
    }

    /// All requests below this number are over.
    pub fn lowest(&self) -> u64 {
        self.open.first().copied().unwrap_or(self.last + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_given_up_early() {
        let mut numbers = Numbers::default();
        assert_eq!((numbers.lowest(), numbers.begin(), numbers.begin(), numbers.begin()), (1, 1, 2, 3));
        numbers.done(2);
        assert_eq!(numbers.lowest(), 1);
        numbers.done(1);
        numbers.done(1);
        assert_eq!(numbers.lowest(), 3);
        numbers.done(3);
        assert_eq!(numbers.lowest(), 4);
    }
}
