// SPDX-License-Identifier: Apache-2.0

//! How long requests wait for the one thread that serves a metadata target.
//!
//! The thread takes in turns: it asks the kernel which connections have something, then works through all of them, then asks again. A request
//! that is read in the middle of a turn was there when the turn began, or came during it, and waited for those before it. When a turn begins
//! is known without a look at a clock: its first request looks at one anyway.
//!
//! **Failure model.** None: a figure. What a request waited in the kernel before the turn began is not in it, so it is less than the whole wait;
//! that is at most one turn more.

use std::cell::Cell;
use std::time::Duration;
use tokio::runtime::{Handle, RuntimeMetrics};
use tokio::time::Instant;

/// Knows when the turn began that the thread is in. Of one runtime's thread.
pub struct TurnClock {
    runtime: RuntimeMetrics,
    /// What the runtime had worked when the turn began, which is as good as a number of it: it is counted when the turn ends.
    turn: Cell<Option<(Duration, Instant)>>,
}

impl TurnClock {
    /// Of the runtime that this is called on.
    pub fn new() -> TurnClock {
        TurnClock { runtime: Handle::current().metrics(), turn: Cell::default() }
    }

    /// How long a request that begins now waited since its turn began.
    pub fn waited(&self, now: Instant) -> Duration {
        let worked = self.runtime.worker_total_busy_duration(0);
        match self.turn.get() {
            Some((turn, began)) if turn == worked => now.saturating_duration_since(began),
            _ => {
                self.turn.set(Some((worked, now)));
                Duration::ZERO
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;
    use tokio::task::LocalSet;

    #[test]
    fn who_comes_later_in_a_turn_waited_for_those_before() {
        let busy = Duration::from_millis(20);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let waits = LocalSet::new().block_on(&runtime, async {
            let clock = Rc::new(TurnClock::new());
            // Both are woken by the same look at the timers, and the first keeps the thread.
            let due = Instant::now() + Duration::from_millis(50);
            let request = |clock: Rc<TurnClock>| async move {
                tokio::time::sleep_until(due).await;
                let waited = clock.waited(Instant::now());
                // sleeps: a request that keeps the thread
                std::thread::sleep(busy);
                waited
            };
            let two = [clock.clone(), clock.clone()].map(|clock| tokio::task::spawn_local(request(clock)));
            let mut waits = Vec::new();
            for one in two {
                waits.push(one.await.unwrap());
            }
            // sleeps: a later turn
            tokio::time::sleep(Duration::from_millis(1)).await;
            waits.push(clock.waited(Instant::now()));
            waits
        });
        assert_eq!((waits[0], waits[2]), (Duration::ZERO, Duration::ZERO), "{waits:?}");
        assert!(waits[1] >= busy, "{waits:?}");
    }
}
