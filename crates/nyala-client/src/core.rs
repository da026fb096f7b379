// SPDX-License-Identifier: Apache-2.0

//! One client: its owners, each of which knows those before it and nothing of those behind.

use crate::config::ClientConfig;
use crate::context::Context;
use crate::delegation::cache::DelegationCache;
use crate::delegation::revocation::Revocations;
use crate::delegation::surplus::Surplus;
use crate::error::Result;
use crate::file::locks::LockBook;
use crate::file::ops::FileOps;
use crate::file::table::Table;
use crate::namespace::directories::Directories;
use crate::namespace::fragments::Fragments;
use crate::namespace::owner::Namespace;
use crate::rpc::cluster::{Cluster, Reopening, SessionObserver};
use crate::rpc::session::Session;
use crate::rpc::transport::Rpc;
use crate::types::{ClientStats, FsStats};
use crate::writeback::owner::Writeback;
use nyala_wire::{InodeId, SessionId};
use parking_lot::Mutex;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Instant;

pub(crate) struct Core {
    pub(crate) ctx: Arc<Context>,
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) files: Arc<Table>,
    pub(crate) delegations: Arc<DelegationCache>,
    pub(crate) writeback: Arc<Writeback>,
    pub(crate) ops: Arc<FileOps>,
    pub(crate) namespace: Arc<Namespace>,
    pub(crate) directories: Directories,
    pub(crate) locks: Arc<LockBook>,
    pub(crate) revocations: Arc<Revocations>,
    pub(crate) surplus: Surplus,
    pub(crate) capacity: Mutex<Option<(Instant, FsStats)>>,
}

impl Core {
    /// Counters.
    pub(crate) fn stats(&self) -> ClientStats {
        let stats = &self.ctx.stats;
        let get = nyala_metrics::Counter::get;
        ClientStats {
            meta_requests: get(&stats.meta_requests),
            revocations: get(&stats.revocations),
            storage_reads: get(&stats.storage_reads),
            storage_writes: get(&stats.storage_writes),
            read_bytes: get(&stats.read_bytes),
            written_bytes: get(&stats.written_bytes),
            retries: get(&stats.retries),
            checksum_errors: get(&stats.checksum_errors),
            dirty_bytes: self.writeback.memory.used() as u64,
            cached_bytes: self.ops.cached_bytes.load(Ordering::Relaxed) as u64,
            cache_hits: get(&stats.cache_hits),
            rebuilt_reads: get(&stats.rebuilt_reads),
            repaired_files: get(&stats.repaired_files),
        }
    }

    pub(crate) fn new(config: ClientConfig, rpc: Arc<dyn Rpc>) -> Result<Arc<Core>> {
        let ctx = Arc::new(Context::new(config));
        let cluster = Arc::new(Cluster::new(ctx.clone(), rpc)?);
        let files = Arc::new(Table::new(ctx.config.read_cache_bytes / 4));
        let delegations = Arc::new(DelegationCache::new(ctx.clone(), cluster.clone(), files.clone()));
        let writeback = Writeback::new(ctx.clone(), cluster.clone(), files.clone(), delegations.clone());
        let writeback = Arc::new(writeback);
        let ops = FileOps::new(ctx.clone(), cluster.clone(), files.clone(), delegations.clone(), writeback.clone());
        let ops = Arc::new(ops);
        writeback.moved_back_by(Arc::<FileOps>::downgrade(&ops));
        let namespace = Arc::new(Namespace::new(
            ctx.clone(),
            cluster.clone(),
            files.clone(),
            delegations.clone(),
            writeback.clone(),
            ops.clone(),
        ));
        let fragments = Fragments::new(ctx.clone(), cluster.clone(), delegations.clone());
        let directories = Directories::new(namespace.clone(), fragments);
        let locks = Arc::new(LockBook::new(ctx.clone(), cluster.clone(), delegations.clone()));
        let revocations = Arc::new(Revocations::new(
            ctx.clone(),
            cluster.clone(),
            files.clone(),
            delegations.clone(),
            ops.clone(),
            locks.clone(),
        ));
        let (surplus, capacity) = (Surplus::new(revocations.clone()), Mutex::default());
        let core = Arc::new(Core {
            ctx,
            cluster,
            files,
            delegations,
            writeback,
            ops,
            namespace,
            directories,
            locks,
            revocations,
            surplus,
            capacity,
        });
        let observer: Weak<Core> = Arc::downgrade(&core);
        core.cluster.observe(observer.clone());
        core.ctx.belongs_to(observer);
        Ok(core)
    }
}

impl SessionObserver for Core {
    fn renewed(&self, session: &Session) {
        self.delegations.renew_delegations(session);
    }

    fn run_began(&self, session: &Session, boot: u64) {
        self.delegations.set_boot(session, boot);
    }

    fn ended(&self, session: &Session, goes_on_as: SessionId) {
        self.revocations.lost(session, goes_on_as);
    }

    fn reopen<'a>(&'a self, session: &'a Arc<Session>) -> Reopening<'a> {
        Box::pin(self.ops.reopen_files(session))
    }

    fn open_files(&self, session: &Session) -> Vec<InodeId> {
        self.ops.open_at(session)
    }

    fn name_of(&self, inode: InodeId) -> Option<String> {
        self.files.name_of(inode)
    }
}
