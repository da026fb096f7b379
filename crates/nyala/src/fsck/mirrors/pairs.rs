// SPDX-License-Identifier: Apache-2.0

//! Which members of a group are compared.

use nyala_wire::map::{Group, MemberState};
use nyala_wire::{GroupId, TargetId};

/// A group whose members are compared with its primary.
#[derive(Clone, Debug)]
pub struct Pairs {
    /// The group.
    pub group: GroupId,
    /// Its primary, which is taken for right.
    pub primary: TargetId,
    /// The other good members.
    pub members: Vec<TargetId>,
}

impl Pairs {
    /// Those of a group that can be compared now.
    pub fn of(group: &Group) -> Option<Pairs> {
        let primary = group.primary()?;
        let good = group.members_with_states().filter(|(_, state)| *state == MemberState::Good);
        let members: Vec<TargetId> = good.map(|(target, _)| target).filter(|target| *target != primary).collect();
        let is_good = group.state(primary) == Some(MemberState::Good);
        (is_good && !members.is_empty()).then_some(Pairs { group: group.id, primary, members })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::mirror_list::tests::mirrored;

    #[test]
    fn good_members_are_compared_with_a_good_primary() {
        let mut group = mirrored().groups.remove(0);
        assert!(Pairs::of(&group).is_none(), "one of two is not good");
        group.members.push(TargetId(301));
        group.states = vec![MemberState::Good; 3];
        let pairs = Pairs::of(&group).unwrap();
        assert_eq!((pairs.primary, pairs.members), (TargetId(101), vec![TargetId(201), TargetId(301)]));
        group.states[0] = MemberState::NeedsResync;
        assert!(Pairs::of(&group).is_none(), "the truth is away");
    }
}
