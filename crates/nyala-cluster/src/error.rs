// SPDX-License-Identifier: Apache-2.0

//! Why a command was refused, in words that say what to do.

use crate::trigger::Trigger;
use minicbor::{Decode, Encode};
use nyala_wire::map::{Consistency, Reachability, TargetKind};
use nyala_wire::{ClusterId, ErrorCode, GroupId, NodeId, PoolId, TargetId, WireError};
use serde::{Deserialize, Serialize};

/// A refused command. The state is as it was.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ClusterError {
    /// No `Init` yet.
    #[n(0)]
    #[error("the cluster is not initialised yet; the management service does it at its first start")]
    NotInitialised,
    /// `Init` with another id.
    #[n(1)]
    #[error("this is cluster {ours} already; it cannot become cluster {theirs}")]
    AlreadyInitialised {
        /// The id it has.
        #[n(0)]
        ours: ClusterId,
        /// The id it was to get.
        #[n(1)]
        theirs: ClusterId,
    },
    /// A service of another cluster.
    #[n(2)]
    #[error(
        "the service's directory belongs to cluster {theirs}, this is cluster {ours}; check its management address"
    )]
    ForeignCluster {
        /// Our id.
        #[n(0)]
        ours: ClusterId,
        /// The id in the service's directory.
        #[n(1)]
        theirs: ClusterId,
    },
    /// An alias that breaks the rules.
    #[n(3)]
    #[error("{alias:?} is not an alias: 1 to 64 of a-z A-Z 0-9 . _ -, beginning with a letter")]
    BadAlias {
        /// The alias.
        #[n(0)]
        alias: String,
    },
    /// Somebody else has the alias.
    #[n(4)]
    #[error("alias {alias:?} is taken; choose another one")]
    AliasTaken {
        /// The alias.
        #[n(0)]
        alias: String,
    },
    /// Another target has the id.
    #[n(5)]
    #[error(
        "target id {target} belongs, or belonged, to another target directory; leave the id out, since ids are used once"
    )]
    TargetIdTaken {
        /// The id.
        #[n(0)]
        target: TargetId,
    },
    /// The directory says another id than the one registered.
    #[n(6)]
    #[error("the directory says target {wanted}, but it is registered as target {registered}; correct its target.toml")]
    TargetIdDiffers {
        /// What the directory says.
        #[n(0)]
        wanted: TargetId,
        /// What is registered.
        #[n(1)]
        registered: TargetId,
    },
    /// Two services offer the same target.
    #[n(7)]
    #[error(
        "target {target} is served by node {node}, which is alive; stop that service or remove the copy of the directory"
    )]
    TargetServed {
        /// The target.
        #[n(0)]
        target: TargetId,
        /// Who serves it.
        #[n(1)]
        node: NodeId,
    },
    /// A target that held something else before.
    #[n(8)]
    #[error("target {target} holds {registered:?} content, it cannot be registered for {wanted:?}")]
    TargetKindDiffers {
        /// The target.
        #[n(0)]
        target: TargetId,
        /// As registered.
        #[n(1)]
        registered: TargetKind,
        /// As asked for.
        #[n(2)]
        wanted: TargetKind,
    },
    /// A service directory that had another role before.
    #[n(9)]
    #[error("node {node} is registered with another role; use a fresh directory for another kind of service")]
    RoleDiffers {
        /// The node.
        #[n(0)]
        node: NodeId,
    },
    /// An earlier run, or a copy, of a service that has been replaced by another run.
    #[n(10)]
    #[error(
        "another process serves node {node} from the same directory, or a copy of it; this one was replaced and must stop"
    )]
    Superseded {
        /// The node.
        #[n(0)]
        node: NodeId,
    },
    /// A request that makes no sense, with the reason.
    #[n(11)]
    #[error("{reason}")]
    Invalid {
        /// What is wrong and what is allowed.
        #[n(0)]
        reason: String,
    },
    /// No such node.
    #[n(12)]
    #[error("there is no node {node}")]
    NoNode {
        /// The id.
        #[n(0)]
        node: NodeId,
    },
    /// No such target.
    #[n(13)]
    #[error("there is no target {target}")]
    NoTarget {
        /// The id.
        #[n(0)]
        target: TargetId,
    },
    /// No such pool.
    #[n(14)]
    #[error("there is no storage pool {pool}")]
    NoPool {
        /// The id.
        #[n(0)]
        pool: PoolId,
    },
    /// What is to be removed or moved is in use.
    #[n(15)]
    #[error("{what} is in use: {why}")]
    InUse {
        /// Which node, target or pool.
        #[n(0)]
        what: String,
        /// By what, and what to do.
        #[n(1)]
        why: String,
    },
    /// All numbers or slots are given out.
    #[n(16)]
    #[error("no {what} left in this cluster")]
    Exhausted {
        /// What there is no more of.
        #[n(0)]
        what: String,
    },
    /// The transition table does not allow it.
    #[n(17)]
    #[error("a target that is {reachability:?} and {consistency:?} cannot change by {trigger:?}")]
    Transition {
        /// Its reachability.
        #[n(0)]
        reachability: Reachability,
        /// Its consistency.
        #[n(1)]
        consistency: Consistency,
        /// What was to happen to it.
        #[n(2)]
        trigger: Trigger,
    },
    /// A stored state or command that cannot be read.
    #[n(18)]
    #[error("stored cluster state: {reason}")]
    Damaged {
        /// What is wrong.
        #[n(0)]
        reason: String,
    },
    /// A stored state of a newer build.
    #[n(19)]
    #[error("stored cluster state has format {found}, this build reads up to {known}; use the newer build")]
    NewerFormat {
        /// Format of what is stored.
        #[n(0)]
        found: u16,
        /// Newest format that we know.
        #[n(1)]
        known: u16,
    },
    /// No such mirror group.
    #[n(20)]
    #[error("there is no mirror group {group}")]
    NoGroup {
        /// The id.
        #[n(0)]
        group: GroupId,
    },
    /// The sender's view of the group is old.
    #[n(21)]
    #[error("mirror group {group} is in epoch {current}, not {named}; fetch the map and look again")]
    WrongEpoch {
        /// The group.
        #[n(0)]
        group: GroupId,
        /// As named.
        #[n(1)]
        named: u32,
        /// As it is.
        #[n(2)]
        current: u32,
    },
    /// A directory of something that was removed or replaced.
    #[n(22)]
    #[error(
        "{what} was removed from the cluster, or replaced by another one; it never comes back: use an empty directory"
    )]
    WasRemoved {
        /// What.
        #[n(0)]
        what: String,
    },
    /// A new service has the address of a registered one.
    #[n(23)]
    #[error(
        "this service's directory is new, but its address belongs to node {node} ({alias}): is the disk with that one's \
         directory mounted? If it is lost for good: nyala node remove {node} --yes"
    )]
    AddressTaken {
        /// Who has it.
        #[n(0)]
        node: NodeId,
        /// Its alias.
        #[n(1)]
        alias: String,
    },
}

impl ClusterError {
    pub(crate) fn invalid(reason: impl Into<String>) -> ClusterError {
        ClusterError::Invalid { reason: reason.into() }
    }

    /// The code under which the error crosses the wire.
    pub fn code(&self) -> ErrorCode {
        use ClusterError::*;
        match self {
            NotInitialised => ErrorCode::NOT_READY,
            AlreadyInitialised { .. } | ForeignCluster { .. } => ErrorCode::FOREIGN,
            AliasTaken { .. } | TargetIdTaken { .. } | AddressTaken { .. } => ErrorCode::EXISTS,
            TargetServed { .. } | InUse { .. } => ErrorCode::DEVICE_BUSY,
            WrongEpoch { .. } => ErrorCode::WRONG_EPOCH,
            NoNode { .. } | NoTarget { .. } | NoPool { .. } | NoGroup { .. } => ErrorCode::NOT_FOUND,
            Superseded { .. } | WasRemoved { .. } => ErrorCode::NOT_PERMITTED,
            Exhausted { .. } => ErrorCode::NO_SPACE,
            Damaged { .. } | NewerFormat { .. } => ErrorCode::IO,
            BadAlias { .. }
            | TargetIdDiffers { .. }
            | TargetKindDiffers { .. }
            | RoleDiffers { .. }
            | Invalid { .. }
            | Transition { .. } => ErrorCode::INVALID,
        }
    }
}

impl From<ClusterError> for WireError {
    fn from(error: ClusterError) -> WireError {
        error.code().with(error.to_string())
    }
}
