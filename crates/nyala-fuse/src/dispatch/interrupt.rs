// SPDX-License-Identifier: Apache-2.0

//! Who waits to be interrupted.
//!
//! **Failure model.** An INTERRUPT may come before its request is watched: the request is with another thread, or in a
//! ring, and the INTERRUPT was faster. The last of them are remembered, and a request that is then watched is interrupted
//! at once; numbers of requests are never used again, so one that came after its reply or for a request that cannot be
//! interrupted does no harm. With very many at once one may be lost: its caller waits for the reply.

use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tokio::sync::Notify;

/// Interrupts of unknown requests that are remembered.
const EARLY: usize = 256;

/// The requests of a mount that end early when their caller gets a signal.
#[derive(Default)]
pub(crate) struct Interrupts {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: HashMap<u64, Arc<Notify>>,
    early: VecDeque<u64>,
}

impl Interrupts {
    /// Wakes the request, if it is one that waits, or when it comes to wait.
    pub(crate) fn interrupt(&self, unique: u64) {
        let mut state = self.state.lock();
        match state.waiting.get(&unique) {
            Some(notify) => notify.notify_one(),
            None => {
                if state.early.len() == EARLY {
                    state.early.pop_front();
                }
                state.early.push_back(unique);
            }
        }
    }

    /// From now on, until the watch is dropped, the request can be interrupted.
    pub(crate) fn watch(&self, unique: u64) -> Watch<'_> {
        let notify = Arc::new(Notify::new());
        let mut state = self.state.lock();
        if let Some(at) = state.early.iter().position(|early| *early == unique) {
            state.early.remove(at);
            notify.notify_one();
        }
        state.waiting.insert(unique, Arc::clone(&notify));
        drop(state);
        Watch { interrupts: self, unique, notify }
    }
}

/// A request that can be interrupted.
pub(crate) struct Watch<'a> {
    interrupts: &'a Interrupts,
    unique: u64,
    notify: Arc<Notify>,
}

impl Watch<'_> {
    /// Ends when the request is interrupted.
    pub(crate) async fn wait(&self) {
        self.notify.notified().await;
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.interrupts.state.lock().waiting.remove(&self.unique);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn only_the_watched_request_is_woken_and_nothing_stays() {
        let interrupts = Interrupts::default();
        let watch = interrupts.watch(6);
        let poll = || std::pin::pin!(watch.wait()).poll(&mut Context::from_waker(Waker::noop()));
        interrupts.interrupt(8);
        assert_eq!(poll(), Poll::Pending);
        interrupts.interrupt(6);
        assert_eq!(poll(), Poll::Ready(()));
        drop(watch);
        assert!(interrupts.state.lock().waiting.is_empty());
    }

    #[test]
    fn an_interrupt_that_is_faster_than_its_request_is_not_lost() {
        let interrupts = Interrupts::default();
        interrupts.interrupt(10);
        for unique in 1..EARLY as u64 {
            interrupts.interrupt(1000 + unique);
        }
        let watch = interrupts.watch(10);
        let poll = |watch: &Watch<'_>| std::pin::pin!(watch.wait()).poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(poll(&watch), Poll::Ready(()));
        assert_eq!(poll(&interrupts.watch(12)), Poll::Pending);
        // They are forgotten in the end.
        for unique in 0..2 * EARLY as u64 {
            interrupts.interrupt(5000 + unique);
        }
        assert_eq!(interrupts.state.lock().early.len(), EARLY);
    }
}
