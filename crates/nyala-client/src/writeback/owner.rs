// SPDX-License-Identifier: Apache-2.0

//! The owner of written data on its way to the servers, and of what is needed to get it there.

use crate::context::Context;
use crate::delegation::cache::DelegationCache;
use crate::error::Result;
use crate::file::state::File;
use crate::file::table::Table;
use crate::rpc::cluster::Cluster;
use crate::writeback::logic::deferred_close::DeferredCloses;
use crate::writeback::logic::migrations::Migrations;
use crate::writeback::logic::unsynced::UnsyncedFiles;
use crate::writeback::memory_limit::MemoryLimit;
use crate::writeback::send_thread::SendThread;
use parking_lot::Mutex;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, Weak};
use tokio::sync::Notify;

/// Moves data back that went out in whole stripes.
pub(crate) trait MovesBack: Send + Sync {
    /// To where the file can be written to. The file's gate is held.
    fn leave_stripes(self: Arc<Self>, file: Arc<File>) -> Pin<Box<dyn Future<Output = Result<()>> + Send>>;
}

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
    moves_back: OnceLock<Weak<dyn MovesBack>>,
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
            moves_back: OnceLock::new(),
        }
    }

    /// Says once who moves data back.
    pub(crate) fn moved_back_by(&self, moves_back: Weak<dyn MovesBack>) {
        assert!(self.moves_back.set(moves_back).is_ok(), "two move data back");
    }

    /// None when the client has ended.
    pub(super) fn moves_back(&self) -> Option<Arc<dyn MovesBack>> {
        self.moves_back.get().and_then(Weak::upgrade)
    }
}
