// SPDX-License-Identifier: Apache-2.0

//! The table of member states (`docs/replication.md`, "Members").

use nyala_wire::map::MemberState;
use nyala_wire::map::MemberState::{Bad, Good, NeedsResync, Resyncing};

/// What can happen to a member of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberTrigger {
    /// Its run ended (lease over, process dead or replaced), and another good member goes on without it.
    Ended,
    /// The same, and there is no other good member: only this one has everything.
    EndedLast,
    /// The primary got no answer from it, or an operator wants it resynced; another good member goes on.
    Marked,
    /// The primary begins to bring it up to date.
    ResyncStarted,
    /// The primary says that it has everything, on disk.
    Resynced,
    /// Another run of a primary took office: what the old one had begun with this member is void.
    NewTerm,
    /// An operator or a check says that the content is lost or wrong.
    DeclaredBad,
    /// An operator gives the explicit word that the content is to be taken, with no other good member in reach.
    DeclaredGood,
    /// Another member was declared good while this one, good too, was out of reach.
    Overruled,
}

/// All triggers, in the order of the table's columns.
pub const MEMBER_TRIGGERS: [MemberTrigger; 9] = [
    MemberTrigger::Ended,
    MemberTrigger::EndedLast,
    MemberTrigger::Marked,
    MemberTrigger::ResyncStarted,
    MemberTrigger::Resynced,
    MemberTrigger::NewTerm,
    MemberTrigger::DeclaredBad,
    MemberTrigger::DeclaredGood,
    MemberTrigger::Overruled,
];

const NO: Option<MemberState> = None;
const G: Option<MemberState> = Some(Good);
const N: Option<MemberState> = Some(NeedsResync);
const R: Option<MemberState> = Some(Resyncing);
const B: Option<MemberState> = Some(Bad);

#[rustfmt::skip]
const TABLE: [(MemberState, [Option<MemberState>; 9]); 4] = [
    //             Ended EndedLast Marked Started Resynced NewTerm DeclBad DeclGood Overruled
    (Good,        [N,    G,        N,     NO,     G,       G,       B,      G,       N]),
    (NeedsResync, [N,    N,        N,     R,      NO,      N,       B,      G,       N]),
    (Resyncing,   [N,    N,        N,     R,      G,       N,       B,      G,       N]),
    (Bad,         [B,    B,        N,     NO,     NO,      B,       B,      G,       B]),
];

/// The state after `trigger`, or `None` if that cannot happen.
pub fn next(from: MemberState, trigger: MemberTrigger) -> Option<MemberState> {
    TABLE[from as usize].1[trigger as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_are_where_next_looks_for_them() {
        for (at, (from, _)) in TABLE.iter().enumerate() {
            assert_eq!(at, *from as usize);
        }
        for (at, trigger) in MEMBER_TRIGGERS.iter().enumerate() {
            assert_eq!(at, *trigger as usize);
        }
    }

    /// The rules in words, written a second time and independently, against all 36 cells.
    #[test]
    fn every_transition_follows_the_rules() {
        for from in [Good, NeedsResync, Resyncing, Bad] {
            for trigger in MEMBER_TRIGGERS {
                let expected = match (trigger, from) {
                    // An operator's word is always taken.
                    (MemberTrigger::DeclaredBad, _) => Some(Bad),
                    (MemberTrigger::DeclaredGood, _) => Some(Good),
                    // Bad is left by an operator only: by the word above, or by wanting a resync.
                    (MemberTrigger::Marked, _) => Some(NeedsResync),
                    (MemberTrigger::ResyncStarted | MemberTrigger::Resynced, Bad) => None,
                    (_, Bad) => Some(Bad),
                    // The last good one stays good, and no new term takes that from anybody.
                    (MemberTrigger::EndedLast | MemberTrigger::NewTerm, Good) => Some(Good),
                    (MemberTrigger::ResyncStarted, Good) => None,
                    (MemberTrigger::ResyncStarted, _) => Some(Resyncing),
                    // Only a resync that runs can end.
                    (MemberTrigger::Resynced, NeedsResync) => None,
                    (MemberTrigger::Resynced, _) => Some(Good),
                    (_, _) => Some(NeedsResync),
                };
                assert_eq!(next(from, trigger), expected, "{from:?} {trigger:?}");
            }
        }
    }
}
