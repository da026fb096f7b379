// SPDX-License-Identifier: Apache-2.0

//! Sequence numbers of changing requests with one metadata target: which are under way, and below which all are over.

use std::collections::BTreeSet;

/// Most changing requests under way with one metadata target.
pub const MAX_OUTSTANDING: usize = 256;

/// The window of one session with one metadata target.
#[derive(Debug)]
pub struct Window {
    next: u64,
    outstanding: BTreeSet<u64>,
}

impl Window {
    /// Nothing sent yet.
    pub fn new() -> Window {
        Window { next: 1, outstanding: BTreeSet::new() }
    }

    /// The next number, or `None` while the window is full.
    pub fn begin(&mut self) -> Option<u64> {
        if self.outstanding.len() >= MAX_OUTSTANDING || self.next - self.acked_below() >= MAX_OUTSTANDING as u64 {
            return None;
        }
        let sequence = self.next;
        self.next += 1;
        self.outstanding.insert(sequence);
        Some(sequence)
    }

    /// The request with this number is over: answered or given up. Twice is once.
    pub fn done(&mut self, sequence: u64) {
        self.outstanding.remove(&sequence);
    }

    /// All requests below this number are over.
    pub fn acked_below(&self) -> u64 {
        self.outstanding.first().copied().unwrap_or(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_new_dense_and_never_acknowledged_early(ops in proptest::collection::vec(any::<(bool, u16)>(), 0..2000)) {
            let mut window = Window::new();
            let mut open = Vec::new();
            let mut last = 0;
            for (begin, pick) in ops {
                if begin {
                    let lowest = open.iter().min().copied().unwrap_or(last + 1);
                    match window.begin() {
                        Some(sequence) => {
                            prop_assert_eq!(sequence, last + 1);
                            last = sequence;
                            open.push(sequence);
                        }
                        None => prop_assert!(last + 1 - lowest >= MAX_OUTSTANDING as u64),
                    }
                } else if !open.is_empty() {
                    let sequence = open.swap_remove(usize::from(pick) % open.len());
                    window.done(sequence);
                    window.done(sequence);
                }
                prop_assert_eq!(window.acked_below(), open.iter().min().copied().unwrap_or(last + 1));
                prop_assert!(open.len() <= MAX_OUTSTANDING);
            }
        }
    }
}
