// SPDX-License-Identifier: Apache-2.0

//! Who waits to be interrupted.
//!
//! **Failure model.** An INTERRUPT may come before its request is watched (by another thread), after its reply, or for
//! one that cannot be interrupted: it is then ignored, which the protocol allows; the caller waits for the reply.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Notify;

/// The requests of a mount that end early when their caller gets a signal.
#[derive(Default)]
pub(crate) struct Interrupts {
    waiting: Mutex<HashMap<u64, Arc<Notify>>>,
}

impl Interrupts {
    /// Wakes the request, if it is one that waits.
    pub(crate) fn interrupt(&self, unique: u64) {
        if let Some(notify) = self.waiting.lock().get(&unique) {
            notify.notify_one();
        }
    }

    /// From now on, until the watch is dropped, the request can be interrupted.
    pub(crate) fn watch(&self, unique: u64) -> Watch<'_> {
        let notify = Arc::new(Notify::new());
        self.waiting.lock().insert(unique, Arc::clone(&notify));
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
        self.interrupts.waiting.lock().remove(&self.unique);
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
        assert!(interrupts.waiting.lock().is_empty());
        interrupts.interrupt(6);
    }
}
