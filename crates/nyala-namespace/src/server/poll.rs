// SPDX-License-Identifier: Apache-2.0

//! How clients hear what they are to return, and return it: each keeps one poll at the server. The bookkeeping, and its failure
//! model, is [`crate::delegations`].

use super::grants;
use super::held;
use super::io::{Durability, Note, Ticket, Token};
use super::state::{Progress, State, Task};
use super::waits::{Event, Wait};
use crate::keys;
use nyala_kv::Batch;
use nyala_wire::meta::{LockCheck, MAX_DELEGATIONS, MetaReply, Returned, Revocation};
use nyala_wire::{ErrorCode, InodeId, SessionId, WireError};

/// How long a poll is held.
const POLL_MS: u64 = 5_000;

fn too_many() -> WireError {
    ErrorCode::BAD_MESSAGE.with(format!("more than {MAX_DELEGATIONS} delegations in one message"))
}

/// Holds a client's poll until there is something to say. It confirms delegations of an earlier run, and claims.
pub fn poll(state: &mut State, token: Token, session: SessionId, boot: u64, (kept, moving): (&[Returned], &[InodeId])) {
    if kept.len().max(moving.len()) > MAX_DELEGATIONS {
        return state.reply(token, Err(too_many()));
    }
    if boot == state.boot && state.delegations.is_unconfirmed(session) {
        if state.delegations.confirm(session, kept, moving) {
            state.note(Note::Confirmed);
        }
        if let Err(error) = held::keep_confirmed(state) {
            state.note(Note::NotForgotten(error));
        }
        // Where nobody knows what they hold, all wait for all of them.
        if state.delegations.are_bounded() {
            state.wake(Event::Delegations);
        }
    }
    state.polls.insert(session);
    if boot != state.boot {
        return answer(state, token, (Vec::new(), Vec::new()));
    }
    state.run(Poll { token, session, until_ms: None });
}

type News = (Vec<Revocation>, Vec<LockCheck>);

fn answer(state: &mut State, token: Token, (list, checks): News) {
    let reply = MetaReply::Revocations { boot: state.boot, list, checks };
    state.reply(token, Ok(grants::plain(&reply)));
}

struct Poll {
    token: Token,
    session: SessionId,
    until_ms: Option<u64>,
}

impl Task for Poll {
    fn step(&mut self, state: &mut State) -> Progress {
        let news = (state.delegations.poll(self.session, state.now.ms), state.lock_checks.poll(self.session));
        let nothing = news.0.is_empty() && news.1.is_empty();
        if nothing && self.until_ms.is_none() {
            let until_ms = state.now.ms + POLL_MS;
            self.until_ms = Some(until_ms);
            return Progress::Wait(Wait::on(Event::Poll(self.session)).or_until(until_ms));
        }
        answer(state, self.token, news);
        Progress::Done
    }
}

/// Takes delegations back; who waits for them goes on. Files that the client has open count as open before anybody does.
pub fn take_back(state: &mut State, token: Token, session: SessionId, returned: Vec<Returned>) {
    match note_open(state, session, &returned) {
        Ok(()) if state.ground.tables.has_unwritten() => {
            state.run(TakeBack { token, session, returned, logging: None });
        }
        Ok(()) => taken_back(state, token, session, &returned),
        Err(error) => state.reply(token, Err(error)),
    }
}

fn note_open(state: &mut State, session: SessionId, returned: &[Returned]) -> Result<(), WireError> {
    if returned.len() > MAX_DELEGATIONS {
        return Err(too_many());
    }
    let mut batch = Batch::new();
    for one in returned.iter().filter(|one| one.open) {
        let tables = &state.ground.tables;
        let exists = state.ground.is_here(one.inode.slot()) && tables.get(&keys::inode(one.inode))?.is_some();
        if exists && tables.get(&keys::open(one.inode, session))?.is_none() {
            if state.ground.locks.is_sealed(one.inode.slot()) {
                return Err(ErrorCode::NOT_READY.with("this file is about to be another server's"));
            }
            batch.put(keys::open(one.inode, session), []);
        }
    }
    state.apply(&batch)
}

fn taken_back(state: &mut State, token: Token, session: SessionId, returned: &[Returned]) {
    let now_ms = state.now.ms;
    let news = returned.iter().filter(|one| state.delegations.returned(session, one, now_ms)).count() > 0;
    if news {
        state.wake(Event::Delegations);
    }
    state.reply(token, Ok(grants::plain(&MetaReply::Done)));
}

/// Waits until what the client had committed, and what it has open, is written.
struct TakeBack {
    token: Token,
    session: SessionId,
    returned: Vec<Returned>,
    logging: Option<Ticket>,
}

impl Task for TakeBack {
    fn step(&mut self, state: &mut State) -> Progress {
        let Some(ticket) = self.logging else {
            self.logging = Some(state.log(Durability::Written));
            return Progress::Wait(Wait::COMPLETION);
        };
        match state.logged(ticket) {
            Some(Ok(())) => taken_back(state, self.token, self.session, &self.returned),
            Some(Err(error)) => state.reply(self.token, Err(error)),
            None => return Progress::Wait(Wait::COMPLETION),
        }
        Progress::Done
    }
}
