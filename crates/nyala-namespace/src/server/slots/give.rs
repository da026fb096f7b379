// SPDX-License-Identifier: Apache-2.0

//! Gives slots to other servers, one at a time. [`super`] has the failure model.

mod copying;
mod release;
mod reopen;
mod sender;
mod stage;

use super::moves::{is_sealed_by_another_run, outcome};
use crate::server::io::{Completion, Effect, Note, Ticket};
use crate::server::state::{Progress, State, Task};
use crate::server::waits::{Event, Wait};
use copying::Copying;
use nyala_wire::map::SlotMove;
use nyala_wire::mgmt::SlotStep;
use nyala_wire::{Slot, WireError};
use stage::Turn;

/// After a failure the next slot waits so long, milliseconds.
const AGAIN_MS: u64 = 2_000;
/// Management is asked again after so long, milliseconds.
const ASK_AGAIN_MS: u64 = 500;

enum Phase {
    /// Until a moment, after a failure.
    Idle(u64),
    /// Management gives the attempt a number; since when.
    Beginning(SlotMove, Ticket, u64),
    Copying(Copying),
    /// All is there. The map says what comes of it; management is asked again at a moment.
    Completing(SlotMove, Option<Ticket>, u64),
}

/// A question to management, and when it is asked again.
type Asked = (Option<Ticket>, u64);

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
                Phase::Beginning(moving, ticket, since_ms) => self.begun(state, moving, ticket, since_ms),
                Phase::Copying(mut copying) => match copying.advance(state) {
                    Turn::Wait(wait) => self.waits(Phase::Copying(copying), wait),
                    Turn::Complete(moving) => self.next(Phase::Completing(moving, None, 0)),
                    Turn::Failed(error) => self.failed(state, copying.moving(), error),
                },
                Phase::Completing(moving, ticket, again_ms) => self.complete(state, moving, (ticket, again_ms)),
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
            return self.waits(Phase::Idle(until_ms), Wait::until(until_ms.max(state.now.ms + ASK_AGAIN_MS)));
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
        let ticket = state.ask_for(|ticket| Effect::SlotStep(ticket, step));
        self.next(Phase::Beginning(moving, ticket, state.now.ms))
    }

    fn begun(&mut self, state: &mut State, before: SlotMove, ticket: Ticket, since_ms: u64) -> Option<Wait> {
        let now = state.ground.map().slot_move(before.slot).copied();
        if let Some(moving) = now.filter(|now| now.attempt != before.attempt && now.run == state.boot) {
            return match is_sealed_by_another_run(state) {
                true => self.next(Phase::Idle(0)),
                false => self.next(Phase::Copying(Copying::new(state, moving))),
            };
        }
        let refused = matches!(state.completed(ticket), Some(Completion::Stepped(Err(_))));
        match refused || state.now.ms >= since_ms + AGAIN_MS {
            // The map may be older than what management knows.
            true => self.next(Phase::Idle(state.now.ms + ASK_AGAIN_MS)),
            false => {
                let wait = Wait::on(Event::Map).or_until(since_ms + AGAIN_MS);
                self.waits(Phase::Beginning(before, ticket, since_ms), wait)
            }
        }
    }

    fn complete(&mut self, state: &mut State, moving: SlotMove, (mut ticket, mut again_ms): Asked) -> Option<Wait> {
        if let Some(given) = outcome(state, &moving) {
            reopen::end(state);
            if given {
                state.note(Note::SlotGiven(moving.slot, moving.to));
                state.count("slot.given");
            }
            return self.next(Phase::Idle(0));
        }
        if ticket.is_some_and(|ticket| state.completed(ticket).is_some()) {
            ticket = None;
        }
        if ticket.is_none() && state.now.ms >= again_ms {
            let step = SlotStep::Complete { slot: moving.slot, attempt: moving.attempt };
            ticket = Some(state.ask_for(|ticket| Effect::SlotStep(ticket, step)));
            again_ms = state.now.ms + ASK_AGAIN_MS;
        }
        let wait = Wait::on(Event::Map).or_until(again_ms.max(state.now.ms + 1));
        self.waits(Phase::Completing(moving, ticket, again_ms), wait)
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
