// SPDX-License-Identifier: Apache-2.0

//! What all parts of one client share.

use crate::config::ClientConfig;
use crate::delegation::cache::DelegationCache;
use crate::error::{Error, Result};
use crate::file::locks::LockBook;
use crate::file::state::{Content, File};
use crate::file::table::Table;
use crate::rpc::cluster_map::Maps;
use crate::rpc::logic::acknowledged::AcknowledgedChanges;
use crate::rpc::logic::group_numbers::Numbers;
use crate::rpc::reach::Unreached;
use crate::rpc::session::Session;
use crate::rpc::transport::Rpc;
use crate::types::{CacheListener, FsStats};
use crate::writeback::logic::deferred_close::DeferredCloses;
use crate::writeback::logic::migrations::Migrations;
use crate::writeback::logic::unsynced::Written;
use crate::writeback::memory_limit::MemoryLimit;
use crate::writeback::send_thread::SendThread;
use nyala_wire::slots::Slots;
use nyala_wire::{GroupId, Home, InodeId, Layout, SessionId, TargetId};
use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, Semaphore};

#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) meta_requests: AtomicU64,
    pub(crate) revocations: AtomicU64,
    pub(crate) storage_reads: AtomicU64,
    pub(crate) storage_writes: AtomicU64,
    pub(crate) read_bytes: AtomicU64,
    pub(crate) written_bytes: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) checksum_errors: AtomicU64,
    pub(crate) cache_hits: AtomicU64,
}

pub(crate) struct Core {
    pub(crate) config: ClientConfig,
    pub(crate) rpc: Arc<dyn Rpc>,
    pub(crate) session_id: SessionId,
    pub(crate) maps: Maps,
    pub(crate) sessions: Mutex<HashMap<TargetId, Arc<Session>>>,
    pub(crate) files: Table,
    pub(crate) memory: MemoryLimit,
    pub(crate) cached_bytes: Arc<AtomicUsize>,
    pub(crate) write_slots: Mutex<HashMap<Home, Arc<Semaphore>>>,
    /// Numbers of requests to mirror groups.
    pub(crate) numbers: Mutex<HashMap<GroupId, Arc<Mutex<Numbers>>>>,
    /// Members of mirror groups that cannot be reached from here.
    pub(crate) unreached: Arc<Unreached>,
    /// Which changes are under way with targets without mirrors.
    pub(crate) slots: Mutex<HashMap<TargetId, Arc<Mutex<Slots>>>>,
    pub(crate) send_thread: SendThread,
    pub(crate) stats: Counters,
    /// When it was last said that a server cannot be talked to; 0: never.
    pub(crate) complained_ms: AtomicU64,
    pub(crate) delegations: DelegationCache,
    pub(crate) locks: LockBook,
    /// Closed files whose content is to go out in a moment; each counts as a user of its file.
    pub(crate) deferred_closes: Mutex<DeferredCloses<Arc<File>>>,
    pub(crate) deferred_wake: Arc<Notify>,
    /// Files of which this client wrote something to storage that it did not sync, those among them that it has forgotten.
    /// Taken with a file's state locked.
    pub(crate) unsynced: Mutex<HashMap<InodeId, (Arc<Layout>, Written)>>,
    /// Changes that metadata servers may not have on disk.
    pub(crate) acknowledged: Mutex<AcknowledgedChanges>,
    /// Inodes whose leases were lost, for the layer above to forget.
    pub(crate) forgotten: Mutex<Vec<InodeId>>,
    pub(crate) listener: RwLock<Option<Arc<dyn CacheListener>>>,
    pub(crate) capacity: Mutex<Option<(Instant, FsStats)>>,
    /// Held shared while inline content is moved under a claim, which a restarted server has forgotten.
    pub(crate) migrations: Mutex<Migrations>,
    /// Closes and releases that run in the background.
    pub(crate) background: AtomicUsize,
    pub(crate) background_done: Notify,
    started: Instant,
    pub(crate) stopping: AtomicBool,
    pub(crate) stop: Arc<Notify>,
}

impl Core {
    pub(crate) fn new(config: ClientConfig, rpc: Arc<dyn Rpc>) -> Result<Core> {
        let random = getrandom::u64().map_err(|e| Error::System(format!("no random bytes: {e}")))?;
        let deferred_closes = Mutex::new(DeferredCloses::new(config.close_delay.as_millis() as u64));
        Ok(Core {
            maps: Maps::new(&config.mgmt),
            memory: MemoryLimit::new(config.write_buffer_bytes),
            config,
            rpc,
            session_id: SessionId(random.max(1)),
            sessions: Mutex::default(),
            files: Table::default(),
            cached_bytes: Arc::default(),
            write_slots: Mutex::default(),
            numbers: Mutex::default(),
            unreached: Arc::default(),
            slots: Mutex::default(),
            send_thread: SendThread::default(),
            stats: Counters::default(),
            complained_ms: AtomicU64::new(0),
            delegations: DelegationCache::default(),
            locks: LockBook::default(),
            deferred_closes,
            deferred_wake: Arc::default(),
            unsynced: Mutex::default(),
            acknowledged: Mutex::default(),
            forgotten: Mutex::default(),
            listener: RwLock::default(),
            capacity: Mutex::default(),
            migrations: Mutex::default(),
            background: AtomicUsize::new(0),
            background_done: Notify::new(),
            started: Instant::now(),
            stopping: AtomicBool::new(false),
            stop: Arc::default(),
        })
    }

    /// Milliseconds since the client started, from 1.
    pub(crate) fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64 + 1
    }

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

    pub(crate) fn session(&self, target: TargetId) -> Arc<Session> {
        self.sessions.lock().entry(target).or_insert_with(|| Arc::new(Session::new(target, self.session_id))).clone()
    }

    /// The client's own thread has something to do.
    pub(crate) fn poke(&self) {
        self.stop.notify_one();
    }

    pub(crate) fn all_sessions(&self) -> Vec<Arc<Session>> {
        self.sessions.lock().values().cloned().collect()
    }

    /// One user of a file less; what is known of it is kept while its lease is.
    pub(crate) fn release(&self, file: &Arc<File>) {
        let keep = {
            let state = file.state.lock();
            let inline = if let Content::Inline { data, .. } = &state.content { data.len() } else { 0 };
            // One without names is gone now.
            let named = state.attr_ms > 0 && state.attr.as_ref().is_some_and(|attr| attr.nlink > 0);
            let useful = named && state.loaded && state.is_clean() && state.handles == 0;
            useful.then_some(inline + size_of::<File>())
        };
        self.files.release(file, keep, self.config.read_cache_bytes / 4);
    }

    /// Runs something in the background that a shutdown waits for. Outside a runtime nothing can run: `false`.
    pub(crate) fn spawn(self: &Arc<Core>, work: impl Future<Output = ()> + Send + 'static) -> bool {
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

/// Counts work in the background, also when its runtime is dropped under it.
struct Running(Arc<Core>);

impl Running {
    fn new(core: Arc<Core>) -> Running {
        core.background.fetch_add(1, Ordering::AcqRel);
        Running(core)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.0.background.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.background_done.notify_waiters();
        }
    }
}
