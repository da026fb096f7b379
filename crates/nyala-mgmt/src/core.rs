// SPDX-License-Identifier: Apache-2.0

//! What the native protocol, the REST API and the background tasks share: the state, the way to change it, and whether
//! this node may answer at all.

use crate::checks::KnownChecks;
use crate::config::RaftTimes;
use crate::counters::{Counters, count};
use crate::mounts::KnownMounts;
use crate::raft::Raft;
use crate::raft::contacts::Contacts;
use crate::raft::machine::View;
use crate::raft::rpc::Receiver;
use nyala_cluster::leader::Proposal;
use nyala_cluster::{ClusterError, Command, Event, LeaderState};
use nyala_transport::HandshakeConfig;
use nyala_transport::links::Links;
use nyala_transport::member::monotonic_ms;
use nyala_wire::error::WireError;
use nyala_wire::map::Role;
use nyala_wire::{ErrorCode, NodeId};
use openraft::ServerState;
use openraft::error::{ClientWriteError, RaftError};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// Longest wait for a decision. Without a majority there is none, and whoever waits should ask elsewhere.
const DECISION: Duration = Duration::from_secs(5);

/// The heart of the service.
pub(crate) struct Core {
    pub raft: Raft,
    /// Our number in Raft.
    pub me: u64,
    pub view: Arc<View>,
    pub contacts: Arc<Contacts>,
    /// Answers the other management nodes.
    pub receiver: Receiver,
    pub times: RaftTimes,
    /// No candidate gets a vote before, milliseconds.
    pub votes_from_ms: u64,
    /// Held by whoever changes the set of management nodes.
    pub membership_lock: tokio::sync::Mutex<()>,
    /// Nodes that are being made members.
    pub joining: Mutex<BTreeSet<u64>>,
    /// What the leader remembers and decides by itself; of a node that does not lead it means nothing.
    pub leader: Mutex<LeaderState>,
    pub counters: Counters,
    /// Mounts that serve metrics; of a node that does not lead it means nothing.
    pub mounts: Mutex<KnownMounts>,
    /// Checks of the file system that go on; of a node that does not lead it means nothing.
    pub checks: Mutex<KnownChecks>,
    /// Ways to other servers, while this node runs.
    pub links: Mutex<Option<Links>>,
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
    /// Another management node leads, or none does.
    #[error("{}", not_leader(.leader, .addresses))]
    NotLeader {
        /// Who leads, as far as is known here.
        leader: Option<NodeId>,
        /// Its addresses.
        addresses: Vec<String>,
    },
}

fn not_leader(leader: &Option<NodeId>, addresses: &[String]) -> String {
    match leader {
        Some(leader) => format!("management node {leader} leads; ask it ({})", addresses.join(", ")),
        None => "no management node leads at the moment".to_owned(),
    }
}

impl From<Refusal> for WireError {
    fn from(refusal: Refusal) -> WireError {
        match refusal {
            Refusal::Cluster(error) => error.into(),
            other => ErrorCode::NOT_READY.with(other.to_string()),
        }
    }
}

/// A proposal that somebody waits for. One who stops waiting does not know its outcome.
struct UnderWay<'a> {
    core: &'a Core,
    proposal: Proposal,
    known: bool,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.core.leader.lock().ended(self.proposal, self.known);
    }
}

impl Core {
    pub(crate) fn new(receiver: Receiver, me: u64, view: Arc<View>, contacts: Arc<Contacts>, times: RaftTimes) -> Core {
        Core {
            raft: receiver.raft.clone(),
            me,
            view,
            contacts,
            receiver,
            votes_from_ms: monotonic_ms() + times.election_max_ms,
            times,
            membership_lock: tokio::sync::Mutex::default(),
            joining: Mutex::default(),
            leader: Mutex::new(LeaderState::new(0, 0)),
            counters: Counters::default(),
            mounts: Mutex::default(),
            checks: Mutex::default(),
            links: Mutex::default(),
            look: Notify::new(),
            leads_in: AtomicU64::new(0),
        }
    }

    /// Begins to watch the ways to the other servers of the map, until [`Core::links`] are taken away.
    pub(crate) fn watch_links(&self, handshake: HandshakeConfig) {
        let (view, own) = (self.view.clone(), NodeId(u32::try_from(self.me).unwrap_or_default()));
        *self.links.lock() = Some(Links::start(handshake, own, move || view.map()));
    }

    /// Refuses unless this node is the leader and knows it to be true now.
    pub(crate) fn check_leading(&self) -> Result<(), Refusal> {
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow();
        let term = metrics.current_term;
        if metrics.state != ServerState::Leader {
            return Err(self.not_leader(metrics.current_leader));
        }
        if term != self.leads_in.load(Ordering::Acquire) {
            return Err(Refusal::NotReady("this management node is about to lead".to_owned()));
        }
        let now_ms = monotonic_ms();
        let voters = metrics.membership_config.membership().get_joint_config();
        let heard = self.contacts.quorum_ms(voters, self.me, term, now_ms);
        if heard.is_some_and(|at| now_ms - at.min(now_ms) < self.times.silence_ms()) {
            return Ok(());
        }
        Err(Refusal::NotReady("this management node has lost its majority".to_owned()))
    }

    fn not_leader(&self, leader: Option<u64>) -> Refusal {
        let state = self.view.state();
        let leader = leader.filter(|leader| *leader != self.me).and_then(|leader| u32::try_from(leader).ok());
        let record = leader.and_then(|leader| state.node(NodeId(leader))).filter(|node| node.role == Role::Mgmt);
        let addresses = record.map(|node| node.addresses.iter().map(ToString::to_string).collect());
        Refusal::NotLeader { leader: leader.map(NodeId), addresses: addresses.unwrap_or_default() }
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
        // The state is read under the lock, as for heartbeats: both see the same verdicts.
        let begun = self.leader.lock().begin(&self.view.state(), &command)?;
        let Some(proposal) = begun else { return Ok(Vec::new()) };
        let mut under_way = UnderWay { core: self, proposal, known: false };
        let written = tokio::time::timeout(DECISION, self.raft.client_write(command)).await;
        let undecided = || Refusal::NotReady("the change was not decided in time; it may still be".to_owned());
        let outcome = match written.map_err(|_| undecided())? {
            Ok(response) => response.data.0,
            Err(RaftError::APIError(ClientWriteError::ForwardToLeader(to))) => {
                return Err(self.not_leader(to.leader_id));
            }
            Err(error) => return Err(Refusal::NotReady(format!("the change could not be stored: {error}"))),
        };
        under_way.known = true;
        let events = outcome?;
        for event in &events {
            tracing::info!(?event, "cluster state changed");
        }
        Ok(events)
    }
}
