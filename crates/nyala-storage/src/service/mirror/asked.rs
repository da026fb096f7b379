// SPDX-License-Identifier: Apache-2.0

//! Clients' requests: what is refused before it is ordered, and answers. Failure model: see the parent module.

use super::action::{Action, Incoming, Waiting};
use super::parse::{Asked, ChangeOp, ChangeRequest, Payload, ReadKind};
use super::shell::Shell;
use super::state::State;
use crate::chunk_store::WriteOp;
use crate::service::read_reply::Found;
use crate::service::target::Target;
use nyala_replica::{Input, Operation, Request, Span, Ticket, Token};
use nyala_transport::member::{monotonic_ms, monotonic_us};
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{ErrorCode, WireError};
use std::sync::{Arc, MutexGuard};

/// The free room is looked at so often, milliseconds.
const LOOK_MS: u64 = 100;
/// Room that is left free for what is under way, bytes; less on a small target.
const MARGIN: u64 = 64 << 20;

impl Shell {
    /// What a read wants, if the member may say so after the fact: at once, since nothing is under way there. What went wrong is
    /// found again on the usual way.
    pub(super) async fn read_ahead(&self, asked: &Asked, epoch: u32, came_us: u64) -> Option<Found> {
        let Asked::Read(file, span, ReadKind::Bulk { offset, len, verify: false }) = *asked else { return None };
        // Not in vain, where that is known before.
        drop(self.may_answer(epoch, file, span)?);
        let found = self.thread.inline_path.read(&self.shared.setup.target, file, offset, len).await.ok()?;
        self.may_answer(epoch, file, span)?.replica.answered_read(came_us, span);
        Some(found)
    }

    /// The state, if what is read there now may be told.
    fn may_answer(&self, epoch: u32, file: ChunkFileId, span: Span) -> Option<MutexGuard<'_, State>> {
        let mut state = self.shared.state()?;
        state.replica.may_answer_read(monotonic_us(), epoch, file, span).then_some(state)
    }

    /// A request of a client; what is to be done for it.
    pub(super) fn asked(&self, incoming: Incoming) -> Vec<Action> {
        let Incoming { client, number, lowest, epoch, asked, came_us, answer } = incoming;
        self.step(|state| {
            let mut read = None;
            let operation = match asked {
                Asked::Sync => Operation::Sync,
                Asked::Read(file, span, kind) => {
                    read = Some(kind);
                    Operation::Read(file, span)
                }
                Asked::Change(change, request) => {
                    // In one step with taking it in: who fences its session waits for what was taken in.
                    if let Err(refused) = may_change(&self.shared.setup.target, state, &request) {
                        // An error means that nobody waits any more.
                        let _ = answer.send(Err(refused));
                        return None;
                    }
                    let ticket = Ticket(state.number());
                    state.buffers.insert(ticket, Payload::Change(Arc::new(request)));
                    state.refusals.track(ticket, (client, number));
                    Operation::Change(change, ticket)
                }
            };
            let token = Token(state.number());
            state.waiting.insert(token, Waiting { answer, read, origin: (client, number), came_us });
            Some(Input::Request(Request { token, client, seq: number, lowest, epoch, operation, came_us }))
        })
    }
}

fn may_change(target: &Target, state: &mut State, request: &ChangeRequest) -> Result<(), WireError> {
    if target.is_fenced(request.session) {
        return Err(ErrorCode::FENCED.with("the session of this change was ended; nothing was changed"));
    }
    match &request.op {
        ChangeOp::Write(op) => has_room(target, state, op),
        ChangeOp::Other(..) => Ok(()),
    }
}

/// NO_SPACE for a write that would take more than there is. Blocks that exist take nothing: they are overwritten where
/// they are, on a full target too. They are counted only where room is short, so that other writes do not pay for it.
fn has_room(target: &Target, state: &mut State, op: &WriteOp) -> Result<(), WireError> {
    let now_ms = monotonic_ms();
    if state.room.0 == 0 || now_ms >= state.room.0 + LOOK_MS {
        let capacity = target.capacity();
        let margin = MARGIN.min(capacity.total_bytes / 64);
        state.room = (now_ms, capacity.free_bytes.saturating_sub(margin));
    }
    let whole = op.data.len() as u64;
    let bytes = match state.room.1 < whole {
        true => target.store.absent_bytes(op.file, op.offset, whole)?,
        false => whole,
    };
    let left = state.room.1.checked_sub(bytes);
    state.room.1 = left.ok_or_else(|| ErrorCode::NO_SPACE.with("the storage target is full"))?;
    Ok(())
}
