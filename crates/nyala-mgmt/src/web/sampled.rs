// SPDX-License-Identifier: Apache-2.0

//! What was sampled, and who looks at it.

use nyala_transport::member::monotonic_ms;
use nyala_web::{Figures, History};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::{Notify, watch};

/// Who has asked once is taken to look for so long.
const ASKS_AGAIN_MS: u64 = 30_000;

/// What was sampled.
#[derive(Debug, Default)]
pub(crate) struct Sampled {
    latest: Mutex<(Option<Arc<Figures>>, Arc<History>)>,
    rounds: watch::Sender<u64>,
    watchers: AtomicUsize,
    /// When somebody asked who does not stay, milliseconds ([`monotonic_ms`]); 0: never.
    asked_ms: AtomicU64,
    /// Somebody has begun to look.
    pub(super) begun: Notify,
}

impl Sampled {
    /// The last figures, and those before.
    pub fn latest(&self) -> (Option<Arc<Figures>>, Arc<History>) {
        self.latest.lock().clone()
    }

    /// Tells of every round, by its number.
    pub fn rounds(&self) -> watch::Receiver<u64> {
        self.rounds.subscribe()
    }

    /// Somebody looks, and may do so again.
    pub fn looked(&self) {
        let before = self.asked_ms.swap(monotonic_ms().max(1), Ordering::Relaxed);
        if !is_recent(before) {
            self.begun.notify_one();
        }
    }

    /// Whether somebody looks.
    pub(super) fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0 || is_recent(self.asked_ms.load(Ordering::Relaxed))
    }

    /// Somebody looks until this is dropped.
    pub fn watch(self: &Arc<Sampled>) -> Watcher {
        self.watchers.fetch_add(1, Ordering::Relaxed);
        self.begun.notify_one();
        Watcher(self.clone())
    }

    /// Of one more round.
    pub(super) fn add(&self, figures: Figures) {
        {
            let mut latest = self.latest.lock();
            // A copy only if somebody is drawing it at the moment.
            Arc::make_mut(&mut latest.1).push(figures.at_ms, figures.totals);
            latest.0 = Some(Arc::new(figures));
        }
        self.rounds.send_modify(|round| *round += 1);
    }
}

fn is_recent(asked_ms: u64) -> bool {
    asked_ms > 0 && monotonic_ms().saturating_sub(asked_ms) < ASKS_AGAIN_MS
}

/// Somebody who looks.
pub(crate) struct Watcher(Arc<Sampled>);

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}
