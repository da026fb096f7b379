// SPDX-License-Identifier: Apache-2.0

//! Requests to the management service, by servers and clients. Operators use the REST API.

use crate::access_rules::{AccessRule, Network};
use crate::audit::AuditRecord;
pub use crate::changes::StateChange;
pub use crate::fsck_news::{FSCK_HEARD_S, FsckNews, MAX_FSCK_TEXT};
pub use crate::group_orders::GroupOrder;
use crate::ids::{ClusterId, GroupId, InodeId, MapVersion, NodeId, TargetId};
use crate::key_rules::KeyRule;
use crate::map::{ClusterMap, Role, TargetKind};
pub use crate::mgmt_nodes::{MgmtNode, MgmtRole};
pub use crate::mounts::{MOUNT_KNOWN_S, MountAt};
pub use crate::reports::{
    LinkReport, LinkState, MAX_REPORTED_CLIENTS, MAX_REPORTED_LINKS, RecallReport, UnansweredRecall,
};
pub use crate::slot_orders::{SlotOrder, SlotStep};
pub use crate::stats::ServiceStats;
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// Sequence numbers of a range: range n has those from (n - 1) times this to before n times this, in every slot.
pub const SEQUENCES_PER_RANGE: u64 = 1 << 24;
/// Number of the last range.
pub const MAX_RANGE: u32 = ((InodeId::MAX_SEQUENCE + 1) / SEQUENCES_PER_RANGE) as u32;

/// A request to the management service.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum MgmtRequest {
    /// The cluster map, once it is newer than `have`, or after `wait_ms` as it is. Reply: `Map`, or `Unchanged`.
    #[n(0)]
    WatchMap {
        /// Version that the asker has; 0 for none.
        #[n(0)]
        have: MapVersion,
        /// Longest wait in milliseconds; at most 60,000.
        #[n(1)]
        wait_ms: u32,
    },
    /// A service starts: get or confirm ids for itself and its targets. Idempotent. Reply: `Registered`.
    #[n(1)]
    Register(#[n(0)] Register),
    /// A registered service is alive. Reply: `Lease`.
    #[n(2)]
    Heartbeat(#[n(0)] Heartbeat),
    /// A service stops in an orderly way: its lease ends now. Reply: `Done`.
    #[n(3)]
    Goodbye {
        /// The service.
        #[n(0)]
        node: NodeId,
        /// The incarnation that stops.
        #[n(1)]
        incarnation: u64,
    },
    /// Last reported capacities of all targets. Reply: `Capacities`.
    #[n(4)]
    Capacities,
    /// The primary of a mirror group says what became of a member, as it is in an epoch. Reply: `Map`.
    #[n(5)]
    Member {
        /// The group.
        #[n(0)]
        group: GroupId,
        /// The group's epoch as the primary knows it.
        #[n(1)]
        epoch: u32,
        /// The member.
        #[n(2)]
        target: TargetId,
        /// The primary.
        #[n(3)]
        by: TargetId,
        /// What became of it.
        #[n(4)]
        news: MemberNews,
    },
    /// The host of a service refused a connection: management looks at once whether the process is dead. Reply: `Done`.
    #[n(6)]
    Refused {
        /// The service.
        #[n(0)]
        node: NodeId,
    },
    /// An operator's order about mirror groups. Idempotent. Reply: `Done`.
    #[n(7)]
    Groups(#[n(0)] GroupOrder),
    /// A metadata service needs inode numbers that were never given out. Repeated it gives another range. Reply: `Range`.
    #[n(12)]
    TakeRange {
        /// The metadata target.
        #[n(0)]
        target: TargetId,
        /// A later range than this one.
        #[n(1)]
        after: u32,
    },
    /// A management node starts, or wants to become a member. Idempotent. Reply: `MgmtJoined`.
    #[n(16)]
    JoinMgmt(#[n(0)] JoinMgmt),
    /// The management nodes as their leader sees them. Reply: `MgmtNodes`.
    #[n(17)]
    MgmtNodes,
    /// A management node goes, for good. Idempotent. Reply: `Done`.
    #[n(18)]
    RemoveMgmt {
        /// The node.
        #[n(0)]
        node: NodeId,
    },
    /// To a management node that waits for a cluster: become a member of this one. Reply: `Done`.
    #[n(19)]
    AdoptMgmt {
        /// The cluster's management nodes, `ip:port` text.
        #[n(0)]
        mgmt: Vec<String>,
    },
    /// A mount serves metrics. Said again while it does: what is not heard of for [`MOUNT_KNOWN_S`] is forgotten. Reply: `Done`.
    #[n(20)]
    AnnounceMount(#[n(0)] MountAt),
    /// The mounts that were announced. Reply: `Mounts`.
    #[n(21)]
    Mounts,
    /// A metadata server begins an attempt to copy a slot, or is done with it. Reply: `Done`; the map says what came of it.
    #[n(22)]
    SlotStep(#[n(0)] SlotStep),
    /// An operator's order about slots. Reply: `Done`.
    #[n(23)]
    Slots(#[n(0)] SlotOrder),
    /// An operator says what the clients of a key are held to; a rule that holds them to nothing is removed. Reply: `Done`.
    #[n(24)]
    SetKeyRule(#[n(0)] KeyRule),
    /// The last orders of operators. Reply: `Audit`.
    #[n(25)]
    Audit,
    /// The last changes of the cluster state that this leader remembers. Reply: `Changes`.
    #[n(26)]
    Changes,
    /// An operator says which clients are let in and what they are held to, in the place of the rule for the same clients. Reply: `Done`.
    #[n(27)]
    SetAccessRule(#[n(0)] AccessRule),
    /// The rule for these clients ends. Reply: `Done`, also if there is none.
    #[n(28)]
    RemoveAccessRule {
        /// Id of the key, or `*`.
        #[n(0)]
        key: String,
        /// The network.
        #[n(1)]
        network: Option<Network>,
    },
    /// A check of the file system begins, goes on, or is over. Idempotent. Reply: `Done`.
    #[n(29)]
    Fsck(#[n(0)] FsckNews),
}

/// What became of a member of a mirror group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum MemberNews {
    /// It does not answer, or its disk fails: the group goes on without it.
    #[n(0)]
    NeedsResync,
    /// It is being brought up to date.
    #[n(1)]
    ResyncStarted,
    /// It holds everything again.
    #[n(2)]
    Resynced,
}

/// A service asks for ids.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Register {
    /// Cluster that the service's directories belong to; `UNKNOWN` if they are new.
    #[n(0)]
    pub cluster: ClusterId,
    /// What the service does.
    #[n(1)]
    pub role: Role,
    /// Identity of the service's directory: random, made once. The same one gets the same id again.
    #[n(2)]
    pub uuid: ClusterId,
    /// Wished alias; empty lets management choose (`meta1`, `storage1`, …).
    #[n(3)]
    pub alias: String,
    /// Where it listens, `ip:port` text, in order of preference.
    #[n(4)]
    pub addresses: Vec<String>,
    /// Random number of this run of the process.
    #[n(5)]
    pub incarnation: u64,
    /// Its targets.
    #[n(6)]
    pub targets: Vec<RegisterTarget>,
}

/// A target of a service that registers.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RegisterTarget {
    /// Identity of the target's directory: random, made once.
    #[n(0)]
    pub uuid: ClusterId,
    /// Id that the directory already has, or that the operator wants; 0 lets management choose.
    #[n(1)]
    pub id: TargetId,
    /// Wished alias; empty lets management choose.
    #[n(2)]
    pub alias: String,
    /// What it holds.
    #[n(3)]
    pub kind: TargetKind,
    /// Capacity now.
    #[n(4)]
    pub capacity: Capacity,
    /// How often the target has lost power, or its file system, while something may have been unsynced.
    #[n(5)]
    #[cbor(default)]
    pub losses: u32,
    /// A metadata target that is to be given no slots: it is to become a member of a mirror group.
    #[n(6)]
    #[cbor(default)]
    pub spare: bool,
}

/// Capacity of a target's local file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Capacity {
    /// Bytes in all.
    #[n(0)]
    pub total_bytes: u64,
    /// Bytes free to us.
    #[n(1)]
    pub free_bytes: u64,
    /// Inodes in all; 0 where the file system has no fixed number.
    #[n(2)]
    pub total_inodes: u64,
    /// Inodes free.
    #[n(3)]
    pub free_inodes: u64,
}

/// Capacity of one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct TargetCapacity {
    /// The target.
    #[n(0)]
    pub target: TargetId,
    /// Its capacity.
    #[n(1)]
    pub capacity: Capacity,
    /// Of a metadata target: inodes of the name space that are in it, if it can say so.
    #[n(2)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inodes: Option<u64>,
    /// Of a storage target: bytes of data on it, about, if it can say so.
    #[n(3)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_bytes: Option<u64>,
    /// Of a storage target that has found errors of its disk: how many.
    #[n(4)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<DiskErrors>,
}

impl TargetCapacity {
    /// Of a target that says nothing else.
    pub fn new(target: TargetId, capacity: Capacity) -> TargetCapacity {
        TargetCapacity { target, capacity, inodes: None, data_bytes: None, errors: None }
    }
}

/// Errors that a storage target has found on its disk: blocks that do not match their checksums, and reads, writes and syncs that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct DiskErrors {
    /// Since the target was made.
    #[n(0)]
    pub total: u64,
    /// Of these, those of the last while.
    #[n(1)]
    pub recent: u64,
    /// With so many recent ones the target is failing, as its service is set; 0: however many there are.
    #[n(2)]
    pub limit: u64,
}

/// A service is alive.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Heartbeat {
    /// The service.
    #[n(0)]
    pub node: NodeId,
    /// This run of the process; an older run's heartbeat is refused.
    #[n(1)]
    pub incarnation: u64,
    /// Map version that it has.
    #[n(2)]
    pub map_version: MapVersion,
    /// Capacities of its targets.
    #[n(3)]
    pub capacities: Vec<TargetCapacity>,
}

/// Ids given.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Registered {
    /// The cluster.
    #[n(0)]
    pub cluster: ClusterId,
    /// The service's id.
    #[n(1)]
    pub node: NodeId,
    /// The targets' ids, in the order of the request; 0 for one that is refused and must not be served.
    #[n(2)]
    pub targets: Vec<TargetId>,
    /// The map that has them.
    #[n(3)]
    pub map: ClusterMap,
    /// Why targets are refused, a sentence for each 0 in `targets`, in the same order.
    #[n(4)]
    #[cbor(default)]
    pub refused: Vec<String>,
}

/// Replies of the management service.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum MgmtReply {
    /// Done.
    #[n(0)]
    Done,
    /// The map.
    #[n(1)]
    Map(#[n(0)] Box<ClusterMap>),
    /// The asker's map is the newest.
    #[n(2)]
    Unchanged,
    /// Ids.
    #[n(3)]
    Registered(#[n(0)] Box<Registered>),
    /// The lease runs for so long from when the heartbeat was sent.
    #[n(4)]
    Lease {
        /// Length of the lease, milliseconds.
        #[n(0)]
        lease_ms: u32,
        /// Newest map version.
        #[n(1)]
        map_version: MapVersion,
    },
    /// Capacities.
    #[n(5)]
    Capacities(#[n(0)] Vec<TargetCapacity>),
    /// A range of inode sequence numbers ([`SEQUENCES_PER_RANGE`]) that nobody was given before.
    #[n(12)]
    Range {
        /// Its number, from 1.
        #[n(0)]
        range: u32,
        /// The one that the target was given before; 0 for none.
        #[n(1)]
        before: u32,
    },
    /// This management node does not lead: ask the one that does.
    #[n(16)]
    NotLeader {
        /// Who leads, as far as this node knows; `None` while nobody does.
        #[n(0)]
        leader: Option<NodeId>,
        /// The leader's addresses, `ip:port` text, best first.
        #[n(1)]
        addresses: Vec<String>,
    },
    /// The management node is known under this id.
    #[n(17)]
    MgmtJoined {
        /// The cluster.
        #[n(0)]
        cluster: ClusterId,
        /// The id, also in Raft.
        #[n(1)]
        node: NodeId,
    },
    /// The management nodes, by id.
    #[n(18)]
    MgmtNodes(#[n(0)] Vec<MgmtNode>),
    /// The mounts that serve metrics, by address. After a change of leaders incomplete until each was announced again.
    #[n(19)]
    Mounts(#[n(0)] Vec<MountAt>),
    /// Orders of operators, oldest first.
    #[n(20)]
    Audit(#[n(0)] Vec<AuditRecord>),
    /// What changed, newest first.
    #[n(21)]
    Changes(#[n(0)] Vec<StateChange>),
}

/// A management node makes itself known.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct JoinMgmt {
    /// Cluster that its directory belongs to; `UNKNOWN` if it is new.
    #[n(0)]
    pub cluster: ClusterId,
    /// Identity of its directory: random, made once.
    #[n(1)]
    pub uuid: ClusterId,
    /// Where it listens, `ip:port` text, in order of preference.
    #[n(2)]
    pub addresses: Vec<String>,
    /// Random number of this run of the process.
    #[n(3)]
    pub incarnation: u64,
    /// Its id, once it has one and takes part in Raft: let it become a voter. Before that (0) it only asks for its id.
    #[n(4)]
    pub node: NodeId,
}
