// SPDX-License-Identifier: Apache-2.0

//! Storage targets whose disks fail: which they are, what takes their places in mirror groups, and the operator's word that one is well again.
//!
//! **Failure model.** Whoever leads counts errors as services report them, which may be late or lost with a service: a target is called failing once, and
//! stays so until an operator takes that back, whatever is reported later. Errors up to then are forgiven, and only new ones count. All of
//! it is in the cluster state: the next leader goes on.

use crate::{ClusterError, ClusterState, Event};
use nyala_wire::map::{FailingTarget, Group, MemberState, TargetKind};
use nyala_wire::{GroupId, TargetId};

type Events = Result<Vec<Event>, ClusterError>;

/// A target has found so many errors: it fails.
pub(crate) fn call_failing(state: &mut ClusterState, target: TargetId, errors: u64) -> Events {
    let record = state.target(target).ok_or(ClusterError::NoTarget { target })?;
    if record.kind != TargetKind::Storage {
        return Err(ClusterError::invalid("only storage targets are emptied when their disks fail"));
    }
    if state.failing(target).is_some() {
        return Ok(Vec::new());
    }
    put(&mut state.failing, FailingTarget { target, errors, replacement: None });
    Ok(vec![Event::TargetFails(target, true)])
}

/// An operator's word that a target does not fail any more; it had found so many errors.
pub(crate) fn forgive(state: &mut ClusterState, target: TargetId, errors: u64) -> Events {
    state.target(target).ok_or(ClusterError::NoTarget { target })?;
    if state.failing(target).is_none() {
        return Ok(Vec::new());
    }
    state.failing.retain(|failing| failing.target != target);
    put(&mut state.forgiven, FailingTarget { target, errors, replacement: None });
    Ok(vec![Event::TargetFails(target, false)])
}

/// `by` becomes a member of the group in the place of one whose disk fails, which leaves once `by` has everything.
pub(crate) fn replace(state: &mut ClusterState, group: GroupId, target: TargetId, by: TargetId) -> Events {
    if !state.groups[state.group_at(group)?].members.contains(&target) {
        return Err(ClusterError::invalid(format!("target {target} is not in mirror group {group}")));
    }
    let mut events = state.add_member(group, by)?;
    let failing = state.failing.iter_mut().find(|failing| failing.target == target);
    let failing = failing.ok_or_else(|| ClusterError::invalid(format!("target {target} does not fail")))?;
    if failing.replacement != Some(by) {
        failing.replacement = Some(by);
        events.push(Event::TargetFails(target, true));
    }
    Ok(events)
}

/// Whether a member's disk fails and another target has taken its place: it is about to leave the group.
pub(crate) fn is_replaced(state: &ClusterState, group: &Group, member: TargetId) -> bool {
    let by = state.failing(member).and_then(|failing| failing.replacement);
    by.is_some_and(|by| group.state(by) == Some(MemberState::Good))
}

/// Nothing is remembered of the disk of a target that is removed.
pub(crate) fn forget(state: &mut ClusterState, target: TargetId) {
    for list in [&mut state.failing, &mut state.forgiven] {
        list.retain(|entry| entry.target != target);
    }
}

/// Into its place, by target; in the place of what was known of the same.
fn put(list: &mut Vec<FailingTarget>, entry: FailingTarget) {
    match list.binary_search_by_key(&entry.target, |known| known.target) {
        Ok(at) => list[at] = entry,
        Err(at) => list.insert(at, entry),
    }
}
