// SPDX-License-Identifier: Apache-2.0

//! When a peer may be tried next, and what came of it last.

use crate::error::TransportError;
use std::time::Duration;
use tokio::time::Instant;

const BACKOFF_MIN: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_secs(1);

/// The last attempt to connect.
pub(super) struct LastAttempt {
    number: u64,
    failed: Option<TransportError>,
    next_at: Instant,
    backoff: Duration,
}

impl LastAttempt {
    pub(super) fn new() -> LastAttempt {
        LastAttempt { number: 0, failed: None, next_at: Instant::now(), backoff: BACKOFF_MIN }
    }

    /// Grows with each attempt.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The error of an attempt after that one.
    pub(super) fn failed_since(&self, number: u64) -> Option<TransportError> {
        self.failed.clone().filter(|_| self.number != number)
    }

    pub(super) fn next_at(&self) -> Instant {
        self.next_at
    }

    pub(super) fn note(&mut self, failed: Option<&TransportError>) {
        self.number += 1;
        self.failed = failed.cloned();
        if failed.is_none() {
            self.backoff = BACKOFF_MIN;
            // A server that takes connections and drops them at once must not be hammered either.
            self.next_at = Instant::now() + BACKOFF_MIN / 5;
            return;
        }
        let mut random = [0; 2];
        // Without randomness clients come in step, which is slower but not wrong.
        let _ = getrandom::fill(&mut random);
        let part = u32::from(u16::from_le_bytes(random)) % 1024;
        self.next_at = Instant::now() + self.backoff - self.backoff / 4 * part / 1024;
        self.backoff = (self.backoff * 2).min(BACKOFF_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn backoff_doubles_up_to_its_cap_and_starts_again() {
        let refused = TransportError::ConnectRefused { address: ([127, 0, 0, 1], 1).into() };
        let mut last = LastAttempt::new();
        for expected_ms in [50u64, 100, 200, 400, 800, 1000, 1000] {
            last.note(Some(&refused));
            let wait = last.next_at - Instant::now();
            let most = Duration::from_millis(expected_ms);
            assert!(wait <= most && wait > most * 7 / 10, "{wait:?} of {most:?}");
        }
        last.note(None);
        last.note(Some(&refused));
        assert!(last.next_at - Instant::now() <= BACKOFF_MIN);
    }
}
