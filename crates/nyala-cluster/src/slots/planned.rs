// SPDX-License-Identifier: Apache-2.0

//! Slots that management has moved by itself, to a metadata server that joined: the plan is made once, is part of the cluster state, and
//! is carried out some slots at a time.
//!
//! **Failure model.** A plan may come late or twice, and be overtaken by what operators order: a server has one plan in its life, an
//! operator who moves slots to or from a server, or cancels that, has the last word on it, and a planned slot that has gone elsewhere
//! meanwhile is left where it is. Another leader finds the plan where its predecessor left it.
//!
//! Clusters of before there were plans have none of this, and commands do the same to their state as ever.

use super::limits::MAX_MOVES;
use super::servers::{serving, slot_server};
use crate::{ClusterError, ClusterState, Event};
use nyala_wire::map::{PlannedMoves, SlotMove};
use nyala_wire::{Slot, TargetId};
use std::collections::BTreeSet;

type Events = Result<Vec<Event>, ClusterError>;

fn insert(sorted: &mut Vec<TargetId>, server: TargetId) -> bool {
    let at = sorted.binary_search(&server);
    at.map_or_else(|at| sorted.insert(at, server), |_| ());
    at.is_err()
}

fn may_go(state: &ClusterState, slot: Slot, to: TargetId) -> bool {
    let elsewhere = slot_server(state, slot).is_some_and(|from| from != to);
    elsewhere && state.moves.binary_search_by_key(&slot, |moving| moving.slot).is_err()
}

/// A server has joined, and is to get these slots; none if it has its share.
pub(crate) fn plan_moves(state: &mut ClusterState, to: TargetId, mut slots: Vec<Slot>) -> Events {
    if !state.has_slots(to) {
        return Err(ClusterError::invalid(format!("target {to} is no metadata server that serves slots")));
    }
    if slots.len() > MAX_MOVES {
        return Err(ClusterError::invalid("a plan of too many slots"));
    }
    if !insert(&mut state.arrived, to) {
        return Ok(Vec::new());
    }
    slots.retain(|slot| may_go(state, *slot, to));
    if !slots.is_empty() {
        state.planned.push(PlannedMoves { to, slots });
    }
    Ok(vec![Event::MovesPlanned(to)])
}

/// Planned slots set out.
pub(crate) fn release_moves(state: &mut ClusterState, to: TargetId, slots: &[Slot]) -> Events {
    let Some(plan) = state.planned.iter_mut().find(|plan| plan.to == to) else { return Ok(Vec::new()) };
    let mut released = plan.slots.clone();
    plan.slots.retain(|slot| !slots.contains(slot));
    released.retain(|slot| slots.contains(slot));
    let mut events = Vec::new();
    for slot in released {
        if may_go(state, slot, to)
            && let Some(from) = slot_server(state, slot)
        {
            state.last_move += 1;
            let at = state.moves.partition_point(|moving| moving.slot < slot);
            state.moves.insert(at, SlotMove { slot, from, to, attempt: state.last_move, run: 0 });
            events.push(Event::SlotMoves(slot));
        } else {
            events.push(Event::MovesPlanned(to));
        }
    }
    end_plans(state);
    Ok(events)
}

/// Forgets plans of which nothing is left, and nothing is on its way.
pub(crate) fn end_plans(state: &mut ClusterState) {
    let moves = &state.moves;
    state.planned.retain(|plan| !plan.slots.is_empty() || moves.iter().any(|moving| moving.to == plan.to));
}

/// An operator moves slots: plans for the servers that it is about are void, and none is made for them any more. What is on its way to
/// a server that is to give slots away stays.
pub(crate) fn overrule(state: &mut ClusterState, slots: &[Slot], to: TargetId) -> Vec<Event> {
    if state.arrived.is_empty() {
        return Vec::new();
    }
    let giving: BTreeSet<TargetId> = slots.iter().filter_map(|slot| slot_server(state, *slot)).collect();
    let mut events = Vec::new();
    let (void, valid) = std::mem::take(&mut state.planned)
        .into_iter()
        .partition::<Vec<_>, _>(|plan| plan.to == to || giving.contains(&plan.to));
    state.planned = valid;
    for plan in void {
        events.push(Event::MovesPlanned(plan.to));
        let stays = |moving: &SlotMove| moving.to == plan.to && giving.contains(&plan.to);
        events.extend(state.moves.iter().filter(|moving| stays(moving)).map(|moving| Event::SlotStays(moving.slot)));
        state.moves.retain(|moving| !stays(moving));
    }
    state.planned.iter_mut().for_each(|plan| plan.slots.retain(|slot| !slots.contains(slot)));
    end_plans(state);
    for server in giving.into_iter().chain([to]) {
        insert(&mut state.arrived, server);
    }
    events
}

/// An operator cancels moves, all of them if none is named: the plans that they belong to are void, and none is made for servers that are
/// there now.
pub(crate) fn cancel(state: &mut ClusterState, slots: &[Slot]) -> Vec<Event> {
    if state.arrived.is_empty() {
        return Vec::new();
    }
    let named = |slot: Slot| slots.is_empty() || slots.contains(&slot);
    let to: BTreeSet<TargetId> =
        state.moves.iter().filter(|moving| named(moving.slot)).map(|moving| moving.to).collect();
    let void = |plan: &PlannedMoves| slots.is_empty() || to.contains(&plan.to);
    let mut changed: BTreeSet<TargetId> = state.planned.iter().filter(|plan| void(plan)).map(|plan| plan.to).collect();
    state.planned.retain(|plan| !void(plan));
    for plan in &mut state.planned {
        let before = plan.slots.len();
        plan.slots.retain(|slot| !named(*slot));
        changed.extend((plan.slots.len() < before).then_some(plan.to));
    }
    if slots.is_empty() {
        let all = serving(state);
        changed.extend(all.into_iter().filter(|server| insert(&mut state.arrived, *server)));
    }
    changed.into_iter().map(Event::MovesPlanned).collect()
}
