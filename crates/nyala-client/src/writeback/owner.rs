// SPDX-License-Identifier: Apache-2.0

//! The owner of written data on its way to the servers, and of what is needed to get it there.

use crate::context::Context;
use crate::delegation::cache::DelegationCache;
use crate::file::state::File;
use crate::file::table::Table;
use crate::rpc::cluster::Cluster;
use crate::writeback::logic::deferred_close::DeferredCloses;
use crate::writeback::logic::migrations::Migrations;
use crate::writeback::logic::unsynced::UnsyncedFiles;
use crate::writeback::memory_limit::MemoryLimit;
use crate::writeback::send_thread::SendThread;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::Notify;

pub(crate) struct Writeback {
    pub(crate) ctx: Arc<Context>,
    pub(super) cluster: Arc<Cluster>,
    pub(super) files: Arc<Table>,
    pub(super) delegations: Arc<DelegationCache>,
    pub(crate) memory: MemoryLimit,
    pub(super) send_thread: SendThread,
    /// Closed files whose content is to go out in a moment; each counts as a user of its file.
    pub(super) deferred_closes: Mutex<DeferredCloses<Arc<File>>>,
    pub(super) deferred_wake: Arc<Notify>,
    /// Files of which this client wrote something to storage that it did not sync, those among them that it has forgotten.
    /// Taken with a file's state locked.
    pub(super) unsynced: Mutex<UnsyncedFiles>,
    /// Held shared while inline content is moved under a claim, which a restarted server has forgotten.
    pub(crate) migrations: Mutex<Migrations>,
}

impl Writeback {
    pub(crate) fn new(
        ctx: Arc<Context>,
        cluster: Arc<Cluster>,
        files: Arc<Table>,
        delegations: Arc<DelegationCache>,
    ) -> Writeback {
        Writeback {
            memory: MemoryLimit::new(ctx.config.write_buffer_bytes),
            deferred_closes: Mutex::new(DeferredCloses::new(ctx.config.close_delay.as_millis() as u64)),
            ctx,
            cluster,
            files,
            delegations,
            send_thread: SendThread::default(),
            deferred_wake: Arc::default(),
            unsynced: Mutex::default(),
            migrations: Mutex::default(),
        }
    }
}
