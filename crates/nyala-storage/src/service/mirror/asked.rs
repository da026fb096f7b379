// SPDX-License-Identifier: Apache-2.0

//! Clients' requests: what is refused before it is ordered, and answers. Failure model: see the parent module.

use super::entry::{Answered, Incoming};
use super::parse::{Asked, ChangeOp, ChangeRequest, Payload};
use super::shell::{Shell, Waiting};
use crate::chunk_store::WriteOp;
use nyala_replica::{Answer, Input, Operation, Request, Ticket, Token};
use nyala_transport::member::monotonic_ms;
use nyala_wire::{ErrorCode, WireError};
use std::rc::Rc;

/// The free room is looked at so often, milliseconds.
const LOOK_MS: u64 = 100;
/// Room that is left free for what is under way, bytes; less on a small target.
const MARGIN: u64 = 64 << 20;

impl Shell {
    pub(super) fn asked(self: &Rc<Self>, incoming: Incoming) {
        let Incoming { client, number, lowest, epoch, asked, came_us, answer } = incoming;
        let mut read = None;
        let operation = match asked {
            Asked::Sync => Operation::Sync,
            Asked::Read(file, span, kind) => {
                read = Some(kind);
                Operation::Read(file, span)
            }
            Asked::Change(change, request) => {
                if let Err(refused) = self.may_change(&request) {
                    // An error means that nobody waits any more.
                    let _ = answer.send(Err(refused));
                    return;
                }
                let mut state = self.state.borrow_mut();
                let ticket = Ticket(state.number());
                state.buffers.insert(ticket, Payload::Change(Rc::new(request)));
                state.refusals.track(ticket, (client, number));
                Operation::Change(change, ticket)
            }
        };
        let token = {
            let mut state = self.state.borrow_mut();
            let token = Token(state.number());
            state.waiting.insert(token, Waiting { answer, read, origin: (client, number) });
            token
        };
        self.input(Input::Request(Request { token, client, seq: number, lowest, epoch, operation, came_us }));
    }

    fn may_change(&self, request: &ChangeRequest) -> Result<(), WireError> {
        if self.setup.target.is_fenced(request.session) {
            return Err(ErrorCode::FENCED.with("the session of this change was ended; nothing was changed"));
        }
        match &request.op {
            ChangeOp::Write(op) => self.has_room(op),
            ChangeOp::Other(..) => Ok(()),
        }
    }

    /// NO_SPACE for a write that would take more than there is. Blocks that exist take nothing: they are overwritten where
    /// they are, on a full target too. They are counted only where room is short, so that other writes do not pay for it.
    fn has_room(&self, op: &WriteOp) -> Result<(), WireError> {
        let mut state = self.state.borrow_mut();
        let now_ms = monotonic_ms();
        if state.room.0 == 0 || now_ms >= state.room.0 + LOOK_MS {
            let capacity = self.setup.target.capacity();
            let margin = MARGIN.min(capacity.total_bytes / 64);
            state.room = (now_ms, capacity.free_bytes.saturating_sub(margin));
        }
        let whole = op.data.len() as u64;
        let bytes = match state.room.1 < whole {
            true => self.setup.target.store.absent_bytes(op.file, op.offset, whole)?,
            false => whole,
        };
        let left = state.room.1.checked_sub(bytes);
        state.room.1 = left.ok_or_else(|| ErrorCode::NO_SPACE.with("the storage target is full"))?;
        Ok(())
    }

    pub(super) fn reply(&self, token: Token, answer: Answer) {
        let mut state = self.state.borrow_mut();
        let Some(waiting) = state.waiting.remove(&token) else { return };
        let refusal = state.refusals.of(waiting.origin).cloned();
        let result = match answer {
            Answer::Done if waiting.read.is_none() => refusal.map_or(Ok(Answered::Done), Err),
            Answer::Data(job) => state.data.remove(&job).unwrap_or_else(|| Err(lost())),
            Answer::WrongEpoch => Err(ErrorCode::WRONG_EPOCH.with("this member does not serve that in that epoch")),
            Answer::NotReady => Err(ErrorCode::NOT_READY.with("this member cannot serve at the moment")),
            Answer::AskPrimary => Err(ErrorCode::ASK_PRIMARY.with("a change there is under way")),
            Answer::Done | Answer::Failed => Err(refusal.unwrap_or_else(lost)),
        };
        drop(state);
        // An error means that nobody waits any more.
        let _ = waiting.answer.send(result);
    }
}

fn lost() -> WireError {
    ErrorCode::IO.with("the disk of this storage target fails, and no other member can serve")
}
