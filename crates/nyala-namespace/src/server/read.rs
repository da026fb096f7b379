// SPDX-License-Identifier: Apache-2.0

//! A request that changes nothing.
//!
//! Failure model: what it shows may be about to change: another client may have written it under a delegation, and a
//! transaction may hold it. It waits for both, until its time limit.

use super::answers;
use super::backoff::{Backoff, look_again};
use super::grants;
use super::ground::Caller;
use super::io::Token;
use super::lookup_open::lookup_open;
use super::recall::Recall;
use super::slots::gate;
use super::state::{Progress, State, Task};
use super::waits::Event;
use crate::change::{Change, Fault, Step};
use crate::delegations::Need;
use crate::doubts::Doubts;
use crate::listings::Listings;
use crate::ns;
use nyala_wire::meta::{DelegationMode, MetaOp, MetaReply, MetaRequest};
use nyala_wire::meta_tx::TxId;
use nyala_wire::{ErrorCode, WireError};

/// One such request.
pub struct Read {
    token: Token,
    request: MetaRequest,
    backoff: Backoff,
    recall: Recall,
    /// Transactions that were changing the directory to be listed when the request came. They may be decided, and show
    /// elsewhere already: a name on its way would be found in neither directory. Later ones do not matter, so this ends.
    before: Vec<TxId>,
    /// What others were last asked to let go of: once they have, this is what there was a quarrel about.
    asked: Option<DelegationMode>,
}

/// How far one attempt came.
enum Attempt {
    Answered(Vec<u8>),
    Waits(Event),
}

impl Read {
    /// Begins.
    pub fn new(state: &State, token: Token, request: MetaRequest) -> Read {
        let before = match &request.op {
            MetaOp::ReadDir { dir, .. } => state.ground.locks.pinned_by(*dir),
            _ => Vec::new(),
        };
        let recall = Recall::new(request.session);
        Read { token, request, backoff: Backoff::new(state.now.ms), recall, before, asked: None }
    }

    fn attempt(&mut self, state: &mut State) -> Result<Attempt, WireError> {
        if let (MetaOp::ReadDir { dir, .. }, false) = (&self.request.op, self.before.is_empty()) {
            let now = state.ground.locks.pinned_by(*dir);
            if self.before.iter().any(|tx| now.contains(tx)) {
                return Ok(Attempt::Waits(Event::Released));
            }
            self.before.clear();
        }
        if let MetaOp::Acquire { inode } = &self.request.op {
            let mode = self.asked.unwrap_or_else(|| grants::best(state, &self.request, *inode));
            let clear = self.recall.clear_for_grant(state, *inode, mode);
            self.asked = Some(if clear { mode } else { grants::best(state, &self.request, *inode) });
            if !clear {
                return Ok(Attempt::Waits(Event::Delegations));
            }
        }
        match self.look(state) {
            Ok(mut reply) => {
                grants::cut_listing(state, self.request.session, &mut reply);
                if !self.recall.clear(state, &grants::shown(&reply), Need::Read) {
                    return Ok(Attempt::Waits(Event::Delegations));
                }
                Ok(Attempt::Answered(answers::granted(state, &self.request, &mut reply, self.asked)))
            }
            Err(Fault::Refused(error)) => answers::missing(state, &self.request, error).map(Attempt::Answered),
            Err(Fault::Blocked) => Ok(Attempt::Waits(Event::Released)),
            Err(Fault::Elsewhere(_)) => Err(ErrorCode::UNKNOWN_MESSAGE.into()),
        }
    }

    fn look(&self, state: &mut State) -> Step<MetaReply> {
        gate::pass(&state.ground, &self.request.op)?;
        let State { ground, doubts, listings, delegations, now, .. } = state;
        let request = &self.request;
        let free = |inode| delegations.is_free_to_read(inode, request.session, now.ms);
        let reply = ground.run(&Caller::of(request), None, |mut change, env| {
            let reply = ns::run(&mut change, env, &request.op)?;
            let (mut reply, opened) = lookup_open(request, &mut change, reply, &free)?;
            check_listing(listings, request, &mut change, &mut reply)?;
            Doubts::tell(doubts, &mut reply);
            Ok::<_, Fault>((reply, opened))
        });
        let (reply, opened) = reply?;
        if opened {
            state.count("lookup.content");
        }
        Ok(reply)
    }
}

impl Task for Read {
    fn step(&mut self, state: &mut State) -> Progress {
        let result = match self.attempt(state) {
            Ok(Attempt::Waits(event)) => match self.backoff.check(state.now.ms) {
                Ok(()) => return Progress::Wait(look_again(event, state.now.ms)),
                Err(error) => Err(error),
            },
            Ok(Attempt::Answered(body)) => Ok(body),
            Err(error) => Err(error),
        };
        self.recall.end(state);
        state.reply(self.token, result);
        Progress::Done
    }
}

/// Of a listing that is too short the end is an error.
fn check_listing(
    listings: &mut Listings,
    request: &MetaRequest,
    change: &mut Change,
    reply: &mut MetaReply,
) -> Step<()> {
    match (&request.op, reply) {
        (MetaOp::ReadDir { dir, after, .. }, MetaReply::Listing(listing)) => {
            listings.check(change, request.session, (*dir, *after), listing)
        }
        _ => Ok(()),
    }
}
