// SPDX-License-Identifier: Apache-2.0

//! Clients say what is to be done again, and are answered when it is. [`super::replay`] does it, and has the failure model.

use super::grants;
use super::io::Token;
use super::state::{Progress, State, Task};
use super::waits::{Event, Wait};
use nyala_wire::SessionId;
use nyala_wire::meta::{MetaReply, Replay};

/// A client says what is to be done again.
pub fn arrive(state: &mut State, token: Token, session: SessionId, replay: &Replay) {
    if !state.replays.is_silent(session) {
        return answer(state, token, session, replay.last);
    }
    let replays = &mut state.replays;
    let kept = replay.changes.iter().try_for_each(|change| replays.keep(session, change.clone()));
    if let Err(error) = kept.and_then(|()| replays.open(session, &replay.open)) {
        return state.reply(token, Err(error));
    }
    if !replay.last {
        return state.reply(token, Ok(grants::plain(&MetaReply::Done)));
    }
    state.replays.awaited.remove(&session);
    state.replays.said.insert(session);
    state.wake(Event::Replays);
    state.run(Said { token, session });
}

fn answer(state: &mut State, token: Token, session: SessionId, last: bool) {
    let lost = state.replays.lost.get(&session).cloned().unwrap_or_default();
    let reply = if last { MetaReply::Replayed { lost } } else { MetaReply::Done };
    state.reply(token, Ok(grants::plain(&reply)));
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
        answer(state, self.token, self.session, true);
        Progress::Done
    }
}
