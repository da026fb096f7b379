// SPDX-License-Identifier: Apache-2.0

//! The owner of operations on names.

use crate::context::Context;
use crate::delegation::cache::DelegationCache;
use crate::file::ops::FileOps;
use crate::file::table::Table;
use crate::namespace::parents::Parents;
use crate::rpc::cluster::Cluster;
use crate::writeback::owner::Writeback;
use std::sync::Arc;

pub(crate) struct Namespace {
    pub(super) ctx: Arc<Context>,
    pub(super) cluster: Arc<Cluster>,
    pub(super) files: Arc<Table>,
    pub(super) delegations: Arc<DelegationCache>,
    pub(super) writeback: Arc<Writeback>,
    pub(super) ops: Arc<FileOps>,
    pub(crate) parents: Parents,
}

impl Namespace {
    pub(crate) fn new(
        ctx: Arc<Context>,
        cluster: Arc<Cluster>,
        files: Arc<Table>,
        delegations: Arc<DelegationCache>,
        writeback: Arc<Writeback>,
        ops: Arc<FileOps>,
    ) -> Namespace {
        Namespace { ctx, cluster, files, delegations, writeback, ops, parents: Parents::default() }
    }
}
