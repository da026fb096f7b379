// SPDX-License-Identifier: Apache-2.0

//! Commands that change the cluster state. They are what the Raft log holds, so
//! their encoding is part of the format on disk (`docs/format-mgmt.md`): numbers are given once and never reused.

use crate::capacity::{CapacityLimits, TargetPool};
use crate::group::member_at::MemberAt;
use crate::states::Trigger;
use crate::{ClusterError, MAX_ADDRESSES, MAX_TARGETS_PER_NODE, alias};
use minicbor::{Decode, Encode};
use nyala_wire::access_rules::{AccessRule, Network};
use nyala_wire::audit::AuditRecord;
use nyala_wire::key_rules::KeyRule;
use nyala_wire::map::{Reachability, Role, Settings, TargetKind};
use nyala_wire::mgmt::Register;
use nyala_wire::{ClusterId, GroupId, NodeId, PoolId, Slot, TargetId};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// A change of the cluster state. Idempotent: the same command twice in a row changes nothing the second time.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub enum Command {
    /// The cluster begins to exist.
    #[n(0)]
    Init {
        /// Its identity, random.
        #[n(0)]
        cluster: ClusterId,
        /// Its settings.
        #[n(1)]
        settings: Settings,
    },
    /// A service starts.
    #[n(1)]
    RegisterNode(#[n(0)] RegisterNode),
    /// The failure detector's verdict on one run of a service, or its goodbye.
    #[n(2)]
    SetReachability {
        /// The service.
        #[n(0)]
        node: NodeId,
        /// The run that the verdict is about; a verdict about another run is ignored.
        #[n(1)]
        incarnation: u64,
        /// The verdict.
        #[n(2)]
        reachability: Reachability,
    },
    /// Something happened to a target's content.
    #[n(3)]
    SetConsistency {
        /// The target.
        #[n(0)]
        target: TargetId,
        /// What happened; one of the triggers that are about content.
        #[n(1)]
        trigger: Trigger,
    },
    /// Targets moved to other capacity pools. Of a target that is named twice the last entry counts.
    #[n(4)]
    SetCapacityPools(#[n(0)] Vec<TargetPool>),
    /// New settings.
    #[n(5)]
    SetSettings(#[n(0)] Settings),
    /// New limits of the capacity pools.
    #[n(6)]
    SetLimits(#[n(0)] CapacityLimits),
    /// A new alias.
    #[n(7)]
    Rename {
        /// Of what.
        #[n(0)]
        thing: Thing,
        /// The alias.
        #[n(1)]
        alias: String,
    },
    /// A new storage pool.
    #[n(8)]
    CreatePool {
        /// Its alias.
        #[n(0)]
        alias: String,
    },
    /// A storage pool goes; it must be empty.
    #[n(9)]
    RemovePool {
        /// The pool.
        #[n(0)]
        pool: PoolId,
    },
    /// A storage target moves to a pool. Files that exist stay where they are.
    #[n(10)]
    SetPool {
        /// The target.
        #[n(0)]
        target: TargetId,
        /// The pool.
        #[n(1)]
        pool: PoolId,
    },
    /// A node goes; it must be offline and without targets.
    #[n(11)]
    RemoveNode {
        /// The node.
        #[n(0)]
        node: NodeId,
    },
    /// A target goes; it must be offline and serve nothing.
    #[n(12)]
    RemoveTarget {
        /// The target.
        #[n(0)]
        target: TargetId,
        /// The operator's word that no file has data there (any more), or that the data is given up.
        #[n(1)]
        content_gone: bool,
    },
    /// A new mirror group.
    #[n(13)]
    CreateGroup {
        /// Its id; 0 for the next one.
        #[n(0)]
        group: GroupId,
        /// What its members hold.
        #[n(1)]
        kind: TargetKind,
        /// Its members, the primary first; online and good.
        #[n(2)]
        members: Vec<TargetId>,
    },
    /// A mirror group goes.
    #[n(14)]
    RemoveGroup {
        /// The group.
        #[n(0)]
        group: GroupId,
        /// The operator's word that no file has data there (any more), or that the data is given up.
        #[n(1)]
        content_gone: bool,
    },
    /// The primary goes on without a member.
    #[n(15)]
    MarkNeedsResync {
        /// The member.
        #[n(0)]
        member: MemberAt,
        /// Who asks: the primary.
        #[n(1)]
        by: TargetId,
    },
    /// The primary begins to bring a member up to date.
    #[n(16)]
    StartResync(#[n(0)] MemberAt),
    /// The primary says that a member has everything, on disk.
    #[n(17)]
    MemberResynced(#[n(0)] MemberAt),
    /// An operator wants another good member to be primary. Failover after a loss needs no command of its own: it is part
    /// of the one that tells of the loss.
    #[n(18)]
    Failover(#[n(0)] MemberAt),
    /// A member that lost a right knows it.
    #[n(19)]
    Fenced(#[n(0)] MemberAt),
    /// An operator stops resync in a group, or lets it go on.
    #[n(20)]
    StopResync {
        /// The group.
        #[n(0)]
        group: GroupId,
        /// Stopped.
        #[n(1)]
        stopped: bool,
    },
    /// A metadata target gets a range of inode sequence numbers of its own.
    #[n(21)]
    HandOutRange {
        /// The target.
        #[n(0)]
        target: TargetId,
        /// Highest range given out so far; if another one was given out meanwhile, nothing happens.
        #[n(1)]
        last: u32,
        /// The range, which is higher.
        #[n(2)]
        range: u32,
    },
    /// An operator adds a member to a group. It gets everything by resync.
    #[n(22)]
    AddMember {
        /// The group.
        #[n(0)]
        group: GroupId,
        /// A target without chunk files: what it holds of the group's files would not be noticed to be old.
        #[n(1)]
        target: TargetId,
    },
    /// An operator takes a member out of a group; it must not be good.
    #[n(23)]
    RemoveMember {
        /// The group.
        #[n(0)]
        group: GroupId,
        /// The member.
        #[n(1)]
        target: TargetId,
    },
    /// An operator has slots served by another metadata server.
    #[n(24)]
    MoveSlots {
        /// The slots.
        #[n(0)]
        slots: Vec<Slot>,
        /// The server.
        #[n(1)]
        to: TargetId,
    },
    /// An operator gives moves up; all of them if no slot is named.
    #[n(25)]
    CancelMoves {
        /// The slots.
        #[n(0)]
        slots: Vec<Slot>,
    },
    /// The server that gives a slot away begins an attempt to copy it.
    #[n(26)]
    BeginMove {
        /// The slot.
        #[n(0)]
        slot: Slot,
        /// The attempt that is given up for it.
        #[n(1)]
        after: u64,
        /// The run of the server.
        #[n(2)]
        run: u64,
    },
    /// A slot is wholly on the other server's disk.
    #[n(27)]
    CompleteMove {
        /// The slot.
        #[n(0)]
        slot: Slot,
        /// The attempt.
        #[n(1)]
        attempt: u64,
    },
    /// The leader has seen to the share of a metadata server that joined. Once for each.
    #[n(28)]
    PlanMoves {
        /// The server.
        #[n(0)]
        to: TargetId,
        /// What it is to get, in the order in which it goes; nothing if it has its share.
        #[n(1)]
        slots: Vec<Slot>,
    },
    /// Planned slots set out.
    #[n(29)]
    ReleaseMoves {
        /// The server that they are planned for.
        #[n(0)]
        to: TargetId,
        /// The slots.
        #[n(1)]
        slots: Vec<Slot>,
    },
    /// What clients of a key are held to from now on; nothing, if the rule is none.
    #[n(30)]
    SetKeyRule(#[n(0)] KeyRule),
    /// An operator's order is about to be carried out. Its number is given here.
    #[n(31)]
    NoteOrder(#[n(0)] AuditRecord),
    /// What came of an order.
    #[n(32)]
    EndOrder {
        /// Its number.
        #[n(0)]
        number: u64,
        /// In a sentence.
        #[n(1)]
        outcome: String,
    },
    /// Which clients are let in and what they are held to, in the place of the rule for the same clients.
    #[n(33)]
    SetAccessRule(#[n(0)] AccessRule),
    /// The rule for these clients ends.
    #[n(34)]
    RemoveAccessRule {
        /// Id of the key, or `*`.
        #[n(0)]
        key: String,
        /// The network.
        #[n(1)]
        network: Option<Network>,
    },
    /// A storage target has found so many errors on its disk that its data is moved to others.
    #[n(35)]
    CallFailing {
        /// The target.
        #[n(0)]
        target: TargetId,
        /// Errors since it was made.
        #[n(1)]
        errors: u64,
    },
    /// An operator's word that its disk does not fail any more.
    #[n(36)]
    Forgive {
        /// The target.
        #[n(0)]
        target: TargetId,
        /// Errors that it has found so far; they count no more.
        #[n(1)]
        errors: u64,
    },
    /// A target takes the place of a member whose disk fails.
    #[n(37)]
    ReplaceFailing {
        /// The group.
        #[n(0)]
        group: GroupId,
        /// The member.
        #[n(1)]
        target: TargetId,
        /// A target without data.
        #[n(2)]
        by: TargetId,
    },
}

/// A service and its targets, as it registers.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct RegisterNode {
    /// Cluster that the directory belongs to; `UNKNOWN` if it is new.
    #[n(0)]
    pub cluster: ClusterId,
    /// What the service does.
    #[n(1)]
    pub role: Role,
    /// Identity of its directory.
    #[n(2)]
    pub uuid: ClusterId,
    /// Wished alias, or empty.
    #[n(3)]
    pub alias: String,
    /// Where it listens, in order of preference.
    #[cbor(n(4), with = "nyala_wire::map::addresses")]
    pub addresses: Vec<SocketAddr>,
    /// This run of the process.
    #[n(5)]
    pub incarnation: u64,
    /// Its targets.
    #[n(6)]
    pub targets: Vec<NewTarget>,
}

/// A target of a service that registers.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct NewTarget {
    /// Identity of its directory.
    #[n(0)]
    pub uuid: ClusterId,
    /// Id that it has or wants; 0 for none.
    #[n(1)]
    pub id: TargetId,
    /// Wished alias, or empty.
    #[n(2)]
    pub alias: String,
    /// What it holds.
    #[n(3)]
    pub kind: TargetKind,
    /// How often it has lost power, or its file system, while something may have been unsynced.
    #[n(4)]
    #[cbor(default)]
    #[serde(default)]
    pub losses: u32,
    /// A metadata target that is given no slots: it is to become a member of a mirror group.
    #[n(5)]
    #[cbor(default)]
    #[serde(default)]
    pub spare: bool,
}

/// Something with an alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Thing {
    /// A node.
    #[n(0)]
    Node(#[n(0)] NodeId),
    /// A target.
    #[n(1)]
    Target(#[n(0)] TargetId),
    /// A storage pool.
    #[n(2)]
    Pool(#[n(0)] PoolId),
}

impl TryFrom<&Register> for RegisterNode {
    type Error = ClusterError;

    /// What came over the wire, with everything checked that needs no state.
    fn try_from(from: &Register) -> Result<RegisterNode, ClusterError> {
        let addresses = from.addresses.iter().take(MAX_ADDRESSES + 1).map(|text| {
            text.parse().map_err(|_| ClusterError::invalid(format!("{text:?} is not an address; write ip:port")))
        });
        let target = |t: &nyala_wire::mgmt::RegisterTarget| NewTarget {
            uuid: t.uuid,
            id: t.id,
            alias: t.alias.clone(),
            kind: t.kind,
            losses: t.losses,
            spare: t.spare,
        };
        let register = RegisterNode {
            cluster: from.cluster,
            role: from.role,
            uuid: from.uuid,
            alias: from.alias.clone(),
            addresses: addresses.collect::<Result<_, _>>()?,
            incarnation: from.incarnation,
            targets: from.targets.iter().map(target).collect(),
        };
        register.check()?;
        Ok(register)
    }
}

impl RegisterNode {
    /// Refuses what no state could accept.
    pub fn check(&self) -> Result<(), ClusterError> {
        let kind = match self.role {
            Role::Meta => Some(TargetKind::Meta),
            Role::Storage => Some(TargetKind::Storage),
            Role::Mgmt => None,
            Role::Client => return Err(ClusterError::invalid("clients do not register, they only watch the map")),
        };
        if self.uuid == ClusterId::UNKNOWN || self.targets.iter().any(|t| t.uuid == ClusterId::UNKNOWN) {
            return Err(ClusterError::invalid("a service and each of its targets need a uuid that is not zero"));
        }
        if self.addresses.is_empty() || self.addresses.len() > MAX_ADDRESSES {
            return Err(ClusterError::invalid(format!("a service has 1 to {MAX_ADDRESSES} addresses")));
        }
        if self.addresses.iter().any(|a| a.port() == 0 || a.ip().is_unspecified()) {
            return Err(ClusterError::invalid(
                "an address that others can connect to has a port and is not 0.0.0.0 or ::",
            ));
        }
        if self.targets.len() > MAX_TARGETS_PER_NODE {
            return Err(ClusterError::invalid(format!("a service has at most {MAX_TARGETS_PER_NODE} targets")));
        }
        if self.targets.iter().any(|t| Some(t.kind) != kind) {
            return Err(ClusterError::invalid(
                "metadata services have metadata targets, storage services storage targets",
            ));
        }
        let named = self.targets.iter().map(|t| &t.alias).chain([&self.alias]);
        named.filter(|alias| !alias.is_empty()).try_for_each(|alias| alias::check(alias))?;
        for (at, target) in self.targets.iter().enumerate() {
            let before = &self.targets[..at];
            if before.iter().any(|t| t.uuid == target.uuid || (t.id.0 != 0 && t.id == target.id)) {
                return Err(ClusterError::invalid("the same target is listed twice"));
            }
            if before.iter().any(|t| !t.alias.is_empty() && t.alias == target.alias) {
                return Err(ClusterError::AliasTaken { alias: target.alias.clone() });
            }
        }
        Ok(())
    }
}
