// SPDX-License-Identifier: Apache-2.0

//! Requests for attributes that are under way. Pure.
//!
//! The kernel throws away attributes that it asked for before it was made to forget an inode's, the size as well, and shows them to whoever asked all the same: a
//! program that was told of more bytes would then find the file's end where it was before. So who is to make it forget waits
//! until nobody asks.
//!
//! **Failure model.** An answer that was written to the kernel is only taken over when the program that waits for it runs
//! again, which nobody here is told of: for [`DELIVERY`] it counts as under way.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Longer than a program that was woken nearly always takes to run (some 10 to 50 µs; more where others have the processors).
pub const DELIVERY: Duration = Duration::from_millis(1);
/// So many answers are remembered. More within [`DELIVERY`] than a mount can give.
const MAX_ANSWERS: usize = 1024;

/// By inode.
#[derive(Debug, Default)]
pub struct AttrRequests {
    asked: HashMap<u64, u32>,
    /// Inodes whose attributes were answered, and when, the oldest first.
    answers: VecDeque<(u64, Instant)>,
}

/// Whether attributes of an inode are on their way to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Underway {
    /// No.
    No,
    /// It has asked.
    Asked,
    /// The answer may not have been taken over before then.
    Until(Instant),
}

impl AttrRequests {
    /// A request came.
    pub fn begin(&mut self, ino: u64) {
        *self.asked.entry(ino).or_default() += 1;
    }

    /// Its answer was written to the kernel.
    pub fn end(&mut self, ino: u64, now: Instant) {
        let Some(requests) = self.asked.get_mut(&ino) else { return };
        *requests -= 1;
        if *requests == 0 {
            self.asked.remove(&ino);
        }
        while self.answers.len() >= MAX_ANSWERS || self.answers.front().is_some_and(|(_, at)| *at + DELIVERY <= now) {
            self.answers.pop_front();
        }
        self.answers.push_back((ino, now));
    }

    /// Whether attributes of this inode are under way.
    pub fn underway(&self, ino: u64, now: Instant) -> Underway {
        if self.asked.contains_key(&ino) {
            return Underway::Asked;
        }
        let last = self.answers.iter().rev().find(|(of, _)| *of == ino).map(|(_, at)| *at + DELIVERY);
        last.filter(|until| *until > now).map_or(Underway::No, Underway::Until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_under_way_until_the_last_answer_is_delivered() {
        let (mut asked, now) = (AttrRequests::default(), Instant::now());
        let late = now + DELIVERY;
        assert_eq!(asked.underway(1, now), Underway::No);
        asked.begin(1);
        asked.begin(1);
        assert_eq!((asked.underway(1, now), asked.underway(2, now)), (Underway::Asked, Underway::No));
        asked.end(1, now);
        assert_eq!(asked.underway(1, late), Underway::Asked, "another one is under way");
        let second = now + DELIVERY / 2;
        asked.end(1, second);
        assert_eq!(asked.underway(1, now), Underway::Until(second + DELIVERY));
        assert_eq!(asked.underway(1, second + DELIVERY), Underway::No);
        asked.end(1, now);
        assert!(asked.asked.is_empty(), "one that was not begun");
    }

    #[test]
    fn answers_are_remembered_for_a_moment_only() {
        let (mut asked, now) = (AttrRequests::default(), Instant::now());
        let answer = |asked: &mut AttrRequests, ino, at| {
            asked.begin(ino);
            asked.end(ino, at);
        };
        (0..MAX_ANSWERS as u64 + 7).for_each(|ino| answer(&mut asked, ino, now));
        assert_eq!(asked.answers.len(), MAX_ANSWERS);
        answer(&mut asked, 5, now + DELIVERY);
        assert_eq!(asked.answers.len(), 1);
    }
}
