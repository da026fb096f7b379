// SPDX-License-Identifier: Apache-2.0

//! A client's request when it arrives: who answers it.
//!
//! Failure model: it may come from a session that has ended, or for a slot that is not served here. After a restart, a session of an
//! earlier run first says what it was told is done ([`super::replay`]); then, while such sessions may keep delegations, only what they
//! need to return them is answered.

use super::admission::{comes_first, is_admitted};
use super::backoff::{Backoff, look_again};
use super::change_request::ChangeRequest;
use super::grants;
use super::io::{Durability, Ticket, Token};
use super::lock_check;
use super::lock_wait;
use super::op_names::op_number;
use super::poll;
use super::read::Read;
use super::replay_request;
use super::resplit::MergeDir;
use super::session_end;
use super::session_open;
use super::slots::gate;
use super::spill::Spill;
use super::state::{Progress, State, Task};
use super::waits::{Event, Wait};
use crate::runs;
use nyala_wire::meta::{MetaOp, MetaReply, MetaRequest, Want};
use nyala_wire::{ErrorCode, WireError};

/// A request has arrived.
pub fn arrive(state: &mut State, token: Token, request: MetaRequest) {
    if let Err(error) = check(state, &request.op) {
        return state.reply(token, Err(error));
    }
    state.ops[op_number(&request.op)] += 1;
    if state.replays.is_silent(request.session) && !comes_first(state, &request.op) {
        // It is a sign of life all the same: its client may have said it, and wait for others.
        let heard = state.sessions.hear(&request, state.now.ms);
        let first = ErrorCode::NOT_READY.with("the server was started again; say first what it had acknowledged");
        return state.reply(token, Err(heard.err().unwrap_or(first)));
    }
    if is_admitted(state, &request) {
        return dispatch(state, token, request);
    }
    let backoff = Backoff::new(state.now.ms);
    state.run(Arrived { token, request: Some(request), backoff });
}

fn check(state: &State, op: &MetaOp) -> Result<(), WireError> {
    if !state.now.serving {
        return Err(ErrorCode::NOT_READY.with("this server is waiting for its lease"));
    }
    gate::admit(state, op)
}

/// A request that waits until all clients of before the restart have said what they keep.
struct Arrived {
    token: Token,
    request: Option<MetaRequest>,
    backoff: Backoff,
}

impl Task for Arrived {
    fn step(&mut self, state: &mut State) -> Progress {
        if let Some(request) = self.request.take_if(|request| is_admitted(state, request)) {
            dispatch(state, self.token, request);
        } else if self.backoff.lasts(state.now.ms) {
            return Progress::Wait(look_again(Event::Delegations, state.now.ms));
        } else {
            let error = ErrorCode::NOT_READY.with("clients of before the restart have not answered yet");
            state.reply(self.token, Err(error));
        }
        Progress::Done
    }
}

fn dispatch(state: &mut State, token: Token, request: MetaRequest) {
    let session = request.session;
    if let MetaOp::SessionOpen { client } = &request.op {
        return session_open::open(state, token, session, client, request.want.has(Want::DELEGATIONS));
    }
    let leave = match state.sessions.hear(&request, state.now.ms) {
        Ok(leave) => leave,
        Err(error) => return state.reply(token, Err(error)),
    };
    match &request.op {
        MetaOp::SessionClose => session_end::close(state, session, token),
        MetaOp::Replay(said) => replay_request::arrive(state, token, session, said),
        MetaOp::Sync => state.run(Sync { token, logging: None }),
        MetaOp::DelegationPoll { boot, kept, moving } => poll::poll(state, token, session, *boot, (kept, moving)),
        MetaOp::DelegationReturn { delegations } => poll::take_back(state, token, session, delegations.clone()),
        MetaOp::Spill { done, .. } => {
            let done = *done;
            state.run(Spill::new(state, token, request, leave, done));
        }
        MetaOp::LockWait { inode, lock } => lock_wait::wait(state, token, session, *inode, *lock),
        MetaOp::LockConfirm { inode, lock } => lock_check::confirm(state, token, session, *inode, *lock),
        MetaOp::LockChecked { numbers } => {
            let result = lock_check::checked(state, session, numbers);
            state.reply(token, result);
        }
        MetaOp::MergeDir(dir) => {
            let merge = MergeDir::new(state, token, *dir);
            state.run(merge);
        }
        MetaOp::Survived { run } => {
            let position = runs::survived(&*state.ground.tables, *run);
            state.reply(token, position.map(|position| grants::plain(&MetaReply::Position(position))));
        }
        op if op.is_change() && request.sequence == 0 => {
            let error = ErrorCode::BAD_MESSAGE.with("a changing request needs a sequence number");
            state.reply(token, Err(error));
        }
        op if op.is_change() => state.run(ChangeRequest::new(state, token, request, leave)),
        _ => state.run(Read::new(state, token, request)),
    }
}

/// Answers once everything that is applied is on disk.
struct Sync {
    token: Token,
    logging: Option<Ticket>,
}

impl Task for Sync {
    fn step(&mut self, state: &mut State) -> Progress {
        let Some(ticket) = self.logging else {
            self.logging = Some(state.log(Durability::OnDisk));
            return Progress::Wait(Wait::COMPLETION);
        };
        let Some(logged) = state.logged(ticket) else { return Progress::Wait(Wait::COMPLETION) };
        state.reply(self.token, logged.map(|()| grants::plain(&MetaReply::Done)));
        Progress::Done
    }
}
