// SPDX-License-Identifier: Apache-2.0

//! Clients say what is to be done again, and are answered when it is. [`super::replay`] does it, and has the failure model.

use super::grants;
use super::io::Token;
use super::state::{Progress, State, Task};
use super::waits::{Event, Wait};
use crate::runs;
use nyala_wire::meta::{MetaReply, Replay};
use nyala_wire::{ErrorCode, SessionId, WireError};

/// A client says what is to be done again.
pub fn arrive(state: &mut State, token: Token, session: SessionId, replay: &Replay) {
    if let Err(error) = take(state, session, replay) {
        return state.reply(token, Err(error));
    }
    if !replay.last {
        return state.reply(token, Ok(grants::plain(&MetaReply::Done)));
    }
    if state.replays.is_silent(session) {
        state.replays.said.insert(session);
        state.wake(Event::Replays);
    }
    state.run(Said { token, session });
}

/// Keeps what it says, unless it has said all before.
fn take(state: &mut State, session: SessionId, replay: &Replay) -> Result<(), WireError> {
    if replay.run.is_some_and(|run| run != runs::number(state.boot)) {
        return Err(ErrorCode::NOT_READY.with("this was said to another run of the server; say it to this one"));
    }
    let replays = &mut state.replays;
    if !replays.is_silent(session) || replays.said.contains(&session) {
        return Ok(());
    }
    replays.keep(session, &replay.changes)?;
    replays.open(session, &replay.open)
}

/// Answers a client once its changes are done again.
struct Said {
    token: Token,
    session: SessionId,
}

impl Task for Said {
    fn step(&mut self, state: &mut State) -> Progress {
        if state.replays.is_silent(self.session) {
            return Progress::Wait(Wait::on(Event::Replays));
        }
        // It may have ended while it waited: then what it said is not done.
        let reply = state.sessions.again(self.session).map(|_| {
            let lost = state.replays.lost.get(&self.session).cloned().unwrap_or_default();
            grants::plain(&MetaReply::Replayed { lost })
        });
        state.reply(self.token, reply);
        Progress::Done
    }
}
