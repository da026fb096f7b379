// SPDX-License-Identifier: Apache-2.0

//! The owner of operations on open files: opening and closing, reading, size and holes, copying.

use crate::context::Context;
use crate::delegation::cache::DelegationCache;
use crate::file::logic::encodings::Encodings;
use crate::file::table::Table;
use crate::rpc::cluster::Cluster;
use crate::writeback::owner::Writeback;
use nyala_wire::ErrorCode;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tokio::sync::Semaphore;

/// ENXIO: nothing at or behind that offset.
pub(super) const NO_SUCH_ADDRESS: ErrorCode = ErrorCode(6);

pub(crate) struct FileOps {
    pub(crate) ctx: Arc<Context>,
    pub(super) cluster: Arc<Cluster>,
    pub(super) files: Arc<Table>,
    pub(super) delegations: Arc<DelegationCache>,
    pub(crate) writeback: Arc<Writeback>,
    /// Bytes read ahead, of all files.
    pub(crate) cached_bytes: Arc<AtomicUsize>,
    /// Lost parts of encoded files that are computed at the same time.
    pub(super) rebuilding: Semaphore,
    /// Files that are to be encoded.
    pub(crate) encodings: Mutex<Encodings>,
}

/// So many parts, of at most 1 MiB, with what each is computed from.
const REBUILT_AT_ONCE: usize = 4;

impl FileOps {
    pub(crate) fn new(
        ctx: Arc<Context>,
        cluster: Arc<Cluster>,
        files: Arc<Table>,
        delegations: Arc<DelegationCache>,
        writeback: Arc<Writeback>,
    ) -> FileOps {
        FileOps {
            ctx,
            cluster,
            files,
            delegations,
            writeback,
            cached_bytes: Arc::default(),
            rebuilding: Semaphore::new(REBUILT_AT_ONCE),
            encodings: Mutex::default(),
        }
    }
}
