// SPDX-License-Identifier: Apache-2.0

//! What management is told of slots that move between metadata servers.

use crate::ids::{Slot, TargetId};
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// A slot that is to be served by another metadata server. Its rows are copied while it is in use; then, in one step, the other one serves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct SlotMove {
    /// The slot.
    #[n(0)]
    pub slot: Slot,
    /// The metadata server that serves it until the move is complete.
    #[n(1)]
    pub from: TargetId,
    /// The metadata server that serves it afterwards.
    #[n(2)]
    pub to: TargetId,
    /// Number of the present attempt to copy it, which no other attempt of any move has; that of the order before the first.
    #[n(3)]
    pub attempt: u64,
    /// The run of `from` that makes this attempt; 0 before the first.
    #[n(4)]
    pub run: u64,
}

/// How far a metadata server is with a slot that it gives away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum SlotStep {
    /// It begins to copy: the move gets a number that no attempt had before.
    #[n(0)]
    Begin {
        /// The slot.
        #[n(0)]
        slot: Slot,
        /// The attempt that is given up for it; refused if it is not the present one.
        #[n(1)]
        after: u64,
        /// The run of the server; one that was replaced by a later run is refused.
        #[n(2)]
        run: u64,
    },
    /// All of it is on the other server's disk, and it does not serve the slot any more.
    #[n(1)]
    Complete {
        /// The slot.
        #[n(0)]
        slot: Slot,
        /// The attempt; refused if it is not the present one.
        #[n(1)]
        attempt: u64,
    },
}

/// What an operator wants of slots (`docs/operating.md`).
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum SlotOrder {
    /// Slots are to be served by another metadata server.
    #[n(0)]
    Move {
        /// The slots.
        #[n(0)]
        slots: Vec<Slot>,
        /// The server.
        #[n(1)]
        to: TargetId,
    },
    /// Moves are given up; all of them if no slot is named.
    #[n(1)]
    Cancel {
        /// The slots.
        #[n(0)]
        slots: Vec<Slot>,
    },
    /// How management gives a metadata server that joins its share.
    #[n(2)]
    Automatic {
        /// These settings from now on.
        #[n(0)]
        rebalance: Rebalance,
    },
}

/// Slots that management is going to have moved by itself to a metadata server that joined, and has not yet.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct PlannedMoves {
    /// The server.
    #[n(0)]
    pub to: TargetId,
    /// The slots, in the order in which they go.
    #[n(1)]
    pub slots: Vec<Slot>,
}

/// How management gives a metadata server that joined its share of the name space.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Rebalance {
    /// It does so by itself.
    #[n(0)]
    pub automatic: bool,
    /// The server must have been good for so long, without anything on its way between servers, milliseconds.
    #[n(1)]
    pub settle_ms: u32,
    /// Slots on their way at once, beside which no other one is begun.
    #[n(2)]
    pub at_once: u16,
    /// Pause after a slot has arrived, milliseconds.
    #[n(3)]
    pub pause_ms: u32,
}

impl Default for Rebalance {
    fn default() -> Rebalance {
        Rebalance { automatic: true, settle_ms: 60_000, at_once: 1, pause_ms: 1000 }
    }
}
