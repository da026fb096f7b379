// SPDX-License-Identifier: Apache-2.0

//! The cluster map: what everybody outside management sees of the cluster state.

pub mod addresses;
mod failing;

use crate::access_rules::AccessRule;
use crate::ids::{ClusterId, GroupId, MapVersion, NodeId, PoolId, Slot, TargetId};
use crate::key_rules::KeyRule;
pub use crate::slot_orders::{PlannedMoves, Rebalance, SlotMove};
use crate::stripe::StripePattern;
pub use failing::FailingTarget;
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize)]
#[cbor(index_only)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Management service.
    #[n(0)]
    Mgmt,
    /// Metadata service.
    #[n(1)]
    Meta,
    /// Storage service.
    #[n(2)]
    Storage,
    /// Client (a mount or a library user).
    #[n(3)]
    Client,
}

/// What a target holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize)]
#[cbor(index_only)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// Metadata.
    #[n(0)]
    Meta,
    /// File data.
    #[n(1)]
    Storage,
}

/// Whether management hears from a node or target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode, Serialize, Deserialize)]
#[cbor(index_only)]
#[serde(rename_all = "kebab-case")]
pub enum Reachability {
    /// Its lease is valid.
    #[n(0)]
    Online,
    /// It missed heartbeats, its lease is still running.
    #[n(1)]
    ProbablyOffline,
    /// Its lease has ended or it said goodbye.
    #[n(2)]
    Offline,
}

/// Whether a target's content is what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode, Serialize, Deserialize)]
#[cbor(index_only)]
#[serde(rename_all = "kebab-case")]
pub enum Consistency {
    /// It holds everything acknowledged.
    #[n(0)]
    Good,
    /// It missed changes that another member has.
    #[n(1)]
    NeedsResync,
    /// An operator or a check says that its content is lost or wrong.
    #[n(2)]
    Bad,
}

/// Class of free space and inodes; placement takes normal before low before emergency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize)]
#[cbor(index_only)]
#[serde(rename_all = "lowercase")]
pub enum CapacityPool {
    /// Enough of both.
    #[n(0)]
    Normal,
    /// Below the low limit.
    #[n(1)]
    Low,
    /// Below the emergency limit.
    #[n(2)]
    Emergency,
}

/// How targets of a new file are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Encode, Decode, Serialize, Deserialize)]
#[cbor(index_only)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// At random.
    #[default]
    #[n(0)]
    Random,
    /// In turn.
    #[n(1)]
    RoundRobin,
    /// At random, over as many nodes as possible.
    #[n(2)]
    RandomInternode,
}

/// A registered service.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Node {
    /// Its id.
    #[n(0)]
    pub id: NodeId,
    /// Its unique alias.
    #[n(1)]
    pub alias: String,
    /// What it does.
    #[n(2)]
    pub role: Role,
    /// Where it listens, in order of preference.
    #[cbor(n(3), with = "addresses")]
    pub addresses: Vec<SocketAddr>,
    /// Whether management hears from it.
    #[n(4)]
    pub reachability: Reachability,
}

/// A registered target.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Target {
    /// Its id.
    #[n(0)]
    pub id: TargetId,
    /// Its unique alias.
    #[n(1)]
    pub alias: String,
    /// What it holds.
    #[n(2)]
    pub kind: TargetKind,
    /// The node that serves it.
    #[n(3)]
    pub node: NodeId,
    /// The storage pool that it is in.
    #[n(4)]
    pub pool: PoolId,
    /// Whether management hears from its node.
    #[n(5)]
    pub reachability: Reachability,
    /// Whether its content is what it should be.
    #[n(6)]
    pub consistency: Consistency,
    /// Class of free space.
    #[n(7)]
    pub capacity_pool: CapacityPool,
}

/// A mirror group of targets (`docs/replication.md`).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Group {
    /// Its id.
    #[n(0)]
    pub id: GroupId,
    /// What its members hold.
    #[n(1)]
    pub kind: TargetKind,
    /// Grows with every change of members or of their states.
    #[n(2)]
    pub epoch: u32,
    /// The primary first.
    #[n(3)]
    pub members: Vec<TargetId>,
    /// What each member is worth, in the order of `members`.
    #[n(4)]
    #[cbor(default)]
    #[serde(default)]
    pub states: Vec<MemberState>,
    /// The epoch in which the present run of the primary took office.
    #[n(5)]
    #[cbor(default)]
    #[serde(default)]
    pub term: u32,
    /// The map version in which the present epoch began.
    #[n(6)]
    #[cbor(default)]
    #[serde(default)]
    pub since: MapVersion,
    /// Targets that lost a right and may not know it yet. While there are any, the primary acknowledges nothing.
    #[n(7)]
    #[cbor(default)]
    #[serde(default)]
    pub fencing: Vec<TargetId>,
    /// An operator has stopped resync in this group.
    #[n(8)]
    #[cbor(default)]
    #[serde(default)]
    pub resync_stopped: bool,
    /// Members that may lack anything, not only what changed without them: resync gives them all that the primary has.
    #[n(9)]
    #[cbor(default)]
    #[serde(default)]
    pub full: Vec<TargetId>,
    /// How often what was acknowledged and not synced may have been lost: the last good member came back after a loss of power,
    /// or another one was declared good.
    #[n(10)]
    #[cbor(default)]
    #[serde(default)]
    pub losses: u32,
    /// Of a group of metadata targets: the metadata server that the group is, named by the target that it was made from. The
    /// server keeps its name, its slots and its sessions whoever is primary, and when that target has left the group.
    #[n(11)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serves: Option<TargetId>,
}

/// What a member of a mirror group is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize)]
#[cbor(index_only)]
#[serde(rename_all = "kebab-case")]
pub enum MemberState {
    /// Holds everything acknowledged; may serve reads and become primary.
    #[default]
    #[n(0)]
    Good,
    /// Missed changes; gets none.
    #[n(1)]
    NeedsResync,
    /// Gets every change and is being brought up to date.
    #[n(2)]
    Resyncing,
    /// An operator or a check says that its content is lost or wrong.
    #[n(3)]
    Bad,
}

impl Group {
    /// The member that orders changes.
    pub fn primary(&self) -> Option<TargetId> {
        self.members.first().copied()
    }

    /// What a member is worth; `None` for a target that is no member.
    pub fn state(&self, target: TargetId) -> Option<MemberState> {
        let at = self.members.iter().position(|member| *member == target)?;
        Some(self.states.get(at).copied().unwrap_or_default())
    }

    /// Members with their states, the primary first.
    pub fn members_with_states(&self) -> impl Iterator<Item = (TargetId, MemberState)> + '_ {
        let states = self.states.iter().copied().chain(std::iter::repeat(MemberState::default()));
        self.members.iter().copied().zip(states)
    }

    /// Whether everybody who lost a right in this or an earlier epoch knows it, or has no lease any more.
    pub fn is_settled(&self) -> bool {
        self.fencing.is_empty()
    }
}

/// A storage pool.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Pool {
    /// Its id.
    #[n(0)]
    pub id: PoolId,
    /// Its unique alias.
    #[n(1)]
    pub alias: String,
}

/// A run of slots that one metadata target serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct SlotRange {
    /// First slot of the run.
    #[n(0)]
    pub first: Slot,
    /// Number of slots, at least one.
    #[n(1)]
    pub count: u16,
    /// The metadata server that serves them: a metadata target, or the mirror group that was made from it ([`Group::serves`]).
    #[n(2)]
    pub target: TargetId,
}

/// Settings that the whole cluster shares.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Settings {
    /// What the root directory gives to new files until somebody sets its pattern.
    #[n(0)]
    pub default_pattern: StripePattern,
    /// How targets are chosen.
    #[n(1)]
    pub placement: Placement,
    /// Interval between heartbeats, milliseconds.
    #[n(2)]
    pub heartbeat_ms: u32,
    /// Length of a lease, milliseconds.
    #[n(3)]
    pub lease_ms: u32,
    /// A client that is silent for so long loses its session, milliseconds.
    #[n(4)]
    pub session_timeout_ms: u32,
    /// How a metadata server that joins gets its share.
    #[n(5)]
    #[cbor(default)]
    #[serde(default)]
    pub rebalance: Rebalance,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            default_pattern: StripePattern::default(),
            placement: Placement::Random,
            heartbeat_ms: 500,
            lease_ms: 3000,
            session_timeout_ms: 30_000,
            rebalance: Rebalance::default(),
        }
    }
}

/// The cluster map.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct ClusterMap {
    /// Grows with every change.
    #[n(0)]
    pub version: MapVersion,
    /// Which cluster.
    #[n(1)]
    pub cluster: ClusterId,
    /// Nodes, by id.
    #[n(2)]
    pub nodes: Vec<Node>,
    /// Targets, by id.
    #[n(3)]
    pub targets: Vec<Target>,
    /// Mirror groups, by id.
    #[n(4)]
    pub groups: Vec<Group>,
    /// Storage pools, by id.
    #[n(5)]
    pub pools: Vec<Pool>,
    /// Who serves which slot; ranges in order, without overlap. A slot in no range holds nothing yet.
    #[n(6)]
    pub slots: Vec<SlotRange>,
    /// Settings.
    #[n(7)]
    pub settings: Settings,
    /// Slots on their way to another server, by slot.
    #[n(8)]
    #[cbor(default)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<SlotMove>,
    /// Metadata servers that gave all their slots away, by id: they serve no names any more, and still know what they did.
    #[n(9)]
    #[cbor(default)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emptied: Vec<TargetId>,
    /// Slots that management is going to have moved by itself, by server.
    #[n(10)]
    #[cbor(default)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planned: Vec<PlannedMoves>,
    /// What clients are held to, by id of key; those of other keys to nothing.
    #[n(11)]
    #[cbor(default)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_rules: Vec<KeyRule>,
    /// Which clients are let in and what they are held to, by key and network.
    #[n(12)]
    #[cbor(default)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_rules: Vec<AccessRule>,
    /// Storage targets whose disks fail, by id: new data goes elsewhere, and what they hold moves away.
    #[n(13)]
    #[cbor(default)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<FailingTarget>,
}

impl ClusterMap {
    /// Whether a target's disk fails.
    pub fn is_failing(&self, target: TargetId) -> bool {
        self.failing.iter().any(|failing| failing.target == target)
    }

    /// What the clients of a key are held to, if to anything.
    pub fn key_rule(&self, key: &str) -> Option<&KeyRule> {
        self.key_rules.iter().find(|rule| rule.key == key)
    }

    /// The node with this id.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.binary_search_by_key(&id, |node| node.id).ok().map(|at| &self.nodes[at])
    }

    /// The target with this id.
    pub fn target(&self, id: TargetId) -> Option<&Target> {
        self.targets.binary_search_by_key(&id, |target| target.id).ok().map(|at| &self.targets[at])
    }

    /// The node that serves a target.
    pub fn node_of(&self, target: TargetId) -> Option<&Node> {
        self.node(self.target(target)?.node)
    }

    /// A mirror group by id.
    pub fn group(&self, id: GroupId) -> Option<&Group> {
        self.groups.iter().find(|group| group.id == id)
    }

    /// The metadata server that serves a slot ([`ClusterMap::server_target`] is where it works).
    pub fn slot_target(&self, slot: Slot) -> Option<TargetId> {
        let after = self.slots.partition_point(|range| range.first <= slot);
        let range = self.slots.get(after.checked_sub(1)?)?;
        (slot.0 - range.first.0 < range.count).then_some(range.target)
    }

    /// The mirror group that a metadata server is, if it is one.
    pub fn server_group(&self, server: TargetId) -> Option<&Group> {
        self.groups.iter().find(|group| group.serves == Some(server))
    }

    /// The target that a metadata server works on now: the primary of its mirror group, or its own.
    pub fn server_target(&self, server: TargetId) -> Option<&Target> {
        self.target(self.server_group(server).map_or(Some(server), Group::primary)?)
    }

    /// The node on which a metadata server works now.
    pub fn server_node(&self, server: TargetId) -> Option<&Node> {
        self.node(self.server_target(server)?.node)
    }

    /// The metadata server that works on a target now. `None` for members of mirror groups that are not primary, and for targets
    /// that serve no slots.
    pub fn server_on(&self, target: TargetId) -> Option<TargetId> {
        match self.groups.iter().find(|group| group.members.contains(&target)) {
            Some(group) => group.serves.filter(|_| group.primary() == Some(target)),
            None => {
                let serves = self.slots.iter().any(|range| range.target == target) || self.emptied.contains(&target);
                let alone = serves && self.server_group(target).is_none();
                alone.then_some(target)
            }
        }
    }

    /// The move of a slot, if it is on its way.
    pub fn slot_move(&self, slot: Slot) -> Option<&SlotMove> {
        self.moves.iter().find(|moving| moving.slot == slot)
    }

    /// Metadata servers: whoever serves slots, or did, by id.
    pub fn metadata_servers(&self) -> impl Iterator<Item = TargetId> + use<> {
        let serving = self.slots.iter().map(|range| range.target);
        serving.chain(self.emptied.iter().copied()).collect::<BTreeSet<TargetId>>().into_iter()
    }

    /// Slots that a metadata target serves.
    pub fn slots_of(&self, target: TargetId) -> impl Iterator<Item = Slot> + '_ {
        let mine = self.slots.iter().filter(move |range| range.target == target);
        mine.flat_map(|range| (0..range.count).map_while(|at| range.first.0.checked_add(at)).map(Slot))
    }

    /// Addresses of all management nodes.
    pub fn mgmt_addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.nodes.iter().filter(|node| node.role == Role::Mgmt).flat_map(|node| node.addresses.iter().copied())
    }

    /// Whether a server of the cluster listens at that address.
    pub fn has_server_at(&self, address: SocketAddr) -> bool {
        self.nodes.iter().any(|node| node.role != Role::Client && node.addresses.contains(&address))
    }

    /// Targets of a kind, by id.
    pub fn targets_of(&self, kind: TargetKind) -> impl Iterator<Item = &Target> + '_ {
        self.targets.iter().filter(move |target| target.kind == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_known_by_their_addresses() {
        let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let node = |role, port| Node {
            id: NodeId(u32::from(port)),
            alias: String::new(),
            role,
            addresses: vec![at(port), at(port + 10)],
            reachability: Reachability::Offline,
        };
        let map = ClusterMap { nodes: vec![node(Role::Meta, 1), node(Role::Client, 2)], ..Default::default() };
        assert_eq!([1, 11, 2, 3].map(|port| map.has_server_at(at(port))), [true, true, false, false]);
    }

    #[test]
    fn slots_are_found() {
        let range = |first, count, target| SlotRange { first: Slot(first), count, target: TargetId(target) };
        let map = ClusterMap { slots: vec![range(0, 64, 1), range(64, 64, 2), range(200, 1, 1)], ..Default::default() };
        let find = |slot| map.slot_target(Slot(slot)).map(|t| t.0);
        assert_eq!((find(0), find(63), find(64), find(127)), (Some(1), Some(1), Some(2), Some(2)));
        assert_eq!((find(128), find(199), find(200), find(201)), (None, None, Some(1), None));
        assert_eq!(map.slots_of(TargetId(1)).count(), 65);
        let odd = ClusterMap { slots: vec![range(7, 0, 1), range(u16::MAX, 9, 1)], ..Default::default() };
        assert_eq!(odd.slots_of(TargetId(1)).collect::<Vec<_>>(), [Slot(u16::MAX)]);
    }

    #[test]
    fn a_map_survives_the_codec() {
        let node = Node {
            id: NodeId(3),
            alias: "meta1".into(),
            role: Role::Meta,
            addresses: vec!["127.0.0.1:8005".parse().unwrap(), "[::1]:8005".parse().unwrap()],
            reachability: Reachability::ProbablyOffline,
        };
        let map = ClusterMap { version: MapVersion(9), nodes: vec![node], ..Default::default() };
        assert_eq!(crate::codec::decode::<ClusterMap>(&crate::codec::encode(&map)).unwrap(), map);
    }
}
