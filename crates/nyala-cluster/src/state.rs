// SPDX-License-Identifier: Apache-2.0

//! The cluster state: everything that management decides and remembers, and the map that others see of it.

use crate::capacity::CapacityLimits;
use crate::command::RegisterNode;
use crate::states::TargetState;
use minicbor::{Decode, Encode};
use nyala_wire::access_rules::AccessRule;
use nyala_wire::audit::AuditRecord;
use nyala_wire::key_rules::KeyRule;
use nyala_wire::map::{
    CapacityPool, ClusterMap, FailingTarget, Group, Node, PlannedMoves, Pool, Reachability, Role, Settings,
};
use nyala_wire::map::{SlotMove, SlotRange, Target, TargetKind};
use nyala_wire::{ClusterId, MapVersion, NodeId, PoolId, TargetId};
use std::net::SocketAddr;

/// The state. Lists are sorted by id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct ClusterState {
    /// Which cluster; `UNKNOWN` before `Init`.
    #[n(0)]
    pub cluster: ClusterId,
    /// Version of the map; grows by one with every command that changed something, and by far more when a majority of management is
    /// given up.
    #[n(1)]
    pub version: MapVersion,
    /// Settings.
    #[n(2)]
    pub settings: Settings,
    /// Limits of the capacity pools.
    #[n(3)]
    pub limits: CapacityLimits,
    /// Nodes.
    #[n(4)]
    pub nodes: Vec<NodeRecord>,
    /// Targets.
    #[n(5)]
    pub targets: Vec<TargetRecord>,
    /// Storage pools.
    #[n(6)]
    pub pools: Vec<Pool>,
    /// Mirror groups.
    #[n(7)]
    pub groups: Vec<Group>,
    /// Who serves which slot; in order, without overlap.
    #[n(8)]
    pub slots: Vec<SlotRange>,
    /// Highest node id ever given; node ids are not used twice.
    #[n(9)]
    pub last_node: u32,
    /// Highest pool id ever given; pool ids are not used twice.
    #[n(10)]
    pub last_pool: u16,
    /// Ids of removed targets, in order. Old layouts may name them; they are never given out again.
    #[n(11)]
    pub retired: Vec<TargetId>,
    /// Highest mirror group id ever given; group ids are not used twice.
    #[n(12)]
    #[cbor(default)]
    pub last_group: u16,
    /// Identities of directories of removed nodes, and of removed and replaced targets, in order. None of them registers again.
    #[n(13)]
    #[cbor(default)]
    pub removed: Vec<ClusterId>,
    /// Highest range of inode sequence numbers ever given; ranges are not given twice.
    #[n(14)]
    #[cbor(default)]
    pub last_range: u32,
    /// Slots on their way to another metadata server, by slot.
    #[n(15)]
    #[cbor(default)]
    pub moves: Vec<SlotMove>,
    /// Metadata servers that gave all their slots away, by id.
    #[n(16)]
    #[cbor(default)]
    pub emptied: Vec<TargetId>,
    /// Highest number of an attempt to copy a slot; they are not given twice.
    #[n(17)]
    #[cbor(default)]
    pub last_move: u64,
    /// Metadata servers whose share of the name space management or an operator has seen to since they joined, by id: no slots are moved
    /// to them without an order.
    #[n(18)]
    #[cbor(default)]
    pub arrived: Vec<TargetId>,
    /// Slots that the leader is to have moved by itself, by server, in the order in which that was planned.
    #[n(19)]
    #[cbor(default)]
    pub planned: Vec<PlannedMoves>,
    /// What clients of keys are held to, by id of key.
    #[n(20)]
    #[cbor(default)]
    pub key_rules: Vec<KeyRule>,
    /// The last orders of operators, oldest first; at most [`crate::audit::MOST_ORDERS`].
    #[n(21)]
    #[cbor(default)]
    pub orders: Vec<AuditRecord>,
    /// Highest number of an order; they are not given twice.
    #[n(22)]
    #[cbor(default)]
    pub last_order: u64,
    /// Drawn when an operator gave up the majority of management last, see [`crate::recovered`]; 0: that never happened.
    #[n(23)]
    #[cbor(default)]
    pub recovery: u64,
    /// Which clients are let in and what they are held to, by key and network.
    #[n(24)]
    #[cbor(default)]
    pub access_rules: Vec<AccessRule>,
    /// Storage targets whose disks fail, by id.
    #[n(25)]
    #[cbor(default)]
    pub failing: Vec<FailingTarget>,
    /// Errors of targets that an operator has forgiven, by id: they do not count any more.
    #[n(26)]
    #[cbor(default)]
    pub forgiven: Vec<FailingTarget>,
}

/// A registered service.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct NodeRecord {
    /// Its id.
    #[n(0)]
    pub id: NodeId,
    /// Identity of its directory.
    #[n(1)]
    pub uuid: ClusterId,
    /// Its alias.
    #[n(2)]
    pub alias: String,
    /// What it does.
    #[n(3)]
    pub role: Role,
    /// Where it listens.
    #[cbor(n(4), with = "nyala_wire::map::addresses")]
    pub addresses: Vec<SocketAddr>,
    /// The current run of its process.
    #[n(5)]
    pub incarnation: u64,
    /// The runs before it, latest last; at most [`NodeRecord::MAX_PREVIOUS`].
    #[n(6)]
    pub previous: Vec<u64>,
    /// Whether management hears from it.
    #[n(7)]
    pub reachability: Reachability,
}

impl NodeRecord {
    /// Replaced runs that are remembered, so that a copy of a service cannot take it back.
    pub const MAX_PREVIOUS: usize = 8;
}

/// A registered target.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TargetRecord {
    /// Its id.
    #[n(0)]
    pub id: TargetId,
    /// Identity of its directory.
    #[n(1)]
    pub uuid: ClusterId,
    /// Its alias.
    #[n(2)]
    pub alias: String,
    /// What it holds.
    #[n(3)]
    pub kind: TargetKind,
    /// The node that serves it, or served it last.
    #[n(4)]
    pub node: NodeId,
    /// The storage pool.
    #[n(5)]
    pub pool: PoolId,
    /// Reachability and consistency.
    #[n(6)]
    pub state: TargetState,
    /// Class of free space.
    #[n(7)]
    pub capacity_pool: CapacityPool,
    /// Whether its node listed it when it registered last; if not, it stays offline while the node is online.
    #[n(8)]
    pub listed: bool,
    /// The last range of inode sequence numbers that a metadata target was given; 0 for none.
    #[n(9)]
    #[cbor(default)]
    pub range: u32,
    /// How often it had lost power, or its file system, while something may have been unsynced, when it registered last.
    #[n(10)]
    #[cbor(default)]
    pub losses: u32,
}

impl ClusterState {
    /// The node with this id.
    pub fn node(&self, id: NodeId) -> Option<&NodeRecord> {
        self.nodes.binary_search_by_key(&id, |n| n.id).ok().map(|at| &self.nodes[at])
    }

    /// The target with this id.
    pub fn target(&self, id: TargetId) -> Option<&TargetRecord> {
        self.targets.binary_search_by_key(&id, |t| t.id).ok().map(|at| &self.targets[at])
    }

    /// What is known of a target whose disk fails.
    pub fn failing(&self, target: TargetId) -> Option<&FailingTarget> {
        self.failing.iter().find(|failing| failing.target == target)
    }

    /// Errors of a target that an operator has forgiven.
    pub fn forgiven(&self, target: TargetId) -> u64 {
        self.forgiven.iter().find(|forgiven| forgiven.target == target).map_or(0, |forgiven| forgiven.errors)
    }

    /// The ids that a registered service and its targets have, in the order of the request; 0 for a target that was
    /// refused: see [`ClusterState::refusal`].
    pub fn ids_of(&self, register: &RegisterNode) -> Option<(NodeId, Vec<TargetId>)> {
        let node = self.nodes.iter().find(|n| n.uuid == register.uuid)?.id;
        let served = |t: &&TargetRecord| t.node == node && t.listed;
        let id_of = |uuid| self.targets.iter().filter(served).find(|t| t.uuid == uuid).map_or(TargetId(0), |t| t.id);
        Some((node, register.targets.iter().map(|t| id_of(t.uuid)).collect()))
    }

    /// Remembers that a directory's identity is used up.
    pub(crate) fn retire(&mut self, uuid: ClusterId) {
        if let Err(at) = self.removed.binary_search(&uuid) {
            self.removed.insert(at, uuid);
        }
    }

    /// What everybody outside management sees.
    pub fn map(&self) -> ClusterMap {
        let node = |n: &NodeRecord| Node {
            id: n.id,
            alias: n.alias.clone(),
            role: n.role,
            addresses: n.addresses.clone(),
            reachability: n.reachability,
        };
        let target = |t: &TargetRecord| Target {
            id: t.id,
            alias: t.alias.clone(),
            kind: t.kind,
            node: t.node,
            pool: t.pool,
            reachability: t.state.reachability,
            consistency: t.state.consistency,
            capacity_pool: t.capacity_pool,
        };
        ClusterMap {
            version: self.version,
            cluster: self.cluster,
            nodes: self.nodes.iter().map(node).collect(),
            targets: self.targets.iter().map(target).collect(),
            groups: self.groups.clone(),
            pools: self.pools.clone(),
            slots: self.slots.clone(),
            settings: self.settings.clone(),
            moves: self.moves.clone(),
            emptied: self.emptied.clone(),
            planned: self.planned.clone(),
            key_rules: self.key_rules.clone(),
            access_rules: self.access_rules.clone(),
            failing: self.failing.clone(),
        }
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> Option<&mut NodeRecord> {
        self.nodes.binary_search_by_key(&id, |n| n.id).ok().map(|at| &mut self.nodes[at])
    }

    pub(crate) fn target_mut(&mut self, id: TargetId) -> Option<&mut TargetRecord> {
        self.targets.binary_search_by_key(&id, |t| t.id).ok().map(|at| &mut self.targets[at])
    }
}
