// SPDX-License-Identifier: Apache-2.0

//! Whom to probe, and when a refused probe proves a death ([`super`]).
//!
//! **Failure model.** Reports that a service refuses connections may be wrong or made up: they only cause a probe. A refused
//! probe alone proves nothing. Probes of one service are spaced, whoever asks for them.

use crate::failure::{FailureDetector, Watched};
use crate::state::{ClusterState, NodeRecord};
use nyala_wire::NodeId;
use nyala_wire::map::{Reachability, Role};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Shortest time between two probes of a service that others report, milliseconds.
const REPORT_EVERY_MS: u64 = 50;

/// A connection to try; whether the host refuses it goes to [`super::LeaderState::refused`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The service.
    pub node: NodeId,
    /// The run that the probe is about.
    pub incarnation: u64,
    /// Where to try.
    pub addresses: Vec<SocketAddr>,
}

impl From<&NodeRecord> for Probe {
    fn from(node: &NodeRecord) -> Probe {
        Probe { node: node.id, incarnation: node.incarnation, addresses: node.addresses.clone() }
    }
}

/// The connection over which a run was heard last.
#[derive(Clone, Copy, Debug)]
struct HeartbeatConnection {
    incarnation: u64,
    connection: u64,
    /// The other side's kernel has closed it.
    closed: bool,
}

/// Heartbeat connections, and when which service was probed.
#[derive(Clone, Debug, Default)]
pub(super) struct Probes {
    connections: BTreeMap<NodeId, HeartbeatConnection>,
    /// When each silent service was probed last.
    silent: BTreeMap<NodeId, u64>,
    /// When each was probed last because somebody reported it.
    reported: BTreeMap<NodeId, u64>,
}

/// A service that is not called offline.
fn is_served(node: &&NodeRecord) -> bool {
    node.role != Role::Mgmt && node.reachability != Reachability::Offline
}

impl Probes {
    /// A service was heard, over whatever connection.
    pub(super) fn heard(&mut self, node: NodeId) {
        self.silent.remove(&node);
    }

    /// A heartbeat came over this connection.
    pub(super) fn heard_over(&mut self, node: NodeId, incarnation: u64, connection: u64) {
        self.connections.insert(node, HeartbeatConnection { incarnation, connection, closed: false });
    }

    /// A connection was closed: the service that was heard over it last.
    pub(super) fn closed(&mut self, state: &ClusterState, connection: u64) -> Option<Probe> {
        let (node, last) = self.connections.iter_mut().find(|(_, last)| last.connection == connection)?;
        last.closed = true;
        state.node(*node).filter(|n| n.reachability != Reachability::Offline).map(Probe::from)
    }

    /// Whether this run has closed the connection over which it was heard last.
    pub(super) fn has_closed(&self, node: NodeId, incarnation: u64) -> bool {
        self.connections.get(&node).is_some_and(|last| last.incarnation == incarnation && last.closed)
    }

    /// Somebody's connection to a service was refused.
    pub(super) fn reported(&mut self, state: &ClusterState, node: NodeId, now_ms: u64) -> Option<Probe> {
        let record = state.node(node).filter(is_served)?;
        if self.reported.get(&node).is_some_and(|at| now_ms < at + REPORT_EVERY_MS) {
            return None;
        }
        self.reported.insert(node, now_ms);
        Some(Probe::from(record))
    }

    /// Services that have missed a heartbeat and were not probed for one.
    pub(super) fn silent(&mut self, state: &ClusterState, detector: &FailureDetector, now_ms: u64) -> Vec<Probe> {
        let beat_ms = u64::from(state.settings.heartbeat_ms);
        let mut probes = Vec::new();
        for node in state.nodes.iter().filter(is_served).filter(|n| n.role != Role::Client) {
            let watched = Watched { node: node.id, incarnation: node.incarnation, reachability: node.reachability };
            let recently = self.silent.get(&node.id).is_some_and(|at| now_ms < at + beat_ms);
            if recently || detector.silence_ms(&watched, now_ms) <= beat_ms + beat_ms / 4 {
                continue;
            }
            self.silent.insert(node.id, now_ms);
            probes.push(Probe::from(node));
        }
        probes
    }

    /// Drops what is about nodes that no longer exist.
    pub(super) fn forget(&mut self, state: &ClusterState) {
        self.connections.retain(|node, _| state.node(*node).is_some());
        self.silent.retain(|node, _| state.node(*node).is_some());
        self.reported.retain(|node, _| state.node(*node).is_some());
    }
}
