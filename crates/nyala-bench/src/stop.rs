// SPDX-License-Identifier: Apache-2.0

//! The user wants an end: the phase ends, what was made is removed, and what there is is reported. Who hears signals says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// Whether the user wants an end. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<State>);

#[derive(Debug, Default)]
struct State {
    wanted: AtomicBool,
    news: Notify,
}

impl Stop {
    /// Whether the end is wanted.
    pub fn wanted(&self) -> bool {
        self.0.wanted.load(Ordering::Relaxed)
    }

    /// Asks for the end.
    pub fn ask(&self) {
        self.0.wanted.store(true, Ordering::Relaxed);
        self.0.news.notify_waiters();
    }

    /// Waits until the end is wanted.
    pub async fn asked(&self) {
        let mut news = std::pin::pin!(self.0.news.notified());
        // From here on it is told of, also if that is before the wait.
        news.as_mut().enable();
        if !self.wanted() {
            news.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_who_wait_are_told() {
        let stop = Stop::default();
        let (waits, asks) = (stop.clone(), stop.clone());
        tokio::join!(waits.asked(), stop.asked(), async { asks.ask() });
        stop.asked().await;
        assert!(stop.wanted());
    }
}
