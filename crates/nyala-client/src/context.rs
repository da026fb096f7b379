// SPDX-License-Identifier: Apache-2.0

//! What every owner in a client shares: settings, counters, the clock, background work, and the end.

use crate::config::ClientConfig;
use nyala_metrics::Counter;
use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) meta_requests: Counter,
    pub(crate) revocations: Counter,
    pub(crate) storage_reads: Counter,
    pub(crate) storage_writes: Counter,
    pub(crate) read_bytes: Counter,
    pub(crate) written_bytes: Counter,
    pub(crate) retries: Counter,
    pub(crate) checksum_errors: Counter,
    pub(crate) cache_hits: Counter,
    pub(crate) rebuilt_reads: Counter,
    pub(crate) repaired_files: Counter,
}

/// A strong reference to the whole client; see [`Context::hold`].
pub(crate) type Hold = Arc<dyn Any + Send + Sync>;

pub(crate) struct Context {
    pub(crate) config: ClientConfig,
    pub(crate) stats: Counters,
    client: OnceLock<Weak<dyn Any + Send + Sync>>,
    /// Background tasks that a shutdown waits for.
    background: AtomicUsize,
    background_done: Notify,
    started: Instant,
    stopping: AtomicBool,
    wake: Arc<Notify>,
}

impl Context {
    pub(crate) fn new(config: ClientConfig) -> Context {
        Context {
            config,
            stats: Counters::default(),
            client: OnceLock::new(),
            background: AtomicUsize::new(0),
            background_done: Notify::new(),
            started: Instant::now(),
            stopping: AtomicBool::new(false),
            wake: Arc::default(),
        }
    }

    /// Names the client that background work keeps alive. Once.
    pub(crate) fn belongs_to(&self, client: Weak<dyn Any + Send + Sync>) {
        // why ignored: a second call would name the same client.
        let _ = self.client.set(client);
    }

    /// Keeps the client, its maintenance thread included, alive while work goes on that no program waits for.
    pub(crate) fn hold(&self) -> Option<Hold> {
        self.client.get().and_then(Weak::upgrade)
    }

    /// Milliseconds since the client started, from 1.
    pub(crate) fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64 + 1
    }

    /// How long state counts as valid without a delegation, milliseconds.
    pub(crate) fn cache_ms(&self) -> u64 {
        self.config.cache_time.min(Duration::from_secs(1)).as_millis() as u64
    }

    /// `None`: for ever.
    pub(crate) fn retry_timeout(&self) -> Option<Duration> {
        Some(self.config.retry_timeout).filter(|timeout| !timeout.is_zero())
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// From now on nothing is sent any more.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// Wakes the maintenance thread.
    pub(crate) fn poke(&self) {
        self.wake.notify_one();
    }

    /// What [`Context::poke`] notifies.
    pub(crate) fn waker(&self) -> Arc<Notify> {
        self.wake.clone()
    }

    /// Runs something in the background that a shutdown waits for. Outside a runtime nothing can run: `false`.
    pub(crate) fn spawn(self: &Arc<Context>, work: impl Future<Output = ()> + Send + 'static) -> bool {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return false };
        let running = Running::new(self.clone());
        runtime.spawn(async move {
            let _running = running;
            work.await;
        });
        true
    }

    /// Waits until nothing runs in the background.
    pub(crate) async fn settle(&self) {
        loop {
            let done = self.background_done.notified();
            tokio::pin!(done);
            done.as_mut().enable();
            if self.background.load(Ordering::Acquire) == 0 {
                return;
            }
            done.await;
        }
    }
}

/// Counts background work, also when its runtime is dropped under it.
struct Running {
    ctx: Arc<Context>,
    _client: Option<Hold>,
}

impl Running {
    fn new(ctx: Arc<Context>) -> Running {
        ctx.background.fetch_add(1, Ordering::AcqRel);
        let client = ctx.hold();
        Running { ctx, _client: client }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ctx.background.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.ctx.background_done.notify_waiters();
        }
    }
}
