// SPDX-License-Identifier: Apache-2.0

//! What became of the way to an address. Pure: times are arguments.

use nyala_wire::NodeId;
use nyala_wire::mgmt::LinkState;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Breaks are reported for so long.
const WINDOW_MS: u64 = 60_000;
/// Most breaks that are remembered: more than there can be in a minute.
const MOST: usize = 64;

/// Whether an address answers, since when it does not, and when it was lost.
#[derive(Debug, Default)]
pub(super) struct History {
    /// It has answered once.
    known: bool,
    silent_since_ms: Option<u64>,
    breaks: VecDeque<u64>,
    total: u64,
}

impl History {
    /// It answers, or does not. True: it did so far, and does not any more.
    pub fn note(&mut self, answers: bool, now_ms: u64) -> bool {
        self.known |= answers;
        if answers {
            self.silent_since_ms = None;
        }
        let breaks = !answers && self.known && self.silent_since_ms.is_none();
        if breaks {
            self.silent_since_ms = Some(now_ms);
            self.total += 1;
            self.breaks.push_back(now_ms);
            if self.breaks.len() > MOST {
                self.breaks.pop_front();
            }
        }
        breaks
    }

    /// The server was away as a whole and is back: it has a moment before silence counts.
    pub fn begin_again(&mut self, now_ms: u64) {
        self.silent_since_ms = self.silent_since_ms.map(|_| now_ms);
    }

    /// Whether it answers now.
    pub fn answers(&self) -> bool {
        self.known && self.silent_since_ms.is_none()
    }

    /// How often it was lost.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// What is reported of it; nothing while all is well.
    pub fn state(&self, node: NodeId, address: SocketAddr, now_ms: u64) -> Option<LinkState> {
        let ago = |ms: u64| now_ms.saturating_sub(ms);
        let mut lately = self.breaks.iter().filter(|at| ago(**at) < WINDOW_MS);
        let (breaks, last_break_ms) = (lately.clone().count() as u64, lately.next_back().map(|at| ago(*at)));
        let silent_ms = self.silent_since_ms.map(ago);
        (silent_ms.is_some() || breaks > 0).then_some(LinkState { node, address, silent_ms, breaks, last_break_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(history: &History, now_ms: u64) -> Option<(Option<u64>, u64, Option<u64>)> {
        let state = history.state(NodeId(2), ([10, 0, 0, 2], 8003).into(), now_ms)?;
        Some((state.silent_ms, state.breaks, state.last_break_ms))
    }

    #[test]
    fn what_never_answered_is_not_reported() {
        let mut history = History::default();
        assert!(!history.note(false, 5) && !history.answers());
        assert_eq!(state(&history, 90_000), None);
        assert!(!history.note(true, 90_000) && history.answers());
        assert_eq!(state(&history, 90_000), None);
    }

    #[test]
    fn silence_counts_from_its_begin_and_a_break_for_a_minute() {
        let mut history = History::default();
        history.note(true, 0);
        assert!(history.note(false, 1000));
        assert!(!history.note(false, 3000), "still");
        assert_eq!(state(&history, 4000), Some((Some(3000), 1, Some(3000))));
        history.note(true, 5000);
        assert_eq!(state(&history, 60_999), Some((None, 1, Some(59_999))));
        assert_eq!(state(&history, 61_000), None);
        assert!(history.note(false, 70_000));
        assert_eq!(state(&history, 170_000), Some((Some(100_000), 0, None)), "silent for longer than breaks count");
        assert_eq!(history.total(), 2);
    }

    #[test]
    fn a_server_that_is_back_has_a_moment() {
        let mut history = History::default();
        history.begin_again(500);
        assert_eq!(state(&history, 1000), None);
        history.note(true, 0);
        history.note(false, 1000);
        history.begin_again(9000);
        assert_eq!(state(&history, 9500), Some((Some(500), 1, Some(8500))));
    }

    #[test]
    fn memory_is_bounded() {
        let mut history = History::default();
        for at in 0..10_000 {
            history.note(at % 2 == 0, at);
        }
        assert_eq!((history.breaks.len(), history.total()), (MOST, 5000));
    }
}
