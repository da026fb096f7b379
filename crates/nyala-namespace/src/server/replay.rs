// SPDX-License-Identifier: Apache-2.0

//! Changes that a power cut took back are done again by the clients that were told that they are done.
//!
//! Each client keeps what it was told until it is on disk. A server that has been started waits for all clients of before, lets
//! each send what it has, and does it again in the order of the log that was lost: under the same sequence numbers, with the same
//! inode numbers, layouts and times. It waits as well until no slot may go that an earlier run was giving away. Only then it does anything else, and goes on with truncations that the run before left: one that
//! a client was told is over is over, though the log does not say so, as clients may have written there since.
//!
//! **Failure model.** A client may be gone: when its session ends, the others go on without it, and what rests on its changes is lost as
//! well, which their clients are told. Messages may be repeated or late; a client that lost the answer says everything again, and
//! what was meant for another run is refused. What
//! was not lost is found by its kept reply, or by what it left. This process may die while it does things again: what was done
//! is found like that by the next run. A client may lie: it gets what it could have asked for by itself, and inode numbers of
//! earlier runs that nobody has. Nothing here waits for storage but what the change itself waits for.

use super::change_request::ChangeRequest;
use super::io::{Durability, Note, Ticket};
use super::replay_compare::{is_same, is_there};
use super::replay_outcome::begin;
use super::replay_rest::{forget_open, is_over, note_open, truncate};
use super::replays::ReplayPosition;
use super::slots::is_sealed_by_another_run;
use super::state::{Progress, State, Task};
use super::transaction::Turn;
use super::waits::{Event, Wait};
use nyala_wire::meta::{Acknowledged, MetaReply};
use nyala_wire::{ErrorCode, InodeId, SessionId, WireError};
use std::collections::{BTreeMap, BTreeSet};

/// So long a round waits for what holds inodes: transactions that other servers have to end, truncations that wait for storage, which may
/// come back later than this server.
const WAIT_TIMEOUT_MS: u64 = 60_000;

/// Does again what clients have said, once all have.
#[derive(Default)]
pub struct DoAgain {
    begun: bool,
    remaining: BTreeMap<ReplayPosition, Acknowledged>,
    /// Files that clients have open, and said so.
    open: BTreeSet<(InodeId, SessionId)>,
    current: Option<(ReplayPosition, MetaReply, ChangeRequest)>,
    lost: Vec<ReplayPosition>,
    /// Until then a change waits for whatever holds its inode.
    until_ms: u64,
    logging: Option<Ticket>,
}

impl Task for DoAgain {
    fn step(&mut self, state: &mut State) -> Progress {
        if !self.begun {
            if !state.replays.have_all_said() {
                return Progress::Wait(Wait::on(Event::Replays));
            }
            if is_sealed_by_another_run(state) {
                return Progress::Wait(Wait::on(Event::Map));
            }
            self.begin(state);
        }
        if self.logging.is_none()
            && let Some(wait) = self.change_again(state)
        {
            return Progress::Wait(wait);
        }
        if let Some(ticket) = self.logging {
            // If the log fails, the process ends, and clients say it all to the next one.
            let Some(Ok(())) = state.logged(ticket) else { return Progress::Wait(Wait::COMPLETION) };
        }
        self.end(state);
        Progress::Done
    }
}

impl DoAgain {
    fn begin(&mut self, state: &mut State) {
        let replays = &mut state.replays;
        self.begun = true;
        self.remaining = std::mem::take(&mut replays.changes);
        self.open = std::mem::take(&mut replays.open);
        replays.bytes = 0;
        self.until_ms = state.now.ms + WAIT_TIMEOUT_MS;
        if !self.remaining.is_empty() {
            state.note(Note::DoesAgain(self.remaining.len()));
        }
        self.open.iter().for_each(|(inode, session)| note_open(state, *inode, *session));
    }

    /// Goes through the changes; `None` once they are applied and being logged, or nobody is waited for.
    fn change_again(&mut self, state: &mut State) -> Option<Wait> {
        loop {
            let Some((position, acknowledged, change)) = &mut self.current else {
                let Some((position, change)) = self.remaining.pop_first() else { break };
                match begin(state, position.1, &change) {
                    Ok(begun) => self.current = begun.map(|(acknowledged, change)| (position, acknowledged, change)),
                    Err(error) => self.is_lost(state, position, &error),
                }
                continue;
            };
            let outcome = match change.advance(state) {
                Ok(Turn::Wait(wait)) => return Some(wait),
                Ok(_) if change.was_there => Ok(()),
                Ok(Turn::Done(body)) => is_same(state, acknowledged, &body),
                Ok(Turn::Failed(_)) => Err(ErrorCode::BUSY.into()),
                Err(error) => is_there(state, acknowledged, error),
            };
            change.end(state);
            let position = *position;
            if matches!(&outcome, Err(error) if error.code == ErrorCode::BUSY) && state.now.ms < self.until_ms {
                change.begin_again(state);
                continue;
            }
            if outcome.is_ok() {
                is_over(state, change);
                let open = |inode: &InodeId| self.open.contains(&(*inode, position.1));
                change.closed().into_iter().filter(open).for_each(|inode| note_open(state, inode, position.1));
            }
            self.current = None;
            if let Err(error) = outcome {
                self.is_lost(state, position, &error);
            }
        }
        forget_open(state, &std::mem::take(&mut self.open));
        self.logging = (!state.replays.silent.is_empty()).then(|| state.log(Durability::OnDisk));
        None
    }

    fn is_lost(&mut self, state: &mut State, position: ReplayPosition, error: &WireError) {
        state.note(Note::NotDoneAgain(position.1, position.2, error.clone()));
        self.lost.push(position);
    }

    /// Everything is done again: clients are told what is lost, and requests that wait for it look again.
    fn end(&mut self, state: &mut State) {
        let replays = &mut state.replays;
        for session in std::mem::take(&mut replays.silent) {
            let mut lost: Vec<u64> =
                self.lost.iter().filter(|position| position.1 == session).map(|position| position.2).collect();
            lost.sort_unstable();
            replays.lost.insert(session, lost);
        }
        replays.over = true;
        state.wake(Event::Replays);
        state.wake(Event::Delegations);
        truncate(state);
    }
}
