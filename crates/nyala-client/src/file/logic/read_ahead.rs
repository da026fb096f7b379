// SPDX-License-Identifier: Apache-2.0

//! Is a handle read in order, and how far ahead should be read?

use std::ops::Range;

/// How one handle is read.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Where the next read starts if it goes on in order.
    next: u64,
    /// How far ahead to read now, bytes; 0 until the reader proved to be sequential.
    window: u64,
    /// Read ahead up to here.
    ahead_to: u64,
}

/// What to do for a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The reader goes on in order: what it reads now may be in the cache or be worth putting there.
    pub sequential: bool,
    /// Read this ahead now; may be empty.
    pub prefetch: Range<u64>,
}

impl Stream {
    /// A handle at the start of its file.
    pub fn new() -> Stream {
        Stream { next: 0, window: 0, ahead_to: 0 }
    }

    /// A read of `len` bytes at `offset`; `max_window` bounds the read-ahead. Reads that the kernel has under way at
    /// the same time may come a little out of order; that still counts as sequential.
    pub fn on_read(&mut self, offset: u64, len: u64, max_window: u64) -> Plan {
        let end = offset.saturating_add(len);
        let slack = self.window.max(len);
        let sequential = max_window > 0
            && offset <= self.next.saturating_add(slack)
            && end.saturating_add(slack) >= self.next
            && (self.next > 0 || offset == 0);
        if !sequential {
            *self = Stream { next: end, window: 0, ahead_to: end };
            return Plan { sequential: false, prefetch: end..end };
        }
        self.window = (self.window * 2).max(len * 2).min(max_window);
        self.next = self.next.max(end);
        let from = self.ahead_to.max(self.next);
        let to = self.next.saturating_add(self.window).max(from);
        self.ahead_to = to;
        Plan { sequential: true, prefetch: from..to }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn windows_double_up_to_the_limit() {
        let mut stream = Stream::new();
        assert_eq!(stream.on_read(0, 10, 100), Plan { sequential: true, prefetch: 10..30 });
        assert_eq!(stream.on_read(10, 10, 100), Plan { sequential: true, prefetch: 30..60 });
        assert_eq!(stream.on_read(20, 10, 100), Plan { sequential: true, prefetch: 60..110 });
        assert_eq!(stream.on_read(30, 10, 100), Plan { sequential: true, prefetch: 110..140 });
        assert!(!stream.on_read(5000, 10, 100).sequential);
        assert!(stream.on_read(5010, 10, 100).sequential);
        assert!(!stream.on_read(0, 10, 100).sequential);
        assert!(!Stream::new().on_read(0, 10, 0).sequential);
        assert!(!Stream::new().on_read(100, 10, 1000).sequential);
    }

    proptest! {
        #[test]
        fn never_ahead_of_the_window(reads in proptest::collection::vec((any::<bool>(), 0_u64..1000, 1_u64..50), 1..100)) {
            let mut stream = Stream::new();
            let mut at = 0;
            for (sequential, offset, len) in reads {
                let offset = if sequential { at } else { offset };
                let plan = stream.on_read(offset, len, 200);
                at = offset + len;
                prop_assert!(plan.prefetch.start <= plan.prefetch.end);
                prop_assert!(plan.prefetch.end <= stream.next + 200);
                prop_assert!(plan.prefetch.is_empty() || plan.prefetch.start >= offset + len);
            }
        }
    }
}
