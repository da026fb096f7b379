// SPDX-License-Identifier: Apache-2.0

//! Mirror groups: who is primary, what each member is worth, and who has to be told before anybody relies on it.
//!
//! Everything about a group is decided here, inside one command of the log, and nowhere else.
//!
//! - [`member`]: the table of member states.
//! - [`reconcile`]: what follows from runs of services that ended and from operators' words: failover is in the same log entry
//!   as the verdict that makes it necessary.
//! - [`commands`]: what primaries and operators ask for.
//! - `create`, `membership`: groups and members come and go on operators' wishes.
//! - [`plan`]: which targets become groups when an operator leaves the choice to us.
//! - [`crate::lease_ledger`]: the leader's memory of who knows which map, and the `Fenced` commands that follow from it.
//!
//! **Failure model.** A primary asks with an old view (cut off, slow): its command names the epoch that it saw and is refused
//! if there is another one by now. Members die one by one or all at once: the last good one stays good, however long it is
//! away, because nobody else has everything. A member that lost a right (to serve reads, to be primary) may not know
//! it yet, or be unreachable: it stays on the group's `fencing` list until it said that it has the newer map, or its lease
//! ended; until then the group acknowledges nothing that it would not know of.

pub mod commands;
pub mod member;
pub mod member_at;
pub mod member_news;
pub mod plan;

mod create;
mod diagnosis;
mod membership;
mod overrides;
mod reconcile;

#[cfg(test)]
mod meta_tests;
#[cfg(test)]
mod tests;

pub use crate::limits::MAX_MEMBERS;
pub use diagnosis::group_diagnosis;

use crate::{ClusterError, ClusterState};
use nyala_wire::map::{Group, MemberState};
use nyala_wire::{GroupId, TargetId};

impl ClusterState {
    /// The group with this id.
    pub fn group(&self, id: GroupId) -> Option<&Group> {
        self.groups.binary_search_by_key(&id, |g| g.id).ok().map(|at| &self.groups[at])
    }

    /// The group that a target is a member of.
    pub fn group_of(&self, target: TargetId) -> Option<&Group> {
        self.groups.iter().find(|g| g.members.contains(&target))
    }

    /// The member without which a group cannot serve: the last good one, while it is away. `None` if somebody serves, or if
    /// no member is good and an operator has to say which one is to be taken.
    pub fn group_waits_for(&self, group: &Group) -> Option<TargetId> {
        let mut good = group.members_with_states().filter(|(_, state)| *state == MemberState::Good).map(|(t, _)| t);
        let first = good.next()?;
        let away = self.is_offline(first) && good.all(|other| self.is_offline(other));
        away.then_some(first)
    }

    pub(crate) fn is_offline(&self, target: TargetId) -> bool {
        use nyala_wire::map::Reachability;
        self.target(target).is_none_or(|t| t.state.reachability == Reachability::Offline)
    }

    pub(crate) fn group_at(&self, id: GroupId) -> Result<usize, ClusterError> {
        self.groups.binary_search_by_key(&id, |g| g.id).map_err(|_| ClusterError::NoGroup { group: id })
    }
}
