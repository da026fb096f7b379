// SPDX-License-Identifier: Apache-2.0

//! New files that are open under the exclusive delegation that they come with, and not noted as open ([`Want::IMPLICIT_OPEN`]): most
//! are closed before anybody else looks at them, and then no close has to be sent either.
//!
//! Failure model: the reply may get lost, and the delegation with it. Whoever asks again gets no delegation, and the file is
//! noted as open then. It may be gone by that time, as others did not know that it was open: then the answer is STALE, and the
//! client makes it anew. After a restart a client that has such a file open says so when it returns its delegation.

use super::state::State;
use crate::keys;
use crate::sessions::Leave;
use nyala_kv::Batch;
use nyala_wire::meta::{DelegationMode, Grants, MetaOp, MetaReply, MetaRequest, Want};
use nyala_wire::{ErrorCode, InodeId, WireError, codec};

fn is_implicit(request: &MetaRequest) -> bool {
    matches!(request.op, MetaOp::Create { .. }) && request.want.has(Want::IMPLICIT_OPEN)
}

/// After the reply has got its grants: without the delegation it has to be noted after all.
pub fn granted(state: &mut State, request: &MetaRequest, reply: &MetaReply, grants: Grants) -> Result<(), WireError> {
    match reply {
        MetaReply::Created { new: true, inode, .. }
            if is_implicit(request) && grants.inodes != DelegationMode::Exclusive =>
        {
            note(state, request, *inode)
        }
        _ => Ok(()),
    }
}

/// Before a kept reply, which grants nothing, is sent again.
pub fn reply_again(state: &mut State, request: &MetaRequest, leave: Leave, kept: &[u8]) -> Result<(), WireError> {
    if !is_implicit(request) {
        return Ok(());
    }
    let MetaReply::Created { new: true, inode, .. } = codec::decode(kept)? else { return Ok(()) };
    state.sessions.check(leave)?;
    if !state.ground.is_here(inode.slot()) {
        // Its client notes it at the server that has it now.
        return Ok(());
    }
    if state.ground.locks.is_sealed(inode.slot()) {
        return Err(ErrorCode::NOT_READY.with("the new file is about to be another server's"));
    }
    if state.ground.tables.get(&keys::inode(inode))?.is_none() {
        return Err(ErrorCode::STALE.with("the new file is gone already"));
    }
    note(state, request, inode)
}

fn note(state: &mut State, request: &MetaRequest, inode: InodeId) -> Result<(), WireError> {
    let mut batch = Batch::new();
    batch.put(keys::open(inode, request.session), []);
    state.apply(&batch)
}
