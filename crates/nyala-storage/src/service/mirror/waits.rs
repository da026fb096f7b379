// SPDX-License-Identifier: Apache-2.0

//! Who waits for something of a group's member, and for how long. Failure model: see the parent module.

use super::action::Waiting;
use super::parse::Payload;
use super::state::State;
use nyala_wire::ErrorCode;

/// Longest wait for an answer to a client, microseconds.
const CLIENT_WITHIN_US: u64 = 60_000_000;

/// Forgets clients that have gone, and tells those that wait for too long.
pub(super) fn end_waits(state: &mut State, now_us: u64) {
    let late = |waiting: &mut Waiting| now_us.saturating_sub(waiting.came_us) >= CLIENT_WITHIN_US;
    for (_, waiting) in state.waiting.extract_if(|_, waiting| waiting.answer.is_closed() || late(waiting)) {
        let why = "the mirror group could not do that in time; send it again";
        // An error means that it has gone.
        let _ = waiting.answer.send(Err(ErrorCode::NOT_READY.with(why)));
    }
}

/// Answers those who wait until no write of a session is under way.
pub(super) fn tell_quiet(state: &mut State) {
    for (session, done) in std::mem::take(&mut state.quiet) {
        let of_it = |payload: &Payload| matches!(payload, Payload::Change(request) if request.session == session);
        match state.buffers.values().any(of_it) {
            true if done.is_closed() => {}
            true => state.quiet.push((session, done)),
            // An error means that nobody waits any more.
            false => drop(done.send(Ok(()))),
        }
    }
}
