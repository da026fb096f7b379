// SPDX-License-Identifier: Apache-2.0

//! Retries within a server: growing random pauses, up to a time limit, after which the client is told to try again.

use super::waits::{Event, Wait};
use nyala_wire::{ErrorCode, WireError};

const LIMIT_MS: u64 = 10_000;
/// Pauses between attempts, microseconds: the first, and the longest.
const PAUSES_US: [u64; 2] = [200, 50_000];
/// Longest wait for an event before another look: a lock may go without one, when its holder is found dead.
const LOOK_MS: u64 = 200;

/// Starts with the operation that it paces.
#[derive(Debug)]
pub struct Backoff {
    since_ms: u64,
    pause_us: u64,
}

impl Backoff {
    /// Starts at `now_ms`, milliseconds.
    pub fn new(now_ms: u64) -> Backoff {
        Backoff { since_ms: now_ms, pause_us: PAUSES_US[0] }
    }

    /// Whether the time limit is not reached yet.
    pub fn lasts(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.since_ms) <= LIMIT_MS
    }

    /// `BUSY` when the time limit is reached.
    pub fn check(&self, now_ms: u64) -> Result<(), WireError> {
        match self.lasts(now_ms) {
            true => Ok(()),
            false => Err(ErrorCode::BUSY.with("a conflicting transaction does not end")),
        }
    }

    /// Waits for an event; `BUSY` when the time limit is reached.
    pub fn wait(&self, event: Event, now_ms: u64) -> Result<Wait, WireError> {
        self.check(now_ms).map(|()| look_again(event, now_ms))
    }

    /// The end of a pause whose length grows each time, and is random within that; `BUSY` when the time limit is reached.
    pub fn pause(&mut self, now_ms: u64, random: u64) -> Result<u64, WireError> {
        self.check(now_ms)?;
        let pause_us = self.pause_us * (random % 1000) / 1000;
        self.pause_us = (self.pause_us * 2).min(PAUSES_US[1]);
        Ok(now_ms + pause_us.div_ceil(1000))
    }
}

/// Waits for an event, or for a short time.
pub fn look_again(event: Event, now_ms: u64) -> Wait {
    Wait::on(event).or_until(now_ms + LOOK_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_end_with_patience() {
        let mut backoff = Backoff::new(100);
        let ends: Vec<u64> = (0..12).map(|_| backoff.pause(100, 999).unwrap() - 100).collect();
        assert_eq!(ends, [1, 1, 1, 2, 4, 7, 13, 26, 50, 50, 50, 50]);
        assert!(backoff.check(100 + LIMIT_MS).is_ok());
        assert_eq!(backoff.pause(101 + LIMIT_MS, 0).unwrap_err().code, ErrorCode::BUSY);
        assert!(backoff.wait(Event::Released, 101 + LIMIT_MS).is_err());
        assert_eq!(backoff.wait(Event::Released, 200).unwrap(), Wait::on(Event::Released).or_until(400));
    }
}
