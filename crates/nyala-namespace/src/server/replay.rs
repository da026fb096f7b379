// SPDX-License-Identifier: Apache-2.0

//! Changes that a power cut took back are done again by the clients that were told that they are done.
//!
//! Each client keeps what it was told until it is on disk. A server that has been started waits for all clients that cache, lets
//! each send what it has, and does it again in the order of the log that was lost: under the same sequence numbers, with the same
//! inode numbers, layouts and times. Only then it answers anything else, and goes on with truncations that the run before left: one that
//! a client was told is over is over, though the log does not say so, as clients may have written there since. What comes later, from a client that caches nothing and
//! had not been heard of, is done again then, if that gives the same result.
//!
//! **Failure model.** A client may be gone: when its session ends, the others go on without it, and what rests on its changes is lost as
//! well, which their clients are told. Messages may be repeated or late; a client that lost the answer says everything again. What
//! was not lost is found by its kept reply, or by what it left. This process may die while it does things again: what was done
//! is found like that by the next run. A client may lie: it gets what it could have asked for by itself, and inode numbers of
//! earlier runs that nobody has. Nothing here waits for storage but what the change itself waits for.

use super::change_request::ChangeRequest;
use super::io::{Durability, Note, Ticket};
use super::replay_outcome::{begin, is_same, is_there};
use super::replay_rest::{forget_open, is_over, note_open, truncate};
use super::replays::Place;
use super::state::{Progress, State, Task};
use super::transaction::Turn;
use super::waits::{Event, Wait};
use nyala_wire::meta::{Acknowledged, MetaReply};
use nyala_wire::{ErrorCode, InodeId, SessionId, WireError};
use std::collections::{BTreeMap, BTreeSet};

/// So long a round waits for what holds inodes: transactions that other servers have to end, truncations that wait for storage, which may
/// come back later than this server.
const PATIENCE_MS: u64 = 60_000;

/// Does again what clients have said, in rounds: the first one when all that are awaited have. Ends with the last session of before.
#[derive(Default)]
pub struct DoAgain {
    round: Vec<SessionId>,
    left: BTreeMap<Place, Acknowledged>,
    open: BTreeSet<(InodeId, SessionId)>,
    current: Option<(Place, MetaReply, ChangeRequest)>,
    lost: Vec<Place>,
    /// Until then a change waits for whatever holds its inode.
    until_ms: u64,
    logging: Option<Ticket>,
}

impl Task for DoAgain {
    fn step(&mut self, state: &mut State) -> Progress {
        loop {
            if let Some(wait) = self.change_again(state) {
                return Progress::Wait(wait);
            }
            if let Some(ticket) = self.logging {
                // If the log fails, the process ends, and clients say it all to the next one.
                let Some(Ok(())) = state.logged(ticket) else { return Progress::Wait(Wait::COMPLETION) };
                self.logging = None;
                self.end_round(state);
            }
            if !state.replays.awaited.is_empty() {
                return Progress::Wait(Wait::on(Event::Replays));
            }
            if state.replays.said.is_empty() {
                is_done(state);
                let all = state.replays.silent.is_empty();
                return if all { Progress::Done } else { Progress::Wait(Wait::on(Event::Replays)) };
            }
            self.begin_round(state);
        }
    }
}

impl DoAgain {
    fn begin_round(&mut self, state: &mut State) {
        let replays = &mut state.replays;
        self.round = std::mem::take(&mut replays.said).into_iter().collect();
        self.left = std::mem::take(&mut replays.changes);
        self.open = std::mem::take(&mut replays.open);
        replays.bytes = 0;
        self.until_ms = state.now.ms + PATIENCE_MS;
        if !self.left.is_empty() {
            state.note(Note::DoesAgain(self.left.len()));
        }
        note_open(state, &mut self.open);
    }

    /// Goes through the round's changes; `None` once they are applied and being logged, or there is no round.
    fn change_again(&mut self, state: &mut State) -> Option<Wait> {
        if self.round.is_empty() || self.logging.is_some() {
            return None;
        }
        loop {
            let Some((place, told, change)) = &mut self.current else {
                let Some((place, change)) = self.left.pop_first() else { break };
                match begin(state, place.1, &change) {
                    Ok((told, change)) => self.current = Some((place, told, change)),
                    Err(error) => self.is_lost(state, place, &error),
                }
                continue;
            };
            let outcome = match change.advance(state) {
                Ok(Turn::Wait(wait)) => return Some(wait),
                Ok(_) if change.was_there => Ok(()),
                Ok(Turn::Done(body)) => is_same(state, told, &body),
                Ok(Turn::Failed(_)) => Err(ErrorCode::BUSY.into()),
                Err(error) => is_there(state, told, error),
            };
            change.end(state);
            let (place, inode) = (*place, change.locked_inode());
            if matches!(&outcome, Err(error) if error.code == ErrorCode::BUSY) && state.now.ms < self.until_ms {
                change.begin_again(state);
                continue;
            }
            self.current = None;
            match outcome {
                Ok(()) => is_over(state, inode),
                Err(error) => self.is_lost(state, place, &error),
            }
        }
        forget_open(state, &std::mem::take(&mut self.open));
        self.logging = Some(state.log(Durability::OnDisk));
        None
    }

    fn is_lost(&mut self, state: &mut State, place: Place, error: &WireError) {
        state.note(Note::NotDoneAgain(place.1, place.2, error.clone()));
        self.lost.push(place);
    }

    fn end_round(&mut self, state: &mut State) {
        for session in self.round.drain(..) {
            state.replays.silent.remove(&session);
            let mut lost: Vec<u64> = self.lost.iter().filter(|place| place.1 == session).map(|place| place.2).collect();
            lost.sort_unstable();
            state.replays.lost.insert(session, lost);
        }
        self.lost.clear();
    }
}

/// Nobody who is waited for has anything left to say: requests that wait for that look again.
fn is_done(state: &mut State) {
    state.replays.over = true;
    state.wake(Event::Replays);
    state.wake(Event::Delegations);
    truncate(state);
}
