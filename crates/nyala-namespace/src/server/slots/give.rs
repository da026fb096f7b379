// SPDX-License-Identifier: Apache-2.0

//! Gives slots to other servers, one at a time. [`super`] has the failure model.

mod copying;
mod release;
mod reopen;
mod sender;
mod stage;

use super::moves::{is_sealed_by_another_run, outcome};
use crate::server::io::{Effect, Note};
use crate::server::state::{Progress, State, Task};
use crate::server::waits::{Event, Wait};
use copying::Copying;
use nyala_wire::map::SlotMove;
use nyala_wire::mgmt::SlotStep;
use nyala_wire::{Slot, WireError};
use stage::Turn;

/// After a failure the next slot waits so long, milliseconds.
const AGAIN_MS: u64 = 2_000;
/// Management is told again after so long, milliseconds.
const TELL_AGAIN_MS: u64 = 500;

enum Phase {
    /// Until a moment, after a failure.
    Idle(u64),
    /// Management gives the attempt a number; if the map does not show it by a moment, another slot has its turn.
    Beginning(SlotMove, u64),
    Copying(Copying),
    /// All is there. The map says what comes of it; management is told again at a moment.
    Completing(SlotMove, u64),
}

/// Gives away what the map says. Never ends.
pub struct GiveSlots {
    phase: Phase,
    last: Slot,
}

impl Default for GiveSlots {
    fn default() -> GiveSlots {
        GiveSlots { phase: Phase::Idle(0), last: Slot(u16::MAX) }
    }
}

impl Task for GiveSlots {
    fn step(&mut self, state: &mut State) -> Progress {
        loop {
            let phase = std::mem::replace(&mut self.phase, Phase::Idle(0));
            let wait = match phase {
                Phase::Idle(until_ms) => self.begin(state, until_ms),
                Phase::Beginning(moving, until_ms) => self.begun(state, moving, until_ms),
                Phase::Copying(mut copying) => match copying.advance(state) {
                    Turn::Wait(wait) => self.waits(Phase::Copying(copying), wait),
                    Turn::Complete(moving) => self.next(Phase::Completing(moving, 0)),
                    Turn::Failed(error) => self.failed(state, copying.moving(), error),
                },
                Phase::Completing(moving, again_ms) => self.complete(state, moving, again_ms),
            };
            if let Some(wait) = wait {
                return Progress::Wait(wait);
            }
        }
    }
}

impl GiveSlots {
    fn next(&mut self, phase: Phase) -> Option<Wait> {
        self.phase = phase;
        None
    }

    fn waits(&mut self, phase: Phase, wait: Wait) -> Option<Wait> {
        self.phase = phase;
        Some(wait)
    }

    /// The next slot that is to go.
    fn begin(&mut self, state: &mut State, until_ms: u64) -> Option<Wait> {
        if state.now.ms < until_ms || !state.now.serving {
            return self.waits(Phase::Idle(until_ms), Wait::until(until_ms.max(state.now.ms + TELL_AGAIN_MS)));
        }
        let (me, run) = (state.ground.me, state.boot);
        let moves = state.ground.map().moves.iter().filter(|moving| moving.from == me);
        // Those first that an earlier run may have completed: nobody uses them until this one has begun.
        let sealed = moves.clone().find(|moving| moving.run != 0 && moving.run != run);
        let next = moves.clone().find(|moving| moving.slot > self.last).or_else(|| moves.clone().next());
        let Some(moving) = sealed.or(next).copied() else {
            return self.waits(Phase::Idle(0), Wait::on(Event::Map));
        };
        self.last = moving.slot;
        let step = SlotStep::Begin { slot: moving.slot, after: moving.attempt, run: state.boot };
        state.effects.push(Effect::SlotStep(step));
        self.next(Phase::Beginning(moving, state.now.ms + AGAIN_MS))
    }

    fn begun(&mut self, state: &mut State, before: SlotMove, until_ms: u64) -> Option<Wait> {
        let now = state.ground.map().slot_move(before.slot).copied();
        match now.filter(|now| now.attempt != before.attempt && now.run == state.boot) {
            // Another one comes first.
            Some(_) if is_sealed_by_another_run(state) => self.next(Phase::Idle(0)),
            Some(moving) => self.next(Phase::Copying(Copying::new(state, moving))),
            None if state.now.ms >= until_ms => self.next(Phase::Idle(0)),
            None => self.waits(Phase::Beginning(before, until_ms), Wait::on(Event::Map).or_until(until_ms)),
        }
    }

    fn complete(&mut self, state: &mut State, moving: SlotMove, mut again_ms: u64) -> Option<Wait> {
        if let Some(given) = outcome(state, &moving) {
            reopen::end(state);
            if given {
                state.note(Note::SlotGiven(moving.slot, moving.to));
                state.count("slot.given");
            }
            return self.next(Phase::Idle(0));
        }
        if state.now.ms >= again_ms {
            let step = SlotStep::Complete { slot: moving.slot, attempt: moving.attempt };
            state.effects.push(Effect::SlotStep(step));
            again_ms = state.now.ms + TELL_AGAIN_MS;
        }
        self.waits(Phase::Completing(moving, again_ms), Wait::on(Event::Map).or_until(again_ms))
    }

    fn failed(&mut self, state: &mut State, moving: SlotMove, error: WireError) -> Option<Wait> {
        reopen::end(state);
        if outcome(state, &moving).is_none() {
            state.note(Note::SlotNotGiven(moving.slot, error));
            state.count("slot.not_given");
        }
        self.next(Phase::Idle(state.now.ms + AGAIN_MS))
    }
}
