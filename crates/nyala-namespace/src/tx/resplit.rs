// SPDX-License-Identifier: Apache-2.0

//! One step of splitting a directory, or of making it whole again, as a transaction that its server coordinates.
//!
//! The directory is locked while the step lasts, and so are the fragments concerned: a step is small. Its decision is on disk before
//! anybody uses them again, since what clients do next is done at the fragments as they are then.

use nyala_wire::fragments::Fragment;
use nyala_wire::meta_tx::TxPart;
use nyala_wire::{InodeId, Slot};

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Resplit {
    /// The directory.
    pub dir: InodeId,
    /// The fragments that it had when the step was decided upon; if there are others by now, nothing is done.
    pub before: Vec<Fragment>,
    /// What is done.
    pub step: Move,
}

impl Move {
    /// What is counted when it is done.
    pub fn name(&self) -> &'static str {
        match self {
            Move::Add(_) => "fragment.added",
            Move::Drop => "fragment.dropped",
            Move::Entries { .. } => "fragment.moved",
        }
    }
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// Another fragment, behind all others, in this slot of another server, without entries.
    Add(Slot),
    /// The last fragment goes, which has no entries.
    Drop,
    /// Entries go from one fragment to a neighbour.
    Entries {
        /// Which fragment's end moves.
        at: usize,
        /// Where it is then.
        upto: u64,
        /// The part of the fragment that they leave, and of the one that they come to.
        parts: Box<(TxPart, TxPart)>,
    },
}
