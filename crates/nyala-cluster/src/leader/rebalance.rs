// SPDX-License-Identifier: Apache-2.0

//! When a metadata server that joined gets its share of the name space, and how fast.
//!
//! The plan itself is in the cluster state ([`crate::slots::planned`]); this is what the leader remembers to make it in time, and to carry
//! it out at the set rate.
//!
//! **Failure model.** A server comes and goes: what counts is how long it has been good without a break. Counts of inodes are as old as the
//! last heartbeat, and missing for a server that has not been heard by this leader: such a server neither gives nor takes. A new leader
//! knows nothing, and waits the whole time again. Between a look and its command operators may order something else: the command is then
//! void, as the cluster state says.

use crate::command::Command;
use crate::slots::plan::{SlotLoad, fill};
use crate::slots::servers::{serving, works_on};
use crate::state::ClusterState;
use nyala_wire::map::Rebalance;
use nyala_wire::{Slot, TargetId};
use std::collections::{BTreeMap, BTreeSet};

/// Fewer inodes for each server than this are not worth moving: what is made from now on is spread over all servers anyway.
pub(super) const WORTH_MOVING: u64 = 1000;

/// What the leader knows of metadata servers.
#[derive(Clone, Debug)]
pub(super) struct Rebalancer {
    /// As last reported, by target.
    inodes: BTreeMap<TargetId, u64>,
    /// Since when servers have been good, milliseconds.
    good: BTreeMap<TargetId, u64>,
    /// When something was on its way or planned last.
    busy_ms: u64,
    /// When a slot set out or arrived last.
    turn_ms: u64,
    under_way: usize,
}

impl Rebalancer {
    pub(super) fn new(now_ms: u64) -> Rebalancer {
        Rebalancer { inodes: BTreeMap::new(), good: BTreeMap::new(), busy_ms: now_ms, turn_ms: now_ms, under_way: 0 }
    }

    pub(super) fn reported(&mut self, target: TargetId, inodes: u64) {
        self.inodes.insert(target, inodes);
    }

    pub(super) fn inodes(&self, target: TargetId) -> Option<u64> {
        self.inodes.get(&target).copied()
    }

    /// What is due now.
    pub(super) fn due(&mut self, state: &ClusterState, now_ms: u64) -> Vec<Command> {
        let settings = &state.settings.rebalance;
        self.look(state, now_ms);
        match settings.automatic {
            false => Vec::new(),
            true if state.planned.is_empty() => self.plan(state, settings, now_ms),
            true => self.release(state, settings, now_ms).into_iter().collect(),
        }
    }

    fn look(&mut self, state: &ClusterState, now_ms: u64) {
        self.inodes.retain(|target, _| state.target(*target).is_some());
        let good: BTreeSet<TargetId> =
            serving(state).into_iter().filter(|server| works_on(state, *server).is_some()).collect();
        self.good.retain(|server, _| good.contains(server));
        for server in good {
            self.good.entry(server).or_insert(now_ms);
        }
        if !(state.moves.is_empty() && state.planned.is_empty()) {
            self.busy_ms = now_ms;
        }
        if state.moves.len() < self.under_way {
            self.turn_ms = now_ms;
        }
        self.under_way = state.moves.len();
    }

    /// Servers that are good and say how many inodes they have.
    fn loads(&self, state: &ClusterState) -> Vec<SlotLoad> {
        let load = |server: &TargetId| {
            let inodes = self.inodes(works_on(state, *server)?)?;
            let ranges = state.slots.iter().filter(|range| range.target == *server);
            let slots = ranges.flat_map(|range| (0..range.count).map(|at| Slot(range.first.0 + at))).collect();
            Some(SlotLoad { server: *server, slots, inodes })
        };
        self.good.keys().filter_map(load).collect()
    }

    /// For servers that nobody has seen to yet. Those that have their share are noted at once, so that they are not taken for new ones when
    /// others have grown.
    fn plan(&self, state: &ClusterState, settings: &Rebalance, now_ms: u64) -> Vec<Command> {
        if !state.moves.is_empty() || serving(state).iter().all(|server| state.arrived.contains(server)) {
            return Vec::new();
        }
        let loads = self.loads(state);
        let all: u64 = loads.iter().fold(0, |all, load| all.saturating_add(load.inodes));
        let mean = all / loads.len().max(1) as u64;
        if mean < WORTH_MOVING {
            return Vec::new();
        }
        let settled = |server: TargetId| {
            let since = self.good.get(&server).map_or(now_ms, |since| self.busy_ms.max(*since));
            now_ms >= since + u64::from(settings.settle_ms)
        };
        let new = || loads.iter().filter(|load| !state.arrived.contains(&load.server));
        let short = |load: &SlotLoad| load.inodes < mean / 2;
        let takes: BTreeSet<TargetId> =
            new().filter(|load| short(load) && settled(load.server)).map(|load| load.server).collect();
        let moves = fill(&loads, |server| takes.contains(&server));
        let to = |server: TargetId| moves.iter().filter(|(_, to)| *to == server).map(|(slot, _)| *slot).collect();
        let seen_to = new().filter(|load| !short(load) || takes.contains(&load.server)).map(|load| load.server);
        seen_to.map(|server| Command::PlanMoves { to: server, slots: to(server) }).collect()
    }

    /// The next slots of a plan, if it is time for some.
    fn release(&mut self, state: &ClusterState, settings: &Rebalance, now_ms: u64) -> Option<Command> {
        let room = usize::from(settings.at_once).checked_sub(state.moves.len()).filter(|room| *room > 0)?;
        if now_ms < self.turn_ms + u64::from(settings.pause_ms) {
            return None;
        }
        let is_good = |server: &TargetId| self.good.contains_key(server);
        let plan = state.planned.iter().find(|plan| is_good(&plan.to) && !plan.slots.is_empty())?;
        self.turn_ms = now_ms;
        let slots = plan.slots.iter().take(room).copied().collect();
        Some(Command::ReleaseMoves { to: plan.to, slots })
    }
}

#[cfg(test)]
mod tests;
