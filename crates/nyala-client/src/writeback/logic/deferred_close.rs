// SPDX-License-Identifier: Apache-2.0

//! What waits a moment so that it can go out together with others, and when it is due.

use std::collections::VecDeque;

/// So many go out without waiting for more.
const ENOUGH: usize = 256;
/// No more than so many wait or are on their way.
const MOST: usize = 1024;
/// After a failure nothing is put off for so long, milliseconds: who asks waits, and hears of the next one.
const DISTRUST_MS: u64 = 30_000;

/// What to do now.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<T> {
    /// These are due; [`DeferredCloses::done`] when they are out.
    Take(Vec<T>),
    /// Something is due after so many milliseconds.
    Wait(u64),
    /// Nothing waits.
    Idle,
}

/// Things that wait, oldest first.
#[derive(Debug)]
pub struct DeferredCloses<T> {
    delay_ms: u64,
    waiting: VecDeque<(u64, T)>,
    under_way: usize,
    distrust_until_ms: u64,
}

impl<T> DeferredCloses<T> {
    /// Each waits for at most `delay_ms`; with 0 nothing is put off.
    pub fn new(delay_ms: u64) -> DeferredCloses<T> {
        DeferredCloses { delay_ms, waiting: VecDeque::new(), under_way: 0, distrust_until_ms: 0 }
    }

    /// Whether something may be put off.
    pub fn may(&self, now_ms: u64) -> bool {
        self.delay_ms > 0 && now_ms >= self.distrust_until_ms && self.waiting.len() + self.under_way < MOST
    }

    /// Puts something off. Whether who looks after this has to look again: it was idle, or there is enough now.
    pub fn put(&mut self, item: T, now_ms: u64) -> bool {
        self.waiting.push_back((now_ms, item));
        self.waiting.len() == 1 || self.waiting.len() == ENOUGH
    }

    /// What is due.
    pub fn next(&mut self, now_ms: u64) -> Next<T> {
        let Some((oldest_ms, _)) = self.waiting.front() else { return Next::Idle };
        let age_ms = now_ms.saturating_sub(*oldest_ms);
        if age_ms < self.delay_ms && self.waiting.len() < ENOUGH {
            return Next::Wait(self.delay_ms - age_ms);
        }
        Next::Take(self.take_all())
    }

    /// Everything, due or not.
    pub fn take_all(&mut self) -> Vec<T> {
        self.under_way += self.waiting.len();
        self.waiting.drain(..).map(|(_, item)| item).collect()
    }

    /// So many that were taken are out, or given up.
    pub fn done(&mut self, count: usize) {
        self.under_way = self.under_way.saturating_sub(count);
    }

    /// Something could not be done.
    pub fn failed(&mut self, now_ms: u64) {
        self.distrust_until_ms = now_ms + DISTRUST_MS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_go_when_the_oldest_is_due_or_there_are_enough() {
        let mut off = DeferredCloses::new(20);
        assert_eq!(off.next(5), Next::Idle);
        assert!(off.put(1, 5));
        assert!(!off.put(2, 20));
        assert_eq!(off.next(10), Next::Wait(15));
        assert_eq!(off.next(25), Next::Take(vec![1, 2]));
        assert_eq!(off.next(25), Next::Idle);
        let rung: Vec<usize> = (0..300).filter(|number| off.put(*number, 30)).collect();
        assert_eq!(rung, [0, ENOUGH - 1]);
        assert_eq!(off.next(30), Next::Take((0..300).collect()));
    }

    #[test]
    fn no_more_than_so_many_wait_or_are_on_their_way() {
        let mut off = DeferredCloses::new(20);
        for number in 0..MOST {
            off.put(number, 1);
        }
        assert!(!off.may(1));
        assert_eq!(off.take_all().len(), MOST);
        assert!(!off.may(1), "they are still on their way");
        off.done(1);
        assert!(off.may(1));
    }

    #[test]
    fn nothing_is_put_off_without_a_delay_or_after_a_failure() {
        assert!(!DeferredCloses::<()>::new(0).may(1));
        let mut off = DeferredCloses::<()>::new(20);
        off.failed(100);
        assert!(!off.may(100 + DISTRUST_MS - 1));
        assert!(off.may(100 + DISTRUST_MS));
    }
}
