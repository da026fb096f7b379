// SPDX-License-Identifier: Apache-2.0

//! Which entries move at once. Pure.

use crate::server::look_at_fragment::MOST_ENTRIES;
use nyala_wire::fragments::{COLLISIONS, COOKIE_END, CookieRange, Fragment};

/// Entries that are to move, where the end of a fragment's range is to be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Which fragment's end moves.
    pub at: usize,
    /// The cookies of the entries.
    pub range: CookieRange,
    /// They go to that fragment, whose end moves up; else to the one behind it.
    pub up: bool,
}

impl Window {
    /// As many as can move at once, if entries are spread evenly. `to`: where the end is to be at last; `entries`: those of the giver.
    pub fn new(fragments: &[Fragment], at: usize, to: u64, entries: u64) -> Window {
        let end = |at: usize| fragments.get(at).map_or(COOKIE_END, |fragment| fragment.upto);
        let (now, up) = (end(at), to > end(at));
        let giver = if up { at + 1 } else { at };
        let width = end(giver) - giver.checked_sub(1).map_or(0, end);
        let pieces = entries / u64::from(MOST_ENTRIES / 2) + 1;
        let most = (width / pieces / COLLISIONS).max(1) * COLLISIONS;
        let range = match up {
            true => CookieRange { from: now, upto: to.min(now.saturating_add(most)) },
            false => CookieRange { from: to.max(now.saturating_sub(most)), upto: now },
        };
        Window { at, range, up }
    }

    /// About half of it; none if it cannot be less.
    pub fn half(self) -> Option<Window> {
        let CookieRange { from, upto } = self.range;
        let half = (upto - from) / 2 / COLLISIONS * COLLISIONS;
        let range =
            if self.up { CookieRange { upto: from + half, from } } else { CookieRange { from: upto - half, upto } };
        (half > 0).then_some(Window { range, ..self })
    }

    /// Which fragment they leave, and which they come to.
    pub fn between(self) -> (usize, usize) {
        if self.up { (self.at + 1, self.at) } else { (self.at, self.at + 1) }
    }

    /// Where the end of the range is when they have moved.
    pub fn end(self) -> u64 {
        if self.up { self.range.upto } else { self.range.from }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::InodeId;

    #[test]
    fn windows_are_at_the_end_that_moves_and_grow_with_the_distance_between_entries() {
        let fragments = [Fragment { inode: InodeId(1), upto: 1 << 20 }];
        let few = Window::new(&fragments, 0, 1 << 30, 10);
        assert_eq!(
            (few.range.from, few.range.upto, few.up, few.between(), few.end()),
            (1 << 20, 1 << 30, true, (1, 0), 1 << 30)
        );
        let many = Window::new(&fragments, 0, COOKIE_END / 2, 256_000);
        let width = many.range.upto - many.range.from;
        assert!(width * 1001 <= COOKIE_END && width * 1010 > COOKIE_END, "{many:?}");
        let down = Window::new(&fragments, 0, 0, 2_560);
        assert_eq!((down.range.upto, down.up, down.between(), down.end()), (1 << 20, false, (0, 1), down.range.from));
        assert!(down.range.from > 0 && down.range.from.is_multiple_of(COLLISIONS));
    }

    #[test]
    fn halves_end_with_names_of_one_hash() {
        let mut window = Window { at: 0, range: CookieRange { from: 512, upto: 512 + 5 * COLLISIONS }, up: false };
        let mut widths = Vec::new();
        while let Some(half) = window.half() {
            assert_eq!(half.range.upto, window.range.upto);
            widths.push((half.range.upto - half.range.from) / COLLISIONS);
            window = half;
        }
        assert_eq!(widths, [2, 1]);
    }
}
