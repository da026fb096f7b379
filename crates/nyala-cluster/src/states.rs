// SPDX-License-Identifier: Apache-2.0

//! Target states: reachability × consistency, and the one table of transitions between them.
//!
//! Reachability follows the node that serves the target; consistency is about the content and outlives every outage.
//! No trigger changes both: an outage alone never makes content bad, and a resync alone never makes a target reachable.

use crate::error::ClusterError;
pub use crate::trigger::Trigger;
use minicbor::{Decode, Encode};
use nyala_wire::map::{Consistency, Reachability};
use serde::{Deserialize, Serialize};

/// Both halves of a target's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode, Serialize, Deserialize)]
pub struct TargetState {
    /// Whether management hears from it.
    #[n(0)]
    pub reachability: Reachability,
    /// Whether its content is what it should be.
    #[n(1)]
    pub consistency: Consistency,
}

/// All triggers, in the order of the table's columns.
pub const TRIGGERS: [Trigger; 8] = [
    Trigger::Heard,
    Trigger::Late,
    Trigger::Lost,
    Trigger::MissedChanges,
    Trigger::Resynced,
    Trigger::DeclaredBad,
    Trigger::DeclaredStale,
    Trigger::DeclaredGood,
];

const fn state(reachability: Reachability, consistency: Consistency) -> TargetState {
    TargetState { reachability, consistency }
}

const ON_GOOD: TargetState = state(Reachability::Online, Consistency::Good);
const ON_SYNC: TargetState = state(Reachability::Online, Consistency::NeedsResync);
const ON_BAD: TargetState = state(Reachability::Online, Consistency::Bad);
const PO_GOOD: TargetState = state(Reachability::ProbablyOffline, Consistency::Good);
const PO_SYNC: TargetState = state(Reachability::ProbablyOffline, Consistency::NeedsResync);
const PO_BAD: TargetState = state(Reachability::ProbablyOffline, Consistency::Bad);
const OFF_GOOD: TargetState = state(Reachability::Offline, Consistency::Good);
const OFF_SYNC: TargetState = state(Reachability::Offline, Consistency::NeedsResync);
const OFF_BAD: TargetState = state(Reachability::Offline, Consistency::Bad);
const NO: Option<TargetState> = None;

type Row = (TargetState, [Option<TargetState>; 8]);

/// The table. `NO` is refused: a target that cannot be reached was not resynced, a bad one is not made good by a
/// resync that began before it was declared bad, and what is offline is first heard again before it is late.
#[rustfmt::skip]
pub const TABLE: [Row; 9] = [
    //  from        Heard          Late           Lost            MissedChanges   Resynced       DeclaredBad     DeclaredStale   DeclaredGood
    (ON_GOOD,  [Some(ON_GOOD), Some(PO_GOOD), Some(OFF_GOOD), Some(ON_SYNC),  Some(ON_GOOD), Some(ON_BAD),  Some(ON_SYNC),  Some(ON_GOOD)]),
    (ON_SYNC,  [Some(ON_SYNC), Some(PO_SYNC), Some(OFF_SYNC), Some(ON_SYNC),  Some(ON_GOOD), Some(ON_BAD),  Some(ON_SYNC),  Some(ON_GOOD)]),
    (ON_BAD,   [Some(ON_BAD),  Some(PO_BAD),  Some(OFF_BAD),  Some(ON_BAD),   NO,            Some(ON_BAD),  Some(ON_SYNC),  Some(ON_GOOD)]),
    (PO_GOOD,  [Some(ON_GOOD), Some(PO_GOOD), Some(OFF_GOOD), Some(PO_SYNC),  Some(PO_GOOD), Some(PO_BAD),  Some(PO_SYNC),  Some(PO_GOOD)]),
    (PO_SYNC,  [Some(ON_SYNC), Some(PO_SYNC), Some(OFF_SYNC), Some(PO_SYNC),  Some(PO_GOOD), Some(PO_BAD),  Some(PO_SYNC),  Some(PO_GOOD)]),
    (PO_BAD,   [Some(ON_BAD),  Some(PO_BAD),  Some(OFF_BAD),  Some(PO_BAD),   NO,            Some(PO_BAD),  Some(PO_SYNC),  Some(PO_GOOD)]),
    (OFF_GOOD, [Some(ON_GOOD), NO,            Some(OFF_GOOD), Some(OFF_SYNC), NO,            Some(OFF_BAD), Some(OFF_SYNC), Some(OFF_GOOD)]),
    (OFF_SYNC, [Some(ON_SYNC), NO,            Some(OFF_SYNC), Some(OFF_SYNC), NO,            Some(OFF_BAD), Some(OFF_SYNC), Some(OFF_GOOD)]),
    (OFF_BAD,  [Some(ON_BAD),  NO,            Some(OFF_BAD),  Some(OFF_BAD),  NO,            Some(OFF_BAD), Some(OFF_SYNC), Some(OFF_GOOD)]),
];

/// The state after `trigger`, or why there is none.
pub fn next(from: TargetState, trigger: Trigger) -> Result<TargetState, ClusterError> {
    let row = from.reachability as usize * 3 + from.consistency as usize;
    let TargetState { reachability, consistency } = from;
    TABLE[row].1[trigger as usize].ok_or(ClusterError::Transition { reachability, consistency, trigger })
}

/// The trigger that brings a node's targets to `reachability`.
pub fn trigger_for(reachability: Reachability) -> Trigger {
    match reachability {
        Reachability::Online => Trigger::Heard,
        Reachability::ProbablyOffline => Trigger::Late,
        Reachability::Offline => Trigger::Lost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Consistency::*;
    use Reachability::*;

    #[test]
    fn rows_and_columns_are_where_next_looks_for_them() {
        for (at, (from, _)) in TABLE.iter().enumerate() {
            assert_eq!(at, from.reachability as usize * 3 + from.consistency as usize);
        }
        for (at, trigger) in TRIGGERS.iter().enumerate() {
            assert_eq!(at, *trigger as usize);
        }
    }

    /// The rules in words, written a second time and independently, against all 72 cells.
    #[test]
    fn every_transition_follows_the_rules() {
        for reachability in [Online, ProbablyOffline, Offline] {
            for consistency in [Good, NeedsResync, Bad] {
                for trigger in TRIGGERS {
                    let to = |r, c| Some(TargetState { reachability: r, consistency: c });
                    let expected = match trigger {
                        Trigger::Heard => to(Online, consistency),
                        Trigger::Late if reachability == Offline => None,
                        Trigger::Late => to(ProbablyOffline, consistency),
                        Trigger::Lost => to(Offline, consistency),
                        Trigger::MissedChanges if consistency == Bad => to(reachability, Bad),
                        Trigger::MissedChanges | Trigger::DeclaredStale => to(reachability, NeedsResync),
                        Trigger::Resynced if reachability == Offline || consistency == Bad => None,
                        Trigger::Resynced | Trigger::DeclaredGood => to(reachability, Good),
                        Trigger::DeclaredBad => to(reachability, Bad),
                    };
                    let from = TargetState { reachability, consistency };
                    let got = next(from, trigger);
                    let refusal = ClusterError::Transition { reachability, consistency, trigger };
                    assert_eq!(got, expected.ok_or(refusal), "{from:?} {trigger:?}");
                }
            }
        }
    }
}
