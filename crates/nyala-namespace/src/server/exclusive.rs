// SPDX-License-Identifier: Apache-2.0

//! What only the holder of an inode's exclusive delegation may do.

use super::state::State;
use nyala_wire::meta::{DelegationMode, MetaOp, MetaRequest};
use nyala_wire::{ErrorCode, InodeId, WireError};

/// The file that has its data elsewhere once this is done.
pub fn moved(op: &MetaOp) -> Option<InodeId> {
    match op {
        MetaOp::MoveData { inode, .. } => Some(*inode),
        MetaOp::SetAttr { inode, set } => Some(*inode).filter(|_| set.emptied.is_some()),
        MetaOp::Commit(commit) => Some(commit.inode).filter(|_| commit.encoded.is_some()),
        _ => None,
    }
}

/// Refuses it to others.
pub fn check(state: &State, request: &MetaRequest) -> Result<(), WireError> {
    match moved(&request.op) {
        Some(inode) if state.delegations.mode(inode, request.session) != DelegationMode::Exclusive => {
            Err(ErrorCode::AGAIN.with("the file's data is moved under an exclusive delegation only"))
        }
        _ => Ok(()),
    }
}
