// SPDX-License-Identifier: Apache-2.0

//! The end of a session: what it holds open is closed, its kept replies are forgotten, its delegations are free. The bookkeeping,
//! and its failure model, is [`crate::sessions`].

use super::backoff::look_again;
use super::grants;
use super::io::{Completion, Durability, Effect, Note, Ticket, Token};
use super::lock_wait;
use super::room_gate::RoomGate;
use super::state::{Progress, State, Task};
use super::waits::{Event, Wait};
use crate::change::Fault;
use crate::keys;
use crate::ns::lock;
use crate::ns::open::close_here;
use nyala_kv::Batch;
use nyala_wire::meta::MetaReply;
use nyala_wire::{InodeId, SessionId, WireError};
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// What of a session is still there.
#[derive(Clone, Copy, Debug)]
enum Rest {
    Open(InodeId),
    Locks(InodeId),
}

/// What has to happen next.
enum Phase {
    Begin,
    Fencing(Ticket),
    Dead,
    /// One after the other, each once no transaction stands in its way.
    Closing(VecDeque<Rest>, RoomGate),
    Logging(Ticket),
}

/// One session's end.
struct EndSession {
    session: SessionId,
    /// Its client asked for it; otherwise the client does not know, so storage has to refuse what it may still write.
    token: Option<Token>,
    phase: Phase,
}

/// A client closes its session.
pub fn close(state: &mut State, session: SessionId, token: Token) {
    match state.sessions.begin_end(session) {
        true => state.run(EndSession { session, token: Some(token), phase: Phase::Begin }),
        false => state.reply(token, Ok(grants::plain(&MetaReply::Done))),
    }
}

/// Ends a session whose client does not know, unless its end is under way.
pub fn expire(state: &mut State, session: SessionId) {
    if state.sessions.begin_end(session) {
        state.begin(EndSession { session, token: None, phase: Phase::Begin });
    }
}

impl Task for EndSession {
    fn step(&mut self, state: &mut State) -> Progress {
        let ended = match self.advance(state) {
            Ok(Some(wait)) => return Progress::Wait(wait),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        state.sessions.ended(self.session, ended.is_ok());
        // What it may still write was not refused: nobody is given what it held.
        if !matches!(self.phase, Phase::Fencing(_)) {
            state.delegations.end_session(self.session);
            state.replays.forget(self.session);
            state.wake(Event::Replays);
            state.polls.remove(&self.session);
            state.lock_checks.forget(self.session);
            state.wake(Event::LockChecks);
            state.wake(Event::Delegations);
        }
        match self.token {
            Some(token) => state.reply(token, ended.map(|()| grants::plain(&MetaReply::Done))),
            None => {
                if let Err(error) = ended {
                    state.note(Note::SessionNotEnded(self.session, error));
                }
            }
        }
        Progress::Done
    }
}

impl EndSession {
    fn advance(&mut self, state: &mut State) -> Result<Option<Wait>, WireError> {
        loop {
            match &mut self.phase {
                // Nobody is given what it held before storage refuses what it may still write.
                Phase::Begin if self.token.is_none() && state.delegations.may_write(self.session) => {
                    let session = self.session;
                    self.phase = Phase::Fencing(state.ask_for(|ticket| Effect::Fence(ticket, session)));
                }
                Phase::Begin if self.token.is_none() => self.phase = Phase::Dead,
                Phase::Begin => self.phase = Phase::Closing(rest(state, self.session)?, RoomGate::default()),
                Phase::Fencing(ticket) => match state.completed(*ticket) {
                    Some(Completion::Fenced(fenced)) => {
                        fenced?;
                        self.phase = Phase::Dead;
                    }
                    // why: each ticket is completed with the kind that belongs to its effect.
                    Some(other) => unreachable!("a fence came to {other:?}"),
                    None => return Ok(Some(Wait::COMPLETION)),
                },
                Phase::Dead => {
                    doubt_what_it_wrote(state, self.session);
                    // Not to be taken for a fence that failed, should this fail.
                    self.phase = Phase::Closing(VecDeque::new(), RoomGate::default());
                    self.phase = Phase::Closing(rest(state, self.session)?, RoomGate::default());
                }
                Phase::Closing(rest, gate) => {
                    let Some(next) = rest.front().copied() else {
                        self.phase = Phase::Logging(forget(state, self.session)?);
                        continue;
                    };
                    if gate.pass(state, None).is_none() {
                        return Ok(Some(Wait::COMPLETION));
                    }
                    *gate = RoomGate::default();
                    if !end_one(state, self.session, next)? {
                        return Ok(Some(look_again(Event::Released, state.now.ms)));
                    }
                    rest.pop_front();
                }
                Phase::Logging(ticket) => {
                    return state.logged(*ticket).map_or(Ok(Some(Wait::COMPLETION)), |logged| logged.map(|()| None));
                }
            }
        }
    }
}

/// A session ends whose client may have written what it will not commit, before anybody is given what it held.
fn doubt_what_it_wrote(state: &mut State, session: SessionId) {
    match state.delegations.is_unconfirmed(session) {
        true => state.doubts.any_died(keys::first_sequence(state.boot)),
        false => state.doubts.died(state.delegations.written_alone(session)),
    }
}

/// What a session holds.
fn rest(state: &State, session: SessionId) -> Result<VecDeque<Rest>, WireError> {
    let tables = &state.ground.tables;
    let open = tables.opened_by(session)?.into_iter().map(Rest::Open);
    let locked = lock::locked_by(&**tables, session)?.into_iter().map(Rest::Locks);
    Ok(open.chain(locked).collect())
}

/// Whether it could be ended; otherwise a transaction stands in the way.
fn end_one(state: &mut State, session: SessionId, rest: Rest) -> Result<bool, WireError> {
    let (Rest::Open(inode) | Rest::Locks(inode)) = rest;
    if !state.ground.is_here(inode.slot()) {
        // It went to another server with its slot, or is about to come from one: there it ends for itself.
        return Ok(true);
    }
    if state.ground.locks.is_sealed(inode.slot()) {
        return Ok(false);
    }
    let changed = state.ground.look(None, |mut change| {
        match rest {
            Rest::Open(inode) => close_here(&mut change, session, inode)?,
            Rest::Locks(inode) => lock::release_all(&mut change, session, inode).map(drop)?,
        }
        Ok(change.finish())
    });
    match changed {
        Ok(batch) => state.apply(&batch)?,
        Err(Fault::Refused(error)) => return Err(error),
        Err(_) => return Ok(false),
    }
    if let Rest::Locks(inode) = rest {
        state.wake(Event::FileLocks(inode));
    }
    Ok(true)
}

/// The session itself goes, and its kept replies.
fn forget(state: &mut State, session: SessionId) -> Result<Ticket, WireError> {
    lock_wait::forget(state, session);
    let mut batch = Batch::new();
    let prefix = keys::reply_prefix(session);
    state.ground.tables.scan(&prefix, &keys::prefix_end(&prefix), &mut |key, _| {
        batch.delete(key);
        ControlFlow::Continue(())
    })?;
    batch.delete(keys::session(session));
    state.apply(&batch)?;
    // Others are given what it held: what they do then may be done again after a power cut, which must not bring it back.
    Ok(state.log(Durability::OnDisk))
}
