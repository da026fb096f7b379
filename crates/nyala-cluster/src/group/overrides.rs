// SPDX-License-Identifier: Apache-2.0

//! What an operator's override of a target's consistency means for its group.

use super::member::MemberTrigger;
use super::reconcile::step;
use crate::{ClusterError, ClusterState};
use nyala_wire::map::{Consistency, Group, MemberState};

impl ClusterState {
    /// Applies what an operator said about the content of targets.
    pub(super) fn apply_overrides(&self, before: &ClusterState, group: &mut Group) -> Result<(), ClusterError> {
        for at in 0..group.members.len() {
            let member = group.members[at];
            let now = self.target(member).map(|t| t.state.consistency);
            let (Some(now), Some(then)) = (now, before.target(member).map(|t| t.state.consistency)) else { continue };
            if now == then {
                continue;
            }
            let others_good = |online: bool| {
                let mut good = group.members_with_states().filter(|(t, s)| *t != member && *s == MemberState::Good);
                good.any(|(t, _)| !online || !self.is_offline(t))
            };
            let trigger = match now {
                Consistency::Bad => {
                    // Nothing of its content counts any more, changed lately or not.
                    group.full.retain(|target| *target != member);
                    group.full.push(member);
                    MemberTrigger::DeclaredBad
                }
                Consistency::NeedsResync if others_good(false) || group.states[at] == MemberState::Bad => {
                    MemberTrigger::Marked
                }
                Consistency::NeedsResync => {
                    let reason = format!("target {member} is the only good copy of mirror group {}", group.id);
                    return Err(ClusterError::invalid(reason));
                }
                Consistency::Good if others_good(true) => {
                    let reason = format!("mirror group {} has a good member online: resync from it instead", group.id);
                    return Err(ClusterError::invalid(reason));
                }
                Consistency::Good => {
                    let good = (0..group.states.len()).filter(|i| *i != at && group.states[*i] == MemberState::Good);
                    good.collect::<Vec<_>>().into_iter().for_each(|i| step(group, i, MemberTrigger::Overruled));
                    group.losses = group.losses.wrapping_add(1);
                    MemberTrigger::DeclaredGood
                }
            };
            step(group, at, trigger);
        }
        Ok(())
    }
}
