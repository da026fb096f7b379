// SPDX-License-Identifier: Apache-2.0

//! What commands change.

use crate::command::Thing;
use crate::states::TargetState;
use minicbor::{Decode, Encode};
use nyala_wire::access_rules::Network;
use nyala_wire::map::{CapacityPool, MemberState, SlotRange};
use nyala_wire::{ClusterId, GroupId, NodeId, PoolId, Slot, TargetId};
use serde::{Deserialize, Serialize};

/// What a command changed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The cluster exists.
    #[n(0)]
    Initialised(#[n(0)] ClusterId),
    /// A new node.
    #[n(1)]
    NodeAdded(#[n(0)] NodeId),
    /// A node has other addresses, another incarnation or other reachability.
    #[n(2)]
    NodeChanged(#[n(0)] NodeId),
    /// A node is gone.
    #[n(3)]
    NodeRemoved(#[n(0)] NodeId),
    /// A new target.
    #[n(4)]
    TargetAdded(#[n(0)] TargetId),
    /// Another node serves the target now.
    #[n(5)]
    TargetMoved(#[n(0)] TargetId, #[n(1)] NodeId),
    /// A target is gone.
    #[n(6)]
    TargetRemoved(#[n(0)] TargetId),
    /// A target's state changed.
    #[n(7)]
    TargetState(#[n(0)] TargetId, #[n(1)] TargetState),
    /// A target's capacity pool changed.
    #[n(8)]
    TargetCapacity(#[n(0)] TargetId, #[n(1)] CapacityPool),
    /// A target is in another storage pool.
    #[n(9)]
    TargetPool(#[n(0)] TargetId, #[n(1)] PoolId),
    /// A metadata target got slots.
    #[n(10)]
    SlotsAssigned(#[n(0)] SlotRange),
    /// The settings changed.
    #[n(11)]
    SettingsChanged,
    /// The limits of the capacity pools changed.
    #[n(12)]
    LimitsChanged,
    /// A new alias.
    #[n(13)]
    Renamed(#[n(0)] Thing),
    /// A new storage pool.
    #[n(14)]
    PoolCreated(#[n(0)] PoolId),
    /// A storage pool is gone.
    #[n(15)]
    PoolRemoved(#[n(0)] PoolId),
    /// A new mirror group.
    #[n(16)]
    GroupCreated(#[n(0)] GroupId),
    /// A mirror group is gone.
    #[n(17)]
    GroupRemoved(#[n(0)] GroupId),
    /// A mirror group has another epoch (given), or another fencing list.
    #[n(18)]
    GroupChanged(#[n(0)] GroupId, #[n(1)] u32),
    /// A member of a group has another state.
    #[n(19)]
    MemberState(#[n(0)] GroupId, #[n(1)] TargetId, #[n(2)] MemberState),
    /// A group has another primary on an operator's wish.
    #[n(20)]
    PrimaryChanged(#[n(0)] GroupId, #[n(1)] TargetId),
    /// A metadata target got a range of inode sequence numbers.
    #[n(21)]
    RangeHandedOut(#[n(0)] TargetId, #[n(1)] u32),
    /// A slot is on its way to another metadata server, or another attempt to copy it has begun.
    #[n(22)]
    SlotMoves(#[n(0)] Slot),
    /// The move of a slot was given up.
    #[n(23)]
    SlotStays(#[n(0)] Slot),
    /// What is planned for a metadata server changed.
    #[n(24)]
    MovesPlanned(#[n(0)] TargetId),
    /// Clients of a key are held to something else.
    #[n(25)]
    KeyRuleChanged(#[n(0)] String),
    /// An order has this number.
    #[n(26)]
    OrderNoted(#[n(0)] u64),
    /// It is known what came of an order.
    #[n(27)]
    OrderEnded(#[n(0)] u64),
    /// Clients of this key, or of any (`*`), from a network or anywhere, are held to something else.
    #[n(28)]
    AccessRuleChanged(#[n(0)] String, #[n(1)] Option<Network>),
    /// A target's disk fails, or another target is to take its place, or it does not fail any more.
    #[n(29)]
    TargetFails(#[n(0)] TargetId, #[n(1)] bool),
}
