// SPDX-License-Identifier: Apache-2.0

//! The answers to reads, with what they grant.

use super::grants::{body, grant};
use super::state::State;
use crate::keys;
use crate::records::InodeRecord;
use nyala_wire::meta::{DelegationMode, MetaOp, MetaReply, MetaRequest, Want, add_dirs};
use nyala_wire::{ErrorCode, WireError, codec};

/// The answer to a read that found nothing: that a name is missing may be cached too.
pub fn missing(state: &mut State, request: &MetaRequest, error: WireError) -> Result<Vec<u8>, WireError> {
    match &request.op {
        MetaOp::Lookup { parent, .. } if error.code == ErrorCode::NOT_FOUND && request.want.has(Want::DELEGATIONS) => {
            // The directory itself may be what is missing.
            if state.ground.tables.get(&keys::inode(*parent))?.is_none() {
                return Err(error);
            }
            Ok(granted(state, request, &mut MetaReply::NoEntry, None))
        }
        _ => Err(error),
    }
}

/// The body of a reply with what it grants. With a directory that its client is given anew come its attributes.
pub fn granted(
    state: &mut State,
    request: &MetaRequest,
    reply: &mut MetaReply,
    awaited: Option<DelegationMode>,
) -> Vec<u8> {
    let MetaOp::Lookup { parent: dir, .. } = &request.op else {
        let given = grant(state, request, reply, awaited);
        return body(given, reply);
    };
    let had = state.delegations.mode(*dir, request.session);
    let given = grant(state, request, reply, awaited);
    let mut body = body(given, reply);
    if given.dir && had == DelegationMode::None {
        // A table that cannot be read is reported to whoever asks for it.
        let row = state.ground.tables.get(&keys::inode(*dir)).ok().flatten();
        let record = row.and_then(|row| codec::decode::<InodeRecord>(&row).ok());
        record.into_iter().for_each(|record| add_dirs(&mut body, &[record.attr(*dir)]));
    }
    body
}
