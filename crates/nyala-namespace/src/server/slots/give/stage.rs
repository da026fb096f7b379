// SPDX-License-Identifier: Apache-2.0

//! The stages of an attempt.

use super::release::Release;
use crate::server::io::Ticket;
use crate::server::waits::Wait;
use nyala_wire::WireError;
use nyala_wire::map::SlotMove;
use std::collections::BTreeSet;

/// What happens now.
#[derive(Debug)]
pub enum Stage {
    /// All rows in turn.
    Scanning,
    /// What has changed meanwhile; how often.
    CatchingUp(u32),
    /// Nothing begins; until when.
    Closed(u64, Release),
    /// Nobody uses it: keys of rows that are still to be sent.
    Sealed(BTreeSet<Vec<u8>>),
    /// All is sent; this server's own log has to be on disk as well.
    Syncing(Ticket),
}

impl Stage {
    /// Whether clients wait for the end of it.
    pub fn is_sealed(&self) -> bool {
        matches!(self, Stage::Sealed(_) | Stage::Syncing(_))
    }
}

/// How far it is.
pub enum Turn {
    /// It goes on later.
    Wait(Wait),
    /// Nothing is left to be sent, and nobody uses the slot.
    Complete(SlotMove),
    /// It has to begin again, if at all.
    Failed(WireError),
}
