// SPDX-License-Identifier: Apache-2.0

//! What a member may do, and the one table of how that changes (`docs/replication.md`, "Standings").

use nyala_wire::TargetId;
use nyala_wire::map::{Group, MemberState};

/// What a member is, in its own eyes: what the newest map that it has seen says, and whether it has done its first duty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It has seen no map yet: does nothing.
    Unknown,
    /// Not up to date, or no member: takes nothing, serves nothing.
    Away,
    /// Being brought up to date: takes changes, serves nothing.
    Resyncing,
    /// Good, not primary: takes changes, serves reads.
    Following,
    /// Primary of a new reign: brings what was in flight to agreement first; serves nothing yet.
    Taking,
    /// Primary: orders changes, serves everything.
    Leading,
}

/// What can happen to a standing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The map says needs-resync or bad, or does not have it in the group.
    MapAway,
    /// The map says resyncing.
    MapResyncing,
    /// The map says good and names another primary.
    MapGood,
    /// The map names it primary, in a reign that it has not seen.
    MapNewReign,
    /// The map names it primary, in the reign that it is in.
    MapSameReign,
    /// What was in flight is agreed on.
    Agreed,
}

/// All causes, in the order of the table's columns.
pub const CAUSES: [Cause; 6] =
    [Cause::MapAway, Cause::MapResyncing, Cause::MapGood, Cause::MapNewReign, Cause::MapSameReign, Cause::Agreed];

const NO: Option<Standing> = None;
const A: Option<Standing> = Some(Standing::Away);
const R: Option<Standing> = Some(Standing::Resyncing);
const F: Option<Standing> = Some(Standing::Following);
const T: Option<Standing> = Some(Standing::Taking);
const L: Option<Standing> = Some(Standing::Leading);

#[rustfmt::skip]
const TABLE: [(Standing, [Option<Standing>; 6]); 6] = [
    //                    Away Resyncing Good NewReign SameReign Agreed
    (Standing::Unknown,   [A,  R,        F,   T,       NO,       NO]),
    (Standing::Away,      [A,  R,        F,   T,       NO,       NO]),
    (Standing::Resyncing, [A,  R,        F,   T,       NO,       NO]),
    (Standing::Following, [A,  R,        F,   T,       NO,       NO]),
    (Standing::Taking,    [A,  R,        F,   T,       T,        L]),
    (Standing::Leading,   [A,  R,        F,   T,       L,        NO]),
];

/// The standing after `cause`, or `None` if that cannot happen.
pub fn next(from: Standing, cause: Cause) -> Option<Standing> {
    TABLE[from as usize].1[cause as usize]
}

/// What a map means for member `me`, which is `from` in reign `reign` now.
pub fn cause(from: Standing, reign: u32, me: TargetId, group: &Group) -> Cause {
    let in_office = matches!(from, Standing::Taking | Standing::Leading);
    match group.state(me) {
        None | Some(MemberState::NeedsResync | MemberState::Bad) => Cause::MapAway,
        Some(MemberState::Resyncing) => Cause::MapResyncing,
        Some(MemberState::Good) if group.primary() != Some(me) => Cause::MapGood,
        Some(MemberState::Good) if in_office && group.reign == reign => Cause::MapSameReign,
        Some(MemberState::Good) => Cause::MapNewReign,
    }
}

#[cfg(test)]
mod tests {
    use super::Standing::*;
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
        for from in [Unknown, Away, Resyncing, Following, Taking, Leading] {
            for cause in CAUSES {
                let primary = matches!(from, Taking | Leading);
                let expected = match cause {
                    // Maps may be skipped, so any of them may follow any standing …
                    Cause::MapAway => Some(Away),
                    Cause::MapResyncing => Some(Resyncing),
                    Cause::MapGood => Some(Following),
                    // … and nobody leads a new reign before it has done its first duty.
                    Cause::MapNewReign => Some(Taking),
                    Cause::MapSameReign => primary.then_some(from),
                    Cause::Agreed => (from == Taking).then_some(Leading),
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
            reign: 4,
            since: Default::default(),
            fencing: vec![],
            resync_stopped: false,
            losses: 0,
            full: Vec::new(),
        };
        assert_eq!(cause(Leading, 4, me, &group), Cause::MapSameReign);
        assert_eq!(cause(Leading, 3, me, &group), Cause::MapNewReign, "deposed and back without having seen it");
        assert_eq!(cause(Following, 4, me, &group), Cause::MapNewReign);
        assert_eq!(cause(Following, 4, TargetId(9), &group), Cause::MapAway, "no member");
        group.members.swap(0, 1);
        assert_eq!(cause(Leading, 4, me, &group), Cause::MapGood);
        for (state, expected) in [
            (MemberState::NeedsResync, Cause::MapAway),
            (MemberState::Bad, Cause::MapAway),
            (MemberState::Resyncing, Cause::MapResyncing),
        ] {
            group.states[1] = state;
            assert_eq!(cause(Leading, 4, me, &group), expected);
        }
    }
}
