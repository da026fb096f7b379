// SPDX-License-Identifier: Apache-2.0

//! Who is rebuilt first.

use crate::member::MemberState;
use crate::members::Members;

/// Members that wait for a rebuild, the one first whose group has lost most; of one group those first that only have to catch up: they are soon done.
pub fn by_risk(members: &Members) -> Vec<usize> {
    let geometry = &members.superblock().geometry;
    let mut waiting = members.all(|state| matches!(state, MemberState::CatchingUp | MemberState::Rebuilding { .. }));
    let whole = |member: usize| matches!(members.state(member), MemberState::Rebuilding { .. });
    waiting.sort_by_key(|member| (members.good_in(geometry.group_of(*member)), whole(*member), *member));
    waiting
}
