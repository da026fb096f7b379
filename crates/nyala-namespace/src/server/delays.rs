// SPDX-License-Identifier: Apache-2.0

//! How long tasks waited, and for what: whoever is told late is to be told why.

use super::io::Token;
use std::collections::VecDeque;

/// Most answers of which it is known until somebody asks; the oldest goes first.
const MOST_ANSWERED: usize = 64;

/// What somebody waited for, and how long, milliseconds. Waits within a millisecond are not in it.
pub type Waited = Vec<(&'static str, u64)>;

/// A wait that goes on.
#[derive(Debug)]
pub(super) struct Delay {
    /// Since when.
    pub since_ms: u64,
    /// For what.
    pub reason: &'static str,
    /// What was waited for before.
    pub waited: Waited,
}

impl Delay {
    /// It ends: all that was waited for until now.
    pub fn end(mut self, now_ms: u64) -> Waited {
        let ms = now_ms - self.since_ms;
        if ms > 0 {
            match self.waited.iter_mut().find(|(reason, _)| *reason == self.reason) {
                Some((_, known)) => *known += ms,
                None => self.waited.push((self.reason, ms)),
            }
        }
        self.waited
    }
}

/// What the task that runs now waited for, and requests that were answered lately.
#[derive(Default)]
pub(super) struct Delays {
    /// What the current task has waited for.
    pub current: Waited,
    /// What it asked for last.
    pub asked: &'static str,
    answered: VecDeque<(Token, Waited)>,
}

impl Delays {
    /// The current task answers a request.
    #[inline]
    pub fn answers(&mut self, token: Token) {
        if !self.current.is_empty() {
            self.answered.truncate(MOST_ANSWERED - 1);
            self.answered.push_front((token, self.current.clone()));
        }
    }

    /// What a request waited for that is answered.
    pub fn take(&mut self, token: Token) -> Waited {
        let found = self.answered.iter().position(|(of, _)| *of == token);
        found.and_then(|at| self.answered.remove(at)).map(|(_, waited)| waited).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_a_kind_add_up() {
        let delay = |since_ms, reason, waited| Delay { since_ms, reason, waited };
        assert!(delay(5, "log", Waited::new()).end(5).is_empty());
        let waited = delay(5, "log", Waited::new()).end(9);
        let waited = delay(20, "locks", waited).end(21);
        assert_eq!(delay(30, "log", waited).end(36), [("log", 10), ("locks", 1)]);
    }

    #[test]
    fn what_nobody_asks_for_is_bounded() {
        let mut delays = Delays { current: vec![("log", 1)], ..Delays::default() };
        (0..1000).for_each(|token| delays.answers(Token(token)));
        assert_eq!(delays.answered.len(), MOST_ANSWERED);
        assert_eq!((delays.take(Token(999)), delays.take(Token(999))), (vec![("log", 1)], vec![]));
        assert!(delays.take(Token(0)).is_empty());
    }
}
