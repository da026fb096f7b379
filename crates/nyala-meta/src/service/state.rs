// SPDX-License-Identifier: Apache-2.0

//! What all parts of the service share: the tables, the log, the cluster, other servers.
//!
//! Failure model: that of each of them.

use super::flusher::Flusher;
use super::group::GroupShell;
use super::group::rows::LonePositions;
use super::peers::Peers;
use crate::store_error::store_error;
use crate::tables::Tables;
use nyala_kv::Batch;
use nyala_store::Store;
use nyala_transport::member::Member;
use nyala_wire::map::ClusterMap;
use nyala_wire::{TargetId, WireError};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// See the module's words.
pub struct State {
    /// The metadata server that this is: its target, or the one that its mirror group is named by.
    pub me: TargetId,
    /// The target that it works on.
    pub target: TargetId,
    /// The mirror group, if it is one.
    pub group: Rc<RefCell<Option<Rc<GroupShell>>>>,
    /// Places in the log while it is none.
    pub lone: LonePositions,
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
    /// The cluster map.
    pub fn map(&self) -> Arc<ClusterMap> {
        self.member.map()
    }

    /// Applies a batch; it is visible at once, and safe from the process's death after [`Flusher::flushed`].
    pub fn apply(&self, batch: &Batch) -> Result<(), WireError> {
        if batch.is_empty() {
            return Ok(());
        }
        self.flusher.apply(&self.tables, batch).map_err(store_error)
    }

    /// Returns when everything written so far is on disk, at every good member of a mirror group.
    pub async fn durable(&self) -> Result<(), WireError> {
        let group = self.group.borrow().clone();
        match group {
            Some(group) => group.durable_up_to(self.flusher.last_index()).await,
            None => self.store.wait_durable(self.store.written()).await.map_err(store_error),
        }
    }

    /// The places in the log up to which everything is on disk, and is applied: of the group's log, or of the target's own.
    pub fn positions(&self) -> (u64, u64) {
        let durable = match &*self.group.borrow() {
            Some(group) => group.durable(),
            None => self.lone.position(self.store.durable()),
        };
        (durable, self.applied())
    }

    /// The place in the log of what was applied last.
    pub fn applied(&self) -> u64 {
        match self.group.borrow().is_some() {
            true => self.flusher.last_index(),
            false => self.lone.position(self.store.applied()),
        }
    }

    /// The map under which storage may be told to change something now; `None`: it may be another member's turn. Storage compares it
    /// with its own, so it is one in which this server works here: the newest one may already say something else.
    pub fn orders_by(&self) -> Option<Arc<ClusterMap>> {
        match &*self.group.borrow() {
            Some(group) => group.leads_by(),
            None => Some(self.map()),
        }
    }

    /// Whether clients may be answered now.
    pub fn serves(&self) -> bool {
        self.member.lease_valid() && self.group.borrow().as_ref().is_none_or(|group| group.serves())
    }
}
