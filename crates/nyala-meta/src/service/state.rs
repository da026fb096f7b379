// SPDX-License-Identifier: Apache-2.0

//! What all parts of the service share: the tables, the log, the cluster, other servers.
//!
//! Failure model: that of each of them.

use super::flusher::Flusher;
use super::peers::Peers;
use crate::tables::{Tables, store_error};
use nyala_kv::Batch;
use nyala_store::Store;
use nyala_transport::member::Member;
use nyala_wire::map::ClusterMap;
use nyala_wire::{TargetId, WireError};
use std::rc::Rc;
use std::sync::Arc;

/// See the module's words.
pub struct State {
    /// The target that is served.
    pub me: TargetId,
    /// The tables.
    pub tables: Tables,
    /// What is under them.
    pub store: Store,
    /// Group commit.
    pub flusher: Rc<Flusher>,
    /// Membership: map and lease.
    pub member: Member,
    /// Other servers.
    pub peers: Peers,
    /// Number of this run of the service.
    pub boot: u64,
}

impl State {
    /// Of a service that has just opened its tables.
    pub fn new(me: TargetId, tables: Tables, flusher: Rc<Flusher>, member: Member, peers: Peers, boot: u64) -> State {
        State { me, store: tables.store.clone(), tables, flusher, member, peers, boot }
    }

    /// The cluster map.
    pub fn map(&self) -> Arc<ClusterMap> {
        self.member.map()
    }

    /// Applies a batch; it is visible at once, and safe from the process's death after [`Flusher::flushed`].
    pub fn apply(&self, batch: &Batch) -> Result<(), WireError> {
        if batch.is_empty() {
            return Ok(());
        }
        self.tables.apply(batch)?;
        self.flusher.applied();
        Ok(())
    }

    /// Returns when everything written so far is on disk.
    pub async fn durable(&self) -> Result<(), WireError> {
        self.store.wait_durable(self.store.written()).await.map_err(store_error)
    }
}
