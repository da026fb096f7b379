// SPDX-License-Identifier: Apache-2.0

//! What the native protocol, the REST API and the background tasks share: the state, the way to change it, and whether
//! this node may answer at all.

use crate::counters::{Counters, count};
use crate::liveness::Liveness;
use crate::raft::Raft;
use crate::raft::machine::View;
use nyala_cluster::{ClusterError, ClusterState, Command, Event};
use nyala_wire::ErrorCode;
use nyala_wire::error::WireError;
use openraft::ServerState;
use openraft::error::{ClientWriteError, RaftError};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;

/// A leader that no quorum has answered for so long grants no lease. Shorter than Raft's shortest election time, so
/// that no other leader can exist yet, less what its own figure may be late.
const QUORUM_SILENCE_MS: u64 = 400;

/// The heart of the service.
pub(crate) struct Core {
    pub raft: Raft,
    pub view: Arc<View>,
    pub liveness: Mutex<Liveness>,
    pub counters: Counters,
    /// Wakes the failure detector before its next turn.
    pub look: Notify,
    /// The term in which this node leads and has applied everything that was decided before; 0 for none.
    pub leads_in: AtomicU64,
}

/// Why a change was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// The cluster state refuses it.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// Ask again, here or at another management node.
    #[error("{0}")]
    NotReady(String),
}

impl From<Refusal> for WireError {
    fn from(refusal: Refusal) -> WireError {
        match refusal {
            Refusal::Cluster(error) => error.into(),
            Refusal::NotReady(reason) => ErrorCode::NOT_READY.with(reason),
        }
    }
}

impl Core {
    pub(crate) fn new(raft: Raft, view: Arc<View>) -> Core {
        Core {
            raft,
            view,
            liveness: Mutex::new(Liveness::new(0)),
            counters: Counters::default(),
            look: Notify::new(),
            leads_in: AtomicU64::new(0),
        }
    }

    /// Refuses unless this node is the leader and knows it to be true now.
    pub(crate) fn check_leading(&self) -> Result<(), Refusal> {
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow();
        if metrics.state == ServerState::Leader && metrics.current_term == self.leads_in.load(Ordering::Acquire) {
            let alone = metrics.membership_config.voter_ids().count() <= 1;
            let heard = metrics.millis_since_quorum_ack.is_some_and(|ms| ms < QUORUM_SILENCE_MS);
            if alone || heard {
                return Ok(());
            }
            return Err(Refusal::NotReady("this management node has lost its majority".to_owned()));
        }
        Err(Refusal::NotReady(match metrics.current_leader {
            Some(leader) if leader != metrics.id => format!("management node {leader} leads, this is {}", metrics.id),
            _ => "the management service is starting or has no leader".to_owned(),
        }))
    }

    /// Makes a change: returns once it is on disk (on a majority) and applied.
    pub(crate) async fn propose(&self, command: Command) -> Result<Vec<Event>, Refusal> {
        let outcome = match self.check_leading() {
            Ok(()) => self.write(command).await,
            Err(refusal) => Err(refusal),
        };
        match &outcome {
            Ok(events) if !events.is_empty() => count(&self.counters.changes),
            Ok(_) => {}
            Err(_) => count(&self.counters.refused),
        }
        outcome
    }

    /// The same, for one who is about to lead and answers nobody yet.
    pub(crate) async fn write(&self, command: Command) -> Result<Vec<Event>, Refusal> {
        // What changes nothing or is refused anyway does not go into the log.
        let mut trial = ClusterState::clone(&self.view.state());
        if trial.apply(command.clone())?.is_empty() {
            return Ok(Vec::new());
        }
        let events = match self.raft.client_write(command).await {
            Ok(response) => response.data.0?,
            Err(RaftError::APIError(ClientWriteError::ForwardToLeader(_))) => {
                return Err(Refusal::NotReady("another management node leads now".to_owned()));
            }
            Err(error) => return Err(Refusal::NotReady(format!("the change could not be stored: {error}"))),
        };
        for event in &events {
            tracing::info!(?event, "cluster state changed");
        }
        Ok(events)
    }
}
