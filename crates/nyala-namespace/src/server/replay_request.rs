// SPDX-License-Identifier: Apache-2.0

//! Clients say what is to be done again, and are answered when it is. [`super::replay`] does it, and has the failure model.

use super::grants;
use super::io::Token;
use super::replay_compare::was_done;
use super::replay_rest::note_open;
use super::replays::check;
use super::state::{Progress, State, Task};
use super::waits::{Event, Wait};
use crate::runs;
use nyala_wire::meta::{Acknowledged, MetaOp, MetaReply, MetaRequest, Replay};
use nyala_wire::{ErrorCode, SessionId, WireError, codec};

/// A client says what is to be done again.
pub fn arrive(state: &mut State, token: Token, session: SessionId, replay: &Replay) {
    if let Err(error) = take(state, session, replay) {
        return state.reply(token, Err(error));
    }
    if !replay.last {
        return state.reply(token, Ok(grants::plain(&MetaReply::Done)));
    }
    if state.replays.is_silent(session) {
        match state.replays.over() {
            true => drop(state.replays.silent.remove(&session)),
            false => drop(state.replays.said.insert(session)),
        }
        state.wake(Event::Replays);
    }
    state.run(Said { token, session });
}

/// Keeps what it says, unless it has said all before.
fn take(state: &mut State, session: SessionId, replay: &Replay) -> Result<(), WireError> {
    if replay.run.is_some_and(|run| run != runs::number(state.boot)) {
        return Err(ErrorCode::NOT_READY.with("this was said to another run of the server; say it to this one"));
    }
    if !state.replays.is_silent(session) || state.replays.said.contains(&session) {
        return Ok(());
    }
    if state.replays.over() {
        look_for(state, session, &replay.changes)?;
        replay.open.iter().for_each(|inode| note_open(state, *inode, session));
        return Ok(());
    }
    state.replays.keep(session, &replay.changes)?;
    state.replays.open(session, &replay.open)
}

/// This server has everything that was answered for. A client says all the same what it does not know to be on disk, if it cannot find
/// out what is left; what has left no trace is lost after all, and it is told.
fn look_for(state: &mut State, session: SessionId, changes: &[Acknowledged]) -> Result<(), WireError> {
    for change in changes {
        let number = check(session, change)?;
        let request: MetaRequest = codec::decode(&change.request)?;
        let leaves_a_reply = !matches!(request.op, MetaOp::Open { .. } | MetaOp::PutInlines { .. });
        if leaves_a_reply && !was_done(state, &request) {
            state.replays.lost.entry(session).or_default().push(number);
        }
    }
    Ok(())
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
