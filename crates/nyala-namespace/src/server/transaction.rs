// SPDX-License-Identifier: Apache-2.0

//! One attempt to do an operation as a transaction, from the coordinator's first step to the last participant's
//! acknowledgement. [`crate::tx`] has the failure model and the recovery table.

use super::backoff::look_again;
use super::consider::consider;
use super::ground::Caller;
use super::io::{Durability, Effect, Ticket};
use super::recall::Recall;
use super::room_gate::RoomGate;
use super::slots::gate;
use super::state::State;
use super::telling::Telling;
use super::waits::{Event, Wait};
use crate::access::owned_elsewhere;
use crate::change::Fault;
use crate::delegations::Need;
use crate::growth;
use crate::sessions::Leave;
use crate::tx::coordinator::{Ask, Coordinator, Heard, decide};
use crate::tx::{Plan, parts};
use nyala_wire::meta::{MetaReply, MetaRequest};
use nyala_wire::meta_tx::{PartResult, TxAction, TxId, TxPart, TxReply, TxRequest};
use nyala_wire::{ErrorCode, WireError};

/// So long a transaction that holds its locks waits for clients to return delegations.
const RECALL_LIMIT_MS: u64 = 300;

/// Why an attempt came to nothing.
#[derive(Debug)]
pub enum Failed {
    /// The operation is refused; this is the answer.
    Refused(WireError),
    /// Something stood in the way or changed meanwhile: start over.
    Again,
    /// The decision was made, but the log is closing or broken: whether it holds, the next start will see. Nobody may be
    /// told anything.
    Unknown(WireError),
}

impl From<WireError> for Failed {
    fn from(error: WireError) -> Self {
        match error.code {
            // A slot may be another server's by now.
            ErrorCode::BUSY | ErrorCode::NO_TRANSACTION | ErrorCode::WRONG_SERVER | ErrorCode::WRONG_EPOCH => {
                Failed::Again
            }
            _ => Failed::Refused(error),
        }
    }
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused(error) => error.into(),
            Fault::Blocked | Fault::Elsewhere(_) => Failed::Again,
        }
    }
}

/// How far an attempt came.
pub enum Turn {
    /// It goes on later.
    Wait(Wait),
    /// It is over, everywhere; the client's reply.
    Done(Vec<u8>),
    /// It came to nothing.
    Failed(Failed),
}

/// The parts that are here, and the reply to the client.
type Decision = (Vec<TxPart>, MetaReply);

enum Phase {
    Step(Heard),
    Preparing(Preparing),
    AskingParent(Ticket),
    /// All is prepared elsewhere.
    Room(Decision, RoomGate),
    /// Clients return what the parts here change. Since when, milliseconds.
    Recalling(Decision, u64),
    Logging(Vec<u8>, Ticket),
    Telling(Vec<u8>, Telling),
}

/// Parts that are being prepared, by several servers at once.
struct Preparing {
    asked: Vec<Ticket>,
    results: Vec<PartResult>,
    /// So many have answered, in order.
    heard: usize,
}

/// One attempt.
pub struct Transaction {
    tx: TxId,
    leave: Leave,
    coordinator: Coordinator,
    recall: Recall,
    phase: Phase,
    /// Place of the decision in the log.
    pub position: Option<u64>,
}

impl Transaction {
    /// Begins.
    pub fn new(state: &mut State, plan: Plan, request: &MetaRequest, leave: Leave) -> Transaction {
        let tx = state.new_tx();
        state.undecided.insert(tx.number);
        let (coordinator, recall) = (Coordinator::new(plan), Recall::new(request.session));
        Transaction { tx, leave, coordinator, recall, phase: Phase::Step(Heard::Ready), position: None }
    }

    /// Goes on as far as it can.
    pub fn advance(&mut self, state: &mut State, request: &MetaRequest) -> Turn {
        if let Phase::Telling(body, telling) = &mut self.phase {
            return match telling.advance(state) {
                Some(wait) => Turn::Wait(wait),
                None => Turn::Done(std::mem::take(body)),
            };
        }
        let failed = match self.drive(state, request) {
            Ok(Some(wait)) => return Turn::Wait(wait),
            Ok(None) => None,
            Err(failed) => Some(failed),
        };
        self.recall.end(state);
        state.unlock(self.tx);
        if !matches!(failed, Some(Failed::Unknown(_))) {
            state.undecided.remove(&self.tx.number);
        }
        match failed {
            None => self.advance(state, request),
            Some(Failed::Unknown(error)) => Turn::Failed(Failed::Unknown(error)),
            Some(failed) => {
                // If one gets lost, the participant asks for the outcome and hears the same.
                for target in self.coordinator.participants() {
                    let abort = TxRequest { tx: self.tx, action: TxAction::Abort };
                    state.ask_and_forget(|ticket| Effect::Ask(ticket, target, abort));
                }
                Turn::Failed(failed)
            }
        }
    }

    /// Until the decision is safe (`None`), or the attempt has failed.
    fn drive(&mut self, state: &mut State, request: &MetaRequest) -> Result<Option<Wait>, Failed> {
        loop {
            // Its slot may have left meanwhile. What is decided is not affected: locks are held then.
            if !matches!(self.phase, Phase::Logging(..)) && gate::pass(&state.ground, &request.op).is_err() {
                return Err(Failed::Again);
            }
            let phase = std::mem::replace(&mut self.phase, Phase::Step(Heard::Ready));
            self.phase = match phase {
                Phase::Step(heard) => self.step(state, request, heard)?,
                Phase::Preparing(mut preparing) => match preparing.advance(state)? {
                    Some(results) => Phase::Step(Heard::Prepared(results)),
                    None => return self.waits(Phase::Preparing(preparing), Wait::COMPLETION),
                },
                Phase::AskingParent(ticket) => match state.heard(ticket) {
                    Some(Ok(TxReply::Parent(parent))) => Phase::Step(Heard::Parent(parent)),
                    Some(Ok(_)) => return Err(WireError::from(ErrorCode::BAD_MESSAGE).into()),
                    Some(Err(error)) => return Err(error.into()),
                    None => return self.waits(Phase::AskingParent(ticket), Wait::COMPLETION),
                },
                Phase::Room(decision, mut gate) => match gate.pass(state, Some(growth::of_parts(&decision.0))) {
                    Some(room) => room.map(|()| Phase::Recalling(decision, state.now.ms))?,
                    None => return self.waits(Phase::Room(decision, gate), Wait::COMPLETION),
                },
                Phase::Recalling(decision, since_ms) => {
                    if !self.recalled(state, request, &decision.0)? {
                        if state.now.ms.saturating_sub(since_ms) > RECALL_LIMIT_MS {
                            return Err(Failed::Again);
                        }
                        let wait = look_again(Event::Delegations, state.now.ms);
                        return self.waits(Phase::Recalling(decision, since_ms), wait);
                    }
                    self.decide(state, request, decision)?
                }
                Phase::Logging(body, ticket) => match state.logged(ticket) {
                    Some(logged) => {
                        logged.map_err(Failed::Unknown)?;
                        // The client hears of it when every server shows it.
                        let telling = Telling::new(self.tx.number, self.coordinator.participants());
                        self.phase = Phase::Telling(body, telling);
                        return Ok(None);
                    }
                    None => return self.waits(Phase::Logging(body, ticket), Wait::COMPLETION),
                },
                // why: `advance` tells the participants before it comes here.
                Phase::Telling(..) => unreachable!("it is decided"),
            };
        }
    }

    fn waits(&mut self, phase: Phase, wait: Wait) -> Result<Option<Wait>, Failed> {
        self.phase = phase;
        Ok(Some(wait))
    }

    fn step(&mut self, state: &mut State, request: &MetaRequest, heard: Heard) -> Result<Phase, Failed> {
        let (tx, coordinator) = (self.tx, &mut self.coordinator);
        let caller = Caller::of_transaction(request);
        let ask = state.ground.run(&caller, Some(tx), |mut change, env| coordinator.step(&mut change, env, heard))?;
        Ok(match ask {
            Ask::Prepare(list) => {
                let user = request.caller.as_deref();
                let owned = match user {
                    Some(user) => state.ground.run(&caller, Some(tx), |mut change, env| {
                        owned_elsewhere(&mut change, env, user, &request.op)
                    })?,
                    None => Vec::new(),
                };
                let owned = Some(owned).filter(|owned| !owned.is_empty());
                let prepare = |(target, stage, parts)| {
                    let (now, session) = (request.now, Some(request.session));
                    let (caller, owned) = (request.caller.clone(), owned.clone());
                    state.ask(target, tx, TxAction::Prepare { now, parts, stage, caller, owned, session })
                };
                let asked = list.into_iter().map(prepare).collect();
                Phase::Preparing(Preparing { asked, results: Vec::new(), heard: 0 })
            }
            Ask::Parent(target, dir) => Phase::AskingParent(state.ask(target, tx, TxAction::GetParent { dir })),
            Ask::Lock(keys) => {
                state.lock(tx, &keys)?;
                Phase::Step(Heard::Ready)
            }
            Ask::Decide { here, reply } => {
                state.sessions.check(self.leave)?;
                Phase::Room((here, reply), RoomGate::default())
            }
        })
    }

    /// Whether clients have returned what the parts here change. Not for long: one that has to write something first cannot
    /// while the transaction holds its locks, so it gives them up and comes again.
    fn recalled(&mut self, state: &mut State, request: &MetaRequest, here: &[TxPart]) -> Result<bool, Failed> {
        are_here(state, here)?;
        let caller = Caller::of_transaction(request);
        let (touched, gone) = state.ground.run(&caller, Some(self.tx), |mut change, env| {
            for part in here {
                let result = parts::check(&mut change, part, env.now)?;
                parts::perform(&mut change, part, &result, env.now)?;
            }
            Ok::<_, Fault>((change.touched(), change.destroyed()))
        })?;
        Ok(self.recall.clear(state, &touched, Need::Change) && self.recall.clear(state, &gone, Need::Remove))
    }

    /// Applies the decision with the parts that are here. It is on disk before a participant hears of it: a power cut that
    /// took it back here, but not there, would leave a name twice or nowhere.
    fn decide(&mut self, state: &mut State, request: &MetaRequest, (here, reply): Decision) -> Result<Phase, Failed> {
        are_here(state, &here)?;
        state.sessions.check(self.leave)?;
        let (tx, participants) = (self.tx, self.coordinator.participants());
        let alone = participants.is_empty();
        let caller = Caller::of_transaction(request);
        let split_above = state.ground.split_above;
        let (body, large, batch) = state.ground.run(&caller, Some(tx), |change, env| {
            decide(change, env, request, (tx, participants), &here, &reply, split_above)
        })?;
        state.apply(&batch)?;
        large.into_iter().for_each(|dir| consider(state, dir));
        self.position = Some(state.ground.tables.position());
        let written = alone && !self.coordinator.moves_entries();
        let ticket = state.log(if written { Durability::Written } else { Durability::OnDisk });
        Ok(Phase::Logging(body, ticket))
    }
}

/// The parts that were here when the others were prepared still are.
fn are_here(state: &State, parts: &[TxPart]) -> Result<(), Failed> {
    match parts.iter().all(|part| state.ground.is_usable(part.slot())) {
        true => Ok(()),
        false => Err(Failed::Again),
    }
}

impl Preparing {
    /// The results of all parts, once all servers have answered; the first refusal.
    fn advance(&mut self, state: &mut State) -> Result<Option<Vec<PartResult>>, WireError> {
        while let Some(ticket) = self.asked.get(self.heard) {
            match state.heard(*ticket) {
                Some(Ok(TxReply::Prepared(prepared))) => self.results.extend(prepared),
                Some(Ok(_)) => return Err(ErrorCode::BAD_MESSAGE.into()),
                Some(Err(error)) => return Err(error),
                None => return Ok(None),
            }
            self.heard += 1;
        }
        Ok(Some(std::mem::take(&mut self.results)))
    }
}
