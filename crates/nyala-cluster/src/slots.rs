// SPDX-License-Identifier: Apache-2.0

//! Slots that move from one metadata server to another: who may give which away, and when it counts.
//!
//! The server that gives a slot away copies it under a number ([`SlotMove::attempt`]) that no other attempt has, and the slot changes hands in
//! one step, [`complete_move`].
//!
//! **Failure model.** Steps may be repeated, late, or of a run of the server that has been replaced: a step names the attempt, and a
//! beginning also the run. An order has a number of that kind as well, so that a beginning is of that order. So what a replaced run copied never counts once its successor has begun, and a successor that has not begun yet
//! serves the slot no more than its predecessor did.

mod limits;
pub mod plan;
pub(crate) mod planned;
pub(crate) mod servers;

pub use limits::MAX_MOVES;

use crate::{ClusterError, ClusterState, Event};
use nyala_wire::map::{SlotMove, SlotRange};
use nyala_wire::{Slot, TargetId};
use servers::slot_server;

type Events = Result<Vec<Event>, ClusterError>;

pub(crate) fn move_slots(state: &mut ClusterState, slots: &[Slot], to: TargetId) -> Events {
    if !state.has_slots(to) && !state.emptied.contains(&to) {
        return Err(ClusterError::invalid(format!("target {to} is not a metadata server")));
    }
    let mut events = planned::overrule(state, slots, to);
    for &slot in slots {
        let from = slot_server(state, slot);
        let from = from.ok_or_else(|| ClusterError::invalid(format!("nobody serves slot {slot}")))?;
        match state.moves.binary_search_by_key(&slot, |moving| moving.slot) {
            Ok(at) if state.moves[at].to == to => continue,
            Ok(_) => {
                let why = format!("slot {slot} is on its way to another server; cancel that first");
                return Err(ClusterError::invalid(why));
            }
            Err(_) if from == to => continue,
            Err(_) if state.moves.len() == MAX_MOVES => {
                return Err(ClusterError::invalid("too many slots are on their way; wait until some have arrived"));
            }
            Err(at) => {
                state.last_move += 1;
                state.moves.insert(at, SlotMove { slot, from, to, attempt: state.last_move, run: 0 });
            }
        }
        events.push(Event::SlotMoves(slot));
    }
    Ok(events)
}

pub(crate) fn cancel_moves(state: &mut ClusterState, slots: &[Slot]) -> Events {
    let mut events = planned::cancel(state, slots);
    let cancelled = |moving: &SlotMove| slots.is_empty() || slots.contains(&moving.slot);
    let stay = state.moves.iter().filter(|moving| cancelled(moving)).map(|moving| Event::SlotStays(moving.slot));
    events.extend(stay);
    state.moves.retain(|moving| !cancelled(moving));
    Ok(events)
}

pub(crate) fn begin_move(state: &mut ClusterState, slot: Slot, after: u64, run: u64) -> Events {
    let attempt = state.last_move + 1;
    let moving = state.moves.iter_mut().find(|moving| moving.slot == slot && moving.attempt == after);
    let moving = moving.ok_or_else(|| other_attempt(slot))?;
    if run < moving.run {
        return Err(ClusterError::invalid(format!("a later run of the metadata server gives slot {slot} away")));
    }
    (moving.attempt, moving.run) = (attempt, run);
    state.last_move = attempt;
    Ok(vec![Event::SlotMoves(slot)])
}

pub(crate) fn complete_move(state: &mut ClusterState, slot: Slot, attempt: u64) -> Events {
    let begun = |moving: &SlotMove| moving.slot == slot && moving.attempt == attempt && moving.run != 0;
    let at = state.moves.iter().position(begun).ok_or_else(|| other_attempt(slot))?;
    let SlotMove { from, to, .. } = state.moves.remove(at);
    state.slots = reassigned(&state.slots, slot, to);
    state.emptied.retain(|server| *server != to);
    if !state.has_slots(from)
        && let Err(at) = state.emptied.binary_search(&from)
    {
        state.emptied.insert(at, from);
    }
    planned::end_plans(state);
    Ok(vec![Event::SlotsAssigned(SlotRange { first: slot, count: 1, target: to })])
}

fn other_attempt(slot: Slot) -> ClusterError {
    ClusterError::invalid(format!("slot {slot} is not on its way, or another attempt of that has begun"))
}

/// The slots of a server that are not on their way to another one, as ranges in order.
pub(crate) fn staying(ranges: &[SlotRange], moves: &[SlotMove], server: TargetId) -> Vec<SlotRange> {
    let mine = ranges.iter().filter(|range| range.target == server).copied();
    if moves.is_empty() {
        return mine.collect();
    }
    let mut staying: Vec<SlotRange> = Vec::new();
    let slots = mine.flat_map(|range| (0..range.count).map(move |at| range.first.0 + at));
    for slot in slots.filter(|slot| !moves.iter().any(|moving| moving.slot.0 == *slot)) {
        match staying.last_mut() {
            Some(last) if last.first.0 + last.count == slot => last.count += 1,
            _ => staying.push(SlotRange { first: Slot(slot), count: 1, target: server }),
        }
    }
    staying
}

/// The ranges with one slot given to another server; neighbours of one server become one range.
fn reassigned(ranges: &[SlotRange], slot: Slot, to: TargetId) -> Vec<SlotRange> {
    let mut pieces = Vec::with_capacity(ranges.len() + 2);
    for &SlotRange { first, count, target } in ranges {
        let (begin, end) = (u32::from(first.0), u32::from(first.0) + u32::from(count));
        let at = u32::from(slot.0);
        if !(begin..end).contains(&at) {
            pieces.push((begin, end, target));
            continue;
        }
        pieces.extend([(begin, at, target), (at, at + 1, to), (at + 1, end, target)]);
    }
    let mut joined: Vec<(u32, u32, TargetId)> = Vec::with_capacity(pieces.len());
    for (begin, end, target) in pieces.into_iter().filter(|(begin, end, _)| begin < end) {
        match joined.last_mut() {
            Some(last) if last.1 == begin && last.2 == target && end - last.0 <= u32::from(u16::MAX) => last.1 = end,
            _ => joined.push((begin, end, target)),
        }
    }
    let range = |(begin, end, target)| SlotRange { first: Slot(begin as u16), count: (end - begin) as u16, target };
    joined.into_iter().map(range).collect()
}

#[cfg(test)]
mod tests;
