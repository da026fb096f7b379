// SPDX-License-Identifier: Apache-2.0

//! What a member may do, and the one table of how that changes (`docs/replication.md`, "Roles").

use nyala_wire::TargetId;
use nyala_wire::map::{Group, MemberState};

/// What a member is, in its own eyes: what the newest map that it has seen says, and whether it has done its first duty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberRole {
    /// It has seen no map yet: does nothing.
    Unknown,
    /// Not up to date, or no member: takes nothing, serves nothing.
    Away,
    /// Being brought up to date: takes changes, serves nothing.
    Resyncing,
    /// Good, not primary: takes changes, serves reads.
    Secondary,
    /// Primary of a new term: brings what was in flight to agreement first; serves nothing yet.
    Recovering,
    /// Primary: orders changes, serves everything.
    Primary,
}

/// What can happen to a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The map says needs-resync or bad, or does not have it in the group.
    MapAway,
    /// The map says resyncing.
    MapResyncing,
    /// The map says good and names another primary.
    MapGood,
    /// The map names it primary, in a term that it has not seen.
    MapNewTerm,
    /// The map names it primary, in the term that it is in.
    MapSameTerm,
    /// What was in flight is agreed on.
    Agreed,
}

/// All causes, in the order of the table's columns.
pub const CAUSES: [Cause; 6] =
    [Cause::MapAway, Cause::MapResyncing, Cause::MapGood, Cause::MapNewTerm, Cause::MapSameTerm, Cause::Agreed];

const NO: Option<MemberRole> = None;
const A: Option<MemberRole> = Some(MemberRole::Away);
const R: Option<MemberRole> = Some(MemberRole::Resyncing);
const S: Option<MemberRole> = Some(MemberRole::Secondary);
const V: Option<MemberRole> = Some(MemberRole::Recovering);
const P: Option<MemberRole> = Some(MemberRole::Primary);

#[rustfmt::skip]
const TABLE: [(MemberRole, [Option<MemberRole>; 6]); 6] = [
    //                    Away Resyncing Good NewTerm SameTerm Agreed
    (MemberRole::Unknown,   [A,  R,        S,   V,       NO,       NO]),
    (MemberRole::Away,      [A,  R,        S,   V,       NO,       NO]),
    (MemberRole::Resyncing, [A,  R,        S,   V,       NO,       NO]),
    (MemberRole::Secondary, [A,  R,        S,   V,       NO,       NO]),
    (MemberRole::Recovering,    [A,  R,        S,   V,       V,        P]),
    (MemberRole::Primary,   [A,  R,        S,   V,       P,        NO]),
];

/// The role after `cause`, or `None` if that cannot happen.
pub fn next(from: MemberRole, cause: Cause) -> Option<MemberRole> {
    TABLE[from as usize].1[cause as usize]
}

/// What a map means for member `me`, which is `from` in term `term` now.
pub fn cause(from: MemberRole, term: u32, me: TargetId, group: &Group) -> Cause {
    let is_primary = matches!(from, MemberRole::Recovering | MemberRole::Primary);
    match group.state(me) {
        None | Some(MemberState::NeedsResync | MemberState::Bad) => Cause::MapAway,
        Some(MemberState::Resyncing) => Cause::MapResyncing,
        Some(MemberState::Good) if group.primary() != Some(me) => Cause::MapGood,
        Some(MemberState::Good) if is_primary && group.term == term => Cause::MapSameTerm,
        Some(MemberState::Good) => Cause::MapNewTerm,
    }
}

#[cfg(test)]
mod tests {
    use super::MemberRole::*;
    use super::*;
    use nyala_wire::GroupId;
    use nyala_wire::map::TargetKind;

    #[test]
    fn rows_and_columns_are_where_next_looks_for_them() {
        for (at, (from, _)) in TABLE.iter().enumerate() {
            assert_eq!(at, *from as usize);
        }
        for (at, cause) in CAUSES.iter().enumerate() {
            assert_eq!(at, *cause as usize);
        }
    }

    /// The rules in words, written a second time and independently, against all 36 cells.
    #[test]
    fn every_transition_follows_the_rules() {
        for from in [Unknown, Away, Resyncing, Secondary, Recovering, Primary] {
            for cause in CAUSES {
                let primary = matches!(from, Recovering | Primary);
                let expected = match cause {
                    // Maps may be skipped, so any of them may follow any role …
                    Cause::MapAway => Some(Away),
                    Cause::MapResyncing => Some(Resyncing),
                    Cause::MapGood => Some(Secondary),
                    // … and nobody leads a new term before it has done its first duty.
                    Cause::MapNewTerm => Some(Recovering),
                    Cause::MapSameTerm => primary.then_some(from),
                    Cause::Agreed => (from == Recovering).then_some(Primary),
                };
                assert_eq!(next(from, cause), expected, "{from:?} {cause:?}");
            }
        }
    }

    #[test]
    fn maps_are_read() {
        let me = TargetId(1);
        let mut group = Group {
            id: GroupId(1),
            kind: TargetKind::Storage,
            epoch: 5,
            members: vec![me, TargetId(2)],
            states: vec![MemberState::Good; 2],
            term: 4,
            since: Default::default(),
            fencing: vec![],
            resync_stopped: false,
            losses: 0,
            serves: None,
            full: Vec::new(),
        };
        assert_eq!(cause(Primary, 4, me, &group), Cause::MapSameTerm);
        assert_eq!(cause(Primary, 3, me, &group), Cause::MapNewTerm, "deposed and back without having seen it");
        assert_eq!(cause(Secondary, 4, me, &group), Cause::MapNewTerm);
        assert_eq!(cause(Secondary, 4, TargetId(9), &group), Cause::MapAway, "no member");
        group.members.swap(0, 1);
        assert_eq!(cause(Primary, 4, me, &group), Cause::MapGood);
        for (state, expected) in [
            (MemberState::NeedsResync, Cause::MapAway),
            (MemberState::Bad, Cause::MapAway),
            (MemberState::Resyncing, Cause::MapResyncing),
        ] {
            group.states[1] = state;
            assert_eq!(cause(Primary, 4, me, &group), expected);
        }
    }
}
