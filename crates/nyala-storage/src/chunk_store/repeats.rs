// SPDX-License-Identifier: Apache-2.0

//! Changes that come twice: a client that hears no answer sends again, on another connection perhaps, and the first copy may lie in a
//! queue, a socket or a stalled connection for minutes. Done after a newer change it would bring old bytes back.
//!
//! **Failure model.** A change has a stamp, the same in every copy: client, slot, number ([`Stamp`]). A slot's numbers grow, and its next
//! one begins when nobody waits for the one before. So of each slot the largest number that was done says all: the same number
//! was done and is answered, a lower one is late and refused. What failed is not noted: it is done when it is sent again. All copies of a change name
//! one chunk file and so one worker, which does one thing at a time; nothing is shared, and nothing is allocated for
//! a slot that is known.
//!
//! This is in memory only. A copy that is under way belongs to a connection of this process, and ends with it. Of very
//! many clients the one that was silent for longest is forgotten; a copy of its that is still on its way would be done. A change that a client gave up,
//! without having it done, is late when the same worker has done a later one of that slot.

use super::error::ChunkError;
use super::worker::ChunkWorker;
use nyala_wire::SessionId;
use nyala_wire::storage::{MAX_STAMP_SLOTS, Stamp};
use std::collections::HashMap;

/// Clients that one worker remembers.
const MOST: usize = 4096;

/// By whom something is changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Author {
    /// For which session.
    pub session: SessionId,
    /// As which of the client's changes.
    pub stamp: Stamp,
}

impl Author {
    /// The target itself.
    pub const OWN: Author = Author { session: ChunkWorker::OWN, stamp: Stamp { client: 0, number: 0, slot: 0 } };
}

/// What clients had done.
#[derive(Default)]
pub(super) struct Repeats {
    clients: HashMap<u64, Slots>,
    uses: u64,
}

#[derive(Default)]
struct Slots {
    /// The largest number that was done, by slot.
    last: Vec<u64>,
    used: u64,
}

impl Repeats {
    /// Was that change done? Refuses one that is late.
    pub fn is_done(&self, stamp: Stamp) -> Result<bool, ChunkError> {
        if stamp.client == 0 {
            return Ok(false);
        }
        if stamp.slot >= MAX_STAMP_SLOTS {
            return Err(ChunkError::Invalid("a client has at most 1024 changes under way with one target"));
        }
        let last = self.clients.get(&stamp.client).and_then(|slots| slots.last.get(stamp.slot as usize));
        match last {
            Some(last) if *last > stamp.number => Err(ChunkError::Late),
            last => Ok(last == Some(&stamp.number)),
        }
    }

    /// It is done.
    pub fn done(&mut self, stamp: Stamp) {
        self.note(stamp, MOST);
    }

    fn note(&mut self, stamp: Stamp, most: usize) {
        if stamp.client == 0 || stamp.slot >= MAX_STAMP_SLOTS {
            return;
        }
        self.uses += 1;
        if self.clients.len() >= most && !self.clients.contains_key(&stamp.client) {
            let mut used: Vec<u64> = self.clients.values().map(|slots| slots.used).collect();
            let (_, middle, _) = used.select_nth_unstable(most / 2);
            let from = *middle;
            self.clients.retain(|_, slots| slots.used > from);
        }
        let slots = self.clients.entry(stamp.client).or_default();
        slots.used = self.uses;
        let slot = stamp.slot as usize;
        if slots.last.len() <= slot {
            slots.last.resize(slot + 1, 0);
        }
        slots.last[slot] = slots.last[slot].max(stamp.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(client: u64, slot: u32, number: u64) -> Stamp {
        Stamp { client, number, slot }
    }

    #[test]
    fn what_was_done_is_not_done_again_and_what_is_late_is_refused() {
        let mut repeats = Repeats::default();
        assert!(!repeats.is_done(stamp(1, 0, 1)).unwrap());
        repeats.done(stamp(1, 0, 1));
        assert!(repeats.is_done(stamp(1, 0, 1)).unwrap());
        assert!(!repeats.is_done(stamp(1, 0, 2)).unwrap() && !repeats.is_done(stamp(1, 1, 1)).unwrap());
        repeats.done(stamp(1, 0, 5));
        assert!(matches!(repeats.is_done(stamp(1, 0, 4)), Err(ChunkError::Late)));
        assert!(!repeats.is_done(stamp(2, 0, 4)).unwrap(), "another client's");
        repeats.done(stamp(0, 0, 5));
        assert!(!repeats.is_done(stamp(0, 0, 5)).unwrap(), "without a stamp");
        assert!(repeats.is_done(stamp(1, MAX_STAMP_SLOTS, 1)).is_err());
    }

    #[test]
    fn memory_is_bounded_and_the_newest_are_kept() {
        let mut repeats = Repeats::default();
        for client in 1..=1000 {
            repeats.note(stamp(client, 3, 1), 10);
            assert!(repeats.clients.len() <= 10);
        }
        assert!((996..=1000).all(|client| repeats.is_done(stamp(client, 3, 1)).unwrap()));
    }
}
