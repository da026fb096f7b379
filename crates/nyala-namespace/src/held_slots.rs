// SPDX-License-Identifier: Apache-2.0

//! In which slots each session holds delegations. Pure.
//!
//! Delegations are in memory only, and too many to be logged one by one. Which slots a session holds any in is in the tables, so that a
//! primary that takes over from another one knows whose work a silent client can be in the way of: a directory's files are in its slot.
//! Directories that all use (`/home`) are only read by most, who are in the way of nobody who reads: so a row says which of the two it is.
//!
//! **Failure model.** A row may say more than there is: it goes a while after the last delegation in its slot, and it may be found by a
//! later run. It must never say less: it is written before a reply tells of the first delegation in a slot ([`HeldSlots::take_new`]).

use crate::need::Need;
use nyala_wire::meta::DelegationMode;
use nyala_wire::{SessionId, Slot};
use std::collections::{BTreeMap, HashMap};

/// A session, and a slot that it holds something in.
pub type Held = (SessionId, Slot);

#[derive(Debug, Default)]
struct Mark {
    /// Delegations in the slot.
    count: u32,
    /// One of them is, or was, for more than reading.
    writes: bool,
    /// It is in the queue of those that hold nothing.
    queued: bool,
    /// It held nothing at the last look.
    idle: bool,
}

/// What of it is in the tables.
#[derive(Debug, Default)]
pub struct HeldSlots {
    marks: BTreeMap<Held, Mark>,
    /// Rows of earlier runs whose sessions have not said yet what they hold.
    unconfirmed: HashMap<SessionId, Vec<Slot>>,
    /// Not in the tables yet.
    new: Vec<(Held, bool)>,
    /// Those that hold nothing any more, and perhaps some that do again.
    empty: Vec<Held>,
}

impl HeldSlots {
    /// A row that an earlier run left. `unconfirmed`: its session has not said yet what it holds; until it does, that counts as one.
    pub fn found(&mut self, (session, slot): Held, writes: bool, unconfirmed: bool) {
        self.marks.insert((session, slot), Mark { count: 1, writes, ..Mark::default() });
        match unconfirmed {
            true => self.unconfirmed.entry(session).or_default().push(slot),
            false => self.remove(session, slot),
        }
    }

    /// A session of an earlier run has said what it holds, or has ended.
    pub fn confirmed(&mut self, session: SessionId) {
        for slot in self.unconfirmed.remove(&session).unwrap_or_default() {
            self.remove(session, slot);
        }
    }

    /// A session is given one more.
    pub fn add(&mut self, session: SessionId, slot: Slot, mode: DelegationMode) {
        let new = &mut self.new;
        let mark = self.marks.entry((session, slot)).or_insert_with(|| {
            new.push(((session, slot), false));
            Mark::default()
        });
        mark.count += 1;
        mark.idle = false;
        if mode > DelegationMode::Shared && !mark.writes {
            mark.writes = true;
            new.push(((session, slot), true));
        }
    }

    /// One that it has is, from now on, for more than reading.
    pub fn raise(&mut self, session: SessionId, slot: Slot, mode: DelegationMode) {
        if let Some(mark) = self.marks.get_mut(&(session, slot)).filter(|mark| !mark.writes)
            && mode > DelegationMode::Shared
        {
            mark.writes = true;
            self.new.push(((session, slot), true));
        }
    }

    /// It has one less.
    pub fn remove(&mut self, session: SessionId, slot: Slot) {
        let Some(mark) = self.marks.get_mut(&(session, slot)) else { return };
        mark.count = mark.count.saturating_sub(1);
        if mark.count == 0 && !mark.queued {
            mark.queued = true;
            self.empty.push((session, slot));
        }
    }

    /// What has to be in the tables before anybody is told; with `true` that it is for more than reading. Later ones replace earlier ones.
    pub fn take_new(&mut self) -> Vec<(Held, bool)> {
        std::mem::take(&mut self.new)
    }

    /// It could not be written, and nothing is held there.
    pub fn not_written(&mut self, held: Held) {
        self.marks.remove(&held);
    }

    /// That it is for more than reading could not be written, and its session is not told so.
    pub fn not_raised(&mut self, held: Held) {
        self.marks.entry(held).and_modify(|mark| mark.writes = false);
    }

    /// At most so many rows that may go: nothing was held there since the last call but one.
    pub fn take_idle(&mut self, most: usize) -> Vec<Held> {
        let mut idle = Vec::new();
        for held in std::mem::take(&mut self.empty) {
            match self.marks.get_mut(&held) {
                Some(mark) if mark.count > 0 => mark.queued = false,
                Some(mark) if mark.idle && idle.len() < most => {
                    self.marks.remove(&held);
                    idle.push(held);
                }
                Some(mark) => {
                    mark.idle = true;
                    self.empty.push(held);
                }
                None => {}
            }
        }
        idle
    }
}

/// What a session of an earlier run may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MayHold {
    /// Whatever there is.
    Anything,
    /// Only what is in these slots, in those with `true` for more than reading.
    In(HashMap<Slot, bool>),
}

impl MayHold {
    /// Whether that can be in the way of something in this slot.
    pub fn hinders(&self, slot: Slot, need: Need) -> bool {
        match self {
            MayHold::Anything => true,
            MayHold::In(slots) => slots.get(&slot).is_some_and(|writes| *writes || !need.only_reads()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Held = (SessionId(1), Slot(7));
    const B: Held = (SessionId(1), Slot(8));

    #[test]
    fn a_row_is_written_with_the_first_and_goes_a_while_after_the_last() {
        let mut held = HeldSlots::default();
        held.add(A.0, A.1, DelegationMode::Shared);
        held.add(A.0, A.1, DelegationMode::Shared);
        held.add(B.0, B.1, DelegationMode::Shared);
        assert_eq!(held.take_new(), [(A, false), (B, false)]);
        held.remove(A.0, A.1);
        assert!(held.take_idle(9).is_empty() && held.take_idle(9).is_empty(), "it still holds one");
        held.remove(A.0, A.1);
        assert!(held.take_idle(9).is_empty(), "it may hold something again in a moment");
        assert_eq!(held.take_idle(9), [A]);
        held.add(A.0, A.1, DelegationMode::Shared);
        assert_eq!(held.take_new(), [(A, false)], "the row had gone");
    }

    #[test]
    fn who_only_reads_is_in_the_way_of_nobody_who_does_and_the_row_says_when_that_is_over() {
        let mut held = HeldSlots::default();
        held.add(A.0, A.1, DelegationMode::Shared);
        assert_eq!(held.take_new(), [(A, false)]);
        held.raise(A.0, A.1, DelegationMode::Shared);
        assert!(held.take_new().is_empty());
        held.raise(A.0, A.1, DelegationMode::Exclusive);
        held.add(A.0, A.1, DelegationMode::Uncached);
        assert_eq!(held.take_new(), [(A, true)], "once");
        let may = |writes| MayHold::In(HashMap::from([(A.1, writes)]));
        assert!(may(true).hinders(A.1, Need::Read) && !may(false).hinders(A.1, Need::Read));
        assert!(may(false).hinders(A.1, Need::Change) && !may(true).hinders(B.1, Need::Remove));
    }

    #[test]
    fn what_is_held_again_stays() {
        let mut held = HeldSlots::default();
        held.add(A.0, A.1, DelegationMode::Shared);
        held.take_new();
        held.remove(A.0, A.1);
        held.take_idle(9);
        held.add(A.0, A.1, DelegationMode::Shared);
        assert!(held.take_new().is_empty(), "the row is there");
        assert!(held.take_idle(9).is_empty() && held.take_idle(9).is_empty());
        held.remove(A.0, A.1);
        held.take_idle(9);
        assert_eq!(held.take_idle(9), [A]);
    }

    #[test]
    fn rows_of_earlier_runs_go_too_some_at_a_time() {
        let mut held = HeldSlots::default();
        (0..4).for_each(|slot| held.found((SessionId(3), Slot(slot)), false, false));
        held.found((SessionId(4), Slot(0)), true, true);
        (0..5).for_each(|_| assert!(held.take_idle(0).is_empty(), "its session may hold something there"));
        held.confirmed(SessionId(4));
        assert_eq!([held.take_idle(2).len(), held.take_idle(2).len(), held.take_idle(2).len()], [2, 2, 1]);
        assert!(held.marks.is_empty() && held.empty.is_empty());
    }
}
