// SPDX-License-Identifier: Apache-2.0

//! Ends sessions whose clients are gone. The bookkeeping, and its failure model, is [`crate::sessions`].

use super::io::Note;
use super::session_end;
use super::state::{Progress, State, Task};
use super::waits::Wait;

/// A client that is heard of may take so many session timeouts to return a delegation: it may have much to write first, to a
/// storage target that is away. With the default timeout that is longer than a client tries (`retry-timeout`), which then
/// reports what it wrote as lost, and lets go.
const OVERDUE: u64 = 22;
/// Shortest and longest pause between two looks for sessions that end, milliseconds.
const LOOK_MS: [u64; 2] = [10, 1_000];

/// Ends sessions that were not heard of for the timeout. Never ends.
#[derive(Default)]
pub struct Expire {
    due_ms: Option<u64>,
}

impl Task for Expire {
    fn step(&mut self, state: &mut State) -> Progress {
        let timeout_ms = u64::from(state.ground.map().settings.session_timeout_ms);
        if self.due_ms.is_some_and(|due_ms| state.now.ms >= due_ms) {
            expire(state, timeout_ms);
        }
        let due_ms = state.now.ms + (timeout_ms / 4).clamp(LOOK_MS[0], LOOK_MS[1]);
        self.due_ms = Some(due_ms);
        Progress::Wait(Wait::until(due_ms))
    }
}

fn expire(state: &mut State, timeout_ms: u64) {
    let now = state.now;
    let silent = state.sessions.to_end(now.ms, timeout_ms, now.serving);
    let overdue = state.delegations.overdue(now.ms, timeout_ms.saturating_mul(OVERDUE));
    for session in silent.into_iter().chain(overdue) {
        state.note(Note::SessionExpires(session, timeout_ms));
        // Each on its own: one may have to wait for a transaction or a truncation.
        session_end::expire(state, session);
    }
}
