// SPDX-License-Identifier: Apache-2.0

//! The owner of operations on open files: opening and closing, reading, size and holes, copying.

use crate::context::Context;
use crate::delegation::cache::DelegationCache;
use crate::file::table::Table;
use crate::rpc::cluster::Cluster;
use crate::writeback::owner::Writeback;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

pub(crate) struct FileOps {
    pub(crate) ctx: Arc<Context>,
    pub(super) cluster: Arc<Cluster>,
    pub(super) files: Arc<Table>,
    pub(super) delegations: Arc<DelegationCache>,
    pub(super) writeback: Arc<Writeback>,
    /// Bytes read ahead, of all files.
    pub(crate) cached_bytes: Arc<AtomicUsize>,
}

impl FileOps {
    pub(crate) fn new(
        ctx: Arc<Context>,
        cluster: Arc<Cluster>,
        files: Arc<Table>,
        delegations: Arc<DelegationCache>,
        writeback: Arc<Writeback>,
    ) -> FileOps {
        FileOps { ctx, cluster, files, delegations, writeback, cached_bytes: Arc::default() }
    }
}
