// SPDX-License-Identifier: Apache-2.0

//! The participant's side of a transaction. [`crate::tx`] has the failure model and the recovery table.

use super::backoff::look_again;
use super::consider;
use super::ground::Caller;
use super::io::{Durability, Note, Ticket, Token};
use super::lock_wait;
use super::look_at_fragment;
use super::recall::Recall;
use super::room_gate::RoomGate;
use super::slots;
use super::state::{Progress, Promise, State, Task};
use super::waits::{Event, Wait};
use crate::access::check_part;
use crate::change::Fault;
use crate::delegations::Need;
use crate::growth;
use crate::locks::LockKey;
use crate::tx::participant::{self, Prepare as Prepared};
use nyala_wire::meta::Caller as User;
use nyala_wire::meta_tx::{Outcome, PartResult, TxAction, TxId, TxPart, TxReply, TxRequest};
use nyala_wire::{ErrorCode, InodeId, SessionId, Time, WireError};

/// A coordinator waits so long for clients to return delegations; less than its timeout for one step.
const RECALL_LIMIT_MS: u64 = 2_000;

/// A step of a transaction that another server coordinates.
pub fn arrive(state: &mut State, token: Token, TxRequest { tx, action }: TxRequest) {
    if !state.now.serving {
        return state.answer(token, Err(ErrorCode::NOT_READY.with("this server is waiting for its lease")));
    }
    let looks =
        matches!(action, TxAction::Prepare { .. } | TxAction::GetParent { .. } | TxAction::LookAtFragment { .. });
    if looks && !state.replays.over() {
        let error = ErrorCode::BUSY.with("clients have not said yet what a restart may have taken back");
        return state.answer(token, Err(error));
    }
    match action {
        TxAction::MoveRows(rows) => slots::arrive(state, token, rows),
        TxAction::Prepare { now, parts, stage, caller, owned, session } => {
            let phase = Phase::Memory(RoomGate::default());
            let recall = Recall::new(who_forgets(state, &parts, session).unwrap_or(SessionId(0)));
            let owned = owned.unwrap_or_default();
            prepare(state, token, Prepare { token, tx, now, parts, stage, caller, owned, recall, phase });
        }
        TxAction::Commit | TxAction::Abort => match end(state, tx, action == TxAction::Commit) {
            Ok(durability) => state.run(Confirm { token, durability, logging: None }),
            Err(error) => state.answer(token, Err(error)),
        },
        TxAction::Status => {
            let outcome = status(state, tx);
            state.answer(token, outcome.map(TxReply::Outcome));
        }
        TxAction::LookAtFragment { inode, range, most } => {
            let seen = look_at_fragment::answer(state, inode, range, most);
            state.answer(token, seen);
        }
        TxAction::ConsiderSplit { dir } => {
            consider::consider_here(state, dir);
            state.answer(token, Ok(TxReply::Done));
        }
        TxAction::LockEdges => {
            let edges = lock_wait::edges(state);
            state.answer(token, Ok(TxReply::LockEdges(edges)));
        }
        TxAction::GetParent { dir } => {
            let parent = parent(state, tx, dir);
            state.answer(token, parent.map(TxReply::Parent));
        }
    }
}

/// The session with this server of the coordinator's client, if that holds what the parts change and forgets it when it hears that it was done: a
/// directory that is removed.
fn who_forgets(state: &State, parts: &[TxPart], elsewhere: Option<SessionId>) -> Option<SessionId> {
    match parts {
        [TxPart::RemoveDir { inode }] => state.delegations.session_of_client(*inode, elsewhere?),
        _ => None,
    }
}

/// The directory above one that is here.
fn parent(state: &mut State, tx: TxId, dir: InodeId) -> Result<InodeId, WireError> {
    if !state.ground.is_usable(dir.slot()) {
        return Err(ErrorCode::BUSY.with("the directory's slot is another server's, or about to be"));
    }
    let parent = state.ground.look(Some(tx), |mut change| change.dir(dir).map(|(_, part)| part.parent));
    parent.map_err(Fault::refusal)
}

/// Parts are to be prepared, if they are this server's.
fn prepare(state: &mut State, token: Token, prepare: Prepare) {
    let parts = &prepare.parts;
    let closed = |part: &TxPart| state.leaving.as_ref().is_some_and(|out| out.closed && out.slot == part.slot());
    if parts.iter().any(closed) {
        return state.answer(token, Err(ErrorCode::BUSY.with("a slot is about to be another server's")));
    }
    if parts.iter().any(|part| !state.ground.is_here(part.slot())) {
        return state.answer(token, Err(ErrorCode::WRONG_SERVER.into()));
    }
    state.run(prepare);
}

/// What has to happen next.
enum Phase {
    /// There has to be memory for changes, and then room for these.
    Memory(RoomGate),
    Room(RoomGate),
    /// Clients return what the parts change, before it is locked: a client that has to write something first could not do that
    /// afterwards. The locks then keep others from being given it. The coordinator's client is an exception only of what it
    /// forgets with the answer. Since when, milliseconds.
    Recalling(u64),
    /// The promise to commit has to outlive a power cut.
    Logging(Vec<PartResult>, Ticket),
}

/// Prepares parts.
struct Prepare {
    token: Token,
    tx: TxId,
    now: Time,
    parts: Vec<TxPart>,
    stage: u8,
    caller: Option<Box<User>>,
    owned: Vec<InodeId>,
    recall: Recall,
    phase: Phase,
}

impl Task for Prepare {
    fn step(&mut self, state: &mut State) -> Progress {
        let result = match self.advance(state) {
            Ok(Err(wait)) => return Progress::Wait(wait),
            Ok(Ok(results)) => Ok(TxReply::Prepared(results)),
            Err(error) => Err(error),
        };
        self.recall.end(state);
        state.answer(self.token, result);
        Progress::Done
    }
}

impl Prepare {
    /// The results, or what it waits for.
    fn advance(&mut self, state: &mut State) -> Result<Result<Vec<PartResult>, Wait>, WireError> {
        loop {
            match &mut self.phase {
                Phase::Memory(gate) => match gate.pass(state, None) {
                    Some(_) => self.phase = Phase::Room(RoomGate::default()),
                    None => return Ok(Err(Wait::COMPLETION)),
                },
                Phase::Room(gate) => match gate.pass(state, Some(growth::of_parts(&self.parts))) {
                    Some(room) => self.phase = room.map(|()| Phase::Recalling(state.now.ms))?,
                    None => return Ok(Err(Wait::COMPLETION)),
                },
                Phase::Recalling(since_ms) => {
                    let since_ms = *since_ms;
                    if !self.recalled(state) {
                        if state.now.ms.saturating_sub(since_ms) > RECALL_LIMIT_MS {
                            return Err(ErrorCode::BUSY.with("clients have not let go of their delegations yet"));
                        }
                        return Ok(Err(look_again(Event::Delegations, state.now.ms)));
                    }
                    self.recall.end(state);
                    let results = self.prepare(state)?;
                    self.phase = Phase::Logging(results, state.log(Durability::OnDisk));
                }
                Phase::Logging(results, ticket) => {
                    return match state.logged(*ticket) {
                        Some(logged) => logged.map(|()| Ok(std::mem::take(results))),
                        None => Ok(Err(Wait::COMPLETION)),
                    };
                }
            }
        }
    }

    fn look(&self, state: &mut State) -> Result<Prepared, Fault> {
        let State { ground, ended, .. } = state;
        ground.run(&Caller::server(self.now), Some(self.tx), |mut change, env| {
            if let Some(user) = self.caller.as_deref() {
                self.parts.iter().try_for_each(|part| check_part(&mut change, env, user, &self.owned, part))?;
            }
            participant::prepare(change, ended, self.tx, self.now, &self.parts, self.stage)
        })
    }

    /// Whether nobody else holds a delegation of what the parts change, or nothing will be prepared anyway.
    fn recalled(&mut self, state: &mut State) -> bool {
        let Ok(Prepared::New { locks, .. }) = self.look(state) else { return true };
        let inodes: Vec<InodeId> = locks.iter().filter_map(LockKey::inode).collect();
        // Some of these may go.
        state.delegations.are_bounded() && self.recall.clear(state, &inodes, Need::Remove)
    }

    fn prepare(&mut self, state: &mut State) -> Result<Vec<PartResult>, WireError> {
        if !self.parts.iter().all(|part| state.ground.is_usable(part.slot())) {
            return Err(ErrorCode::BUSY.with("a slot is another server's by now"));
        }
        match self.look(state).map_err(Fault::refusal)? {
            Prepared::Repeated(results) => Ok(results),
            Prepared::New { batch, locks, results } => {
                state.apply(&batch)?;
                // They were free a moment ago, and nothing else ran since.
                state.lock(self.tx, &locks)?;
                let promise = Promise { since_ms: state.now.ms, recovered: false };
                state.prepared.insert(self.tx, promise);
                Ok(results)
            }
        }
    }
}

/// Does what was prepared, or forgets it; how safe that has to be before it is confirmed. If it happened before, a commit is
/// confirmed only when it is on disk: the coordinator forgets the transaction after the second confirmation.
pub fn end(state: &mut State, tx: TxId, commit: bool) -> Result<Durability, WireError> {
    let ended = state.ground.look(Some(tx), |change| participant::end(change, tx, commit));
    let ended = match ended {
        Ok(ended) => ended,
        Err(fault) => {
            // What was prepared is locked, so nothing can stand in its way: this is a bug or a damaged table.
            state.note(Note::CannotEnd(tx, format!("{fault:?}")));
            return Err(fault.refusal());
        }
    };
    state.ended.note(tx);
    let mut first = false;
    if let Some(participant::End { batch, destroyed }) = ended {
        state.apply(&batch)?;
        destroyed.into_iter().for_each(|inode| state.delegations.end_inode(inode));
        let promise = state.prepared.remove(&tx);
        state.unlock(tx);
        first = promise.is_some_and(|promise| !promise.recovered);
    }
    Ok(if commit && !first { Durability::OnDisk } else { Durability::Written })
}

/// Confirms the end of a transaction once it is safe.
struct Confirm {
    token: Token,
    durability: Durability,
    logging: Option<Ticket>,
}

impl Task for Confirm {
    fn step(&mut self, state: &mut State) -> Progress {
        let Some(ticket) = self.logging else {
            self.logging = Some(state.log(self.durability));
            return Progress::Wait(Wait::COMPLETION);
        };
        let Some(logged) = state.logged(ticket) else { return Progress::Wait(Wait::COMPLETION) };
        state.answer(self.token, logged.map(|()| TxReply::Done));
        Progress::Done
    }
}

/// What became of a transaction that this server coordinates.
fn status(state: &mut State, tx: TxId) -> Result<Outcome, WireError> {
    if tx.coordinator != state.ground.me {
        return Err(ErrorCode::WRONG_SERVER.into());
    }
    let undecided = state.undecided.contains(&tx.number);
    let outcome = state.ground.look(Some(tx), |change| participant::outcome(&change, tx.number, undecided));
    outcome.map_err(Fault::refusal)
}
