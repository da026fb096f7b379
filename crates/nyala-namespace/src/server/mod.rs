// SPDX-License-Identifier: Apache-2.0

//! A metadata server as a state machine: [`Server::handle`] takes what happens and returns what is to be done.
//!
//! Requests that cannot be answered at once wait as tasks ([`state::Task`]): for locks of transactions, for delegations that other
//! clients hold, for the log, for other servers, for storage, for a moment. Each step of a task runs alone and looks again at
//! everything, so what it decides upon is what it changes. Nothing here does I/O, reads a clock or draws a random number: the same
//! server runs in the metadata service and in simulations.
//!
//! **Failure model.** The process may die at any instruction: what another relied on was logged before ([`io::Effect`]), and
//! [`Server::start`] takes up the rest from the tables. Requests may be repeated, late, or of sessions that have ended. Answers of
//! other servers may be lost; storage may be away for long. When the log cannot be written, whoever runs the server has to end it:
//! what is in memory may then differ from what is on disk, and only the disk counts.

mod admission;
mod adopt;
mod answers;
mod backoff;
mod change_request;
mod consider;
mod considered;
mod deferred_unlink;
mod delays;
mod exclusive;
mod forget;
mod grants;
mod ground;
mod held;
mod identity;
mod implicit_open;
pub mod io;
mod lock_check;
mod lock_wait;
mod lock_waits;
mod look_at_fragment;
mod lookup_open;
pub mod memory;
mod note;
pub mod op_names;
mod participant;
mod poll;
mod read;
mod reasons;
mod recall;
mod recover;
mod replay;
mod replay_compare;
mod replay_outcome;
mod replay_request;
mod replay_rest;
pub mod replays;
mod request;
mod resolve_doubts;
mod resplit;
mod room_gate;
mod session_end;
mod session_expiry;
mod session_open;
mod slots;
mod spill;
pub mod state;
mod telling;
mod transaction;
mod transaction_reply;
mod truncation;
mod waits;

pub use delays::Waited;
use ground::Ground;
pub use identity::Identity;
use io::{Effect, Input, Moment, Tables, Token};
use nyala_wire::{Time, WireError, map::ClusterMap};
use state::State;
use std::sync::Arc;

/// A metadata server.
pub struct Server {
    state: State,
}

impl Server {
    /// A server on these tables. It answers nobody before [`Server::start`].
    pub fn new(identity: Identity, tables: Box<dyn Tables>, map: Arc<ClusterMap>) -> Server {
        let ground = Ground::new(identity.target, tables, map, identity.seed);
        Server { state: State::new(ground.splitting_above(identity.split_above), identity.boot) }
    }

    /// Makes the root directory, if it is to be here and is not; whether it did: it has to be durable before anybody is answered.
    pub fn make_root(&mut self, time: Time) -> Result<bool, WireError> {
        let root = recover::root(&self.state, time)?;
        root.map_or(Ok(false), |batch| self.state.apply(&batch).map(|()| true))
    }

    /// Takes up what the last run left in the tables, and begins what a server does by itself. `all_answered`: nothing is missing in the
    /// tables that the last run answered for. An error: the tables cannot be read.
    pub fn start(&mut self, now: Moment, all_answered: bool, effects: &mut Vec<Effect>) -> Result<(), WireError> {
        self.state.now = now;
        let whole = recover::recover(&mut self.state, all_answered)?;
        recover::begin(&mut self.state, whole)?;
        self.finish(effects);
        Ok(())
    }

    /// Takes in what happens, and appends what is to be done about it. Time does not go back.
    #[inline]
    pub fn handle(&mut self, now: Moment, input: Input, effects: &mut Vec<Effect>) {
        assert!(now.ms >= self.state.now.ms, "time goes back");
        self.state.now = now;
        match input {
            Input::Request(token, request) => request::arrive(&mut self.state, token, request),
            Input::Transaction(token, request) => participant::arrive(&mut self.state, token, request),
            Input::Completed(ticket, completion) => self.state.complete(ticket, completion),
            Input::Map(map) => slots::take_map(&mut self.state, map),
            Input::Tick => self.state.pass(),
        }
        self.finish(effects);
    }

    #[inline]
    fn finish(&mut self, effects: &mut Vec<Effect>) {
        self.state.run_ready();
        effects.append(&mut self.state.effects);
    }

    /// When [`Input::Tick`] is due, milliseconds; `None`: nobody waits for a moment.
    #[inline]
    pub fn next_wake(&self) -> Option<u64> {
        self.state.next_ms()
    }

    /// What a client waited for whose request was just answered; empty: nothing for as long as a millisecond.
    pub fn take_waited(&mut self, token: Token) -> Waited {
        self.state.delays.take(token)
    }

    /// The cluster map that it acts upon.
    pub fn map(&self) -> &Arc<ClusterMap> {
        self.state.ground.map()
    }

    /// What it has in memory, to look at.
    pub fn state(&self) -> &State {
        &self.state
    }
}
