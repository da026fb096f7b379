// SPDX-License-Identifier: Apache-2.0

//! What only the holder of an inode's exclusive delegation may do.

use super::state::State;
use nyala_wire::meta::{DelegationMode, MetaOp, MetaRequest};
use nyala_wire::{ErrorCode, WireError};

/// Refuses it to others.
pub fn check(state: &State, request: &MetaRequest) -> Result<(), WireError> {
    match &request.op {
        MetaOp::MoveData { inode, .. }
            if state.delegations.mode(*inode, request.session) != DelegationMode::Exclusive =>
        {
            Err(ErrorCode::AGAIN.with("the file's data is moved under an exclusive delegation only"))
        }
        _ => Ok(()),
    }
}
