// SPDX-License-Identifier: Apache-2.0

//! What operators order about mirror groups, targets, nodes and storage pools.

use crate::ids::{GroupId, NodeId, TargetId};
use crate::map::{Consistency, TargetKind};
use crate::pool_orders::PoolOrder;
use minicbor::{Decode, Encode};

/// What an operator wants of mirror groups (`docs/replication.md`).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum GroupOrder {
    /// A group of these targets.
    #[n(0)]
    Create {
        /// Its id; 0 for the next one.
        #[n(0)]
        group: GroupId,
        /// What its members hold.
        #[n(1)]
        kind: TargetKind,
        /// Its members, the primary first.
        #[n(2)]
        members: Vec<TargetId>,
    },
    /// Groups of all targets that are in none: members on different nodes and of about the same size.
    #[n(1)]
    CreateAll {
        /// What the members hold.
        #[n(0)]
        kind: TargetKind,
        /// Members of each group, 2 to 4.
        #[n(1)]
        members: u8,
        /// Sizes may differ.
        #[n(2)]
        ignore_space: bool,
        /// Targets for which no partner is left may stay as they are.
        #[n(3)]
        ignore_uneven: bool,
    },
    /// A group goes.
    #[n(2)]
    Remove {
        /// The group.
        #[n(0)]
        group: GroupId,
        /// The operator's word that no file has data there (any more), or that the data is given up.
        #[n(1)]
        content_gone: bool,
    },
    /// Stop resync in a group, or let it go on.
    #[n(3)]
    StopResync {
        /// The group.
        #[n(0)]
        group: GroupId,
        /// Stopped.
        #[n(1)]
        stopped: bool,
    },
    /// Another good member becomes primary.
    #[n(4)]
    Switch {
        /// The group.
        #[n(0)]
        group: GroupId,
        /// The member.
        #[n(1)]
        target: TargetId,
    },
    /// The operator's word on a target's content, whether it is in a group or not.
    #[n(5)]
    Declare {
        /// The target.
        #[n(0)]
        target: TargetId,
        /// What it is from now on.
        #[n(1)]
        consistency: Consistency,
    },
    /// A target becomes a member of a group, and gets everything.
    #[n(6)]
    AddMember {
        /// The group.
        #[n(0)]
        group: GroupId,
        /// A target without content.
        #[n(1)]
        target: TargetId,
    },
    /// A member that is not good leaves its group.
    #[n(7)]
    RemoveMember {
        /// The group.
        #[n(0)]
        group: GroupId,
        /// The member.
        #[n(1)]
        target: TargetId,
    },
    /// A target goes, for good: its id is never given again.
    #[n(8)]
    RemoveTarget {
        /// The target; offline, in no group.
        #[n(0)]
        target: TargetId,
        /// The operator's word that no file has data there (any more), or that the data is given up.
        #[n(1)]
        content_gone: bool,
    },
    /// A metadata or storage node goes, for good.
    #[n(9)]
    RemoveNode {
        /// The node; offline, without targets.
        #[n(0)]
        node: NodeId,
    },
    /// About aliases and storage pools.
    #[n(10)]
    Pools(#[n(0)] PoolOrder),
}
