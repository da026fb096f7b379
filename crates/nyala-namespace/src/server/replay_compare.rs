// SPDX-License-Identifier: Apache-2.0

//! Whether a change that is done again comes to what its client was told. [`super::replay`] has the failure model.

use super::ground::Caller;
use super::state::State;
use crate::keys;
use crate::records::InodeRecord;
use crate::replies;
use nyala_wire::meta::{ANSWER_HEAD_BYTES, MetaReply, MetaRequest, PutOutcome};
use nyala_wire::{ErrorCode, InodeId, WireError, codec};

/// Whether a change that was done again came to the same.
pub fn is_same(state: &State, acknowledged: &MetaReply, body: &[u8]) -> Result<(), WireError> {
    let now: MetaReply = codec::decode(body.get(ANSWER_HEAD_BYTES..).unwrap_or_default())?;
    let same = match (acknowledged, &now) {
        (MetaReply::Created { new, inode, .. }, MetaReply::Created { new: new_now, inode: inode_now, .. }) => {
            (new, inode) == (new_now, inode_now)
        }
        (MetaReply::Entry(acknowledged), MetaReply::Entry(now)) => acknowledged.inode == now.inode,
        (MetaReply::Inline { version, .. }, MetaReply::Inline { version: now, .. }) => version == now,
        (MetaReply::Inlines(acknowledged), MetaReply::Inlines(now)) => {
            acknowledged.len() == now.len()
                && acknowledged.iter().zip(now).all(|(acknowledged, now)| is_same_put(state, acknowledged, now))
        }
        (acknowledged, now) => std::mem::discriminant(acknowledged) == std::mem::discriminant(now),
    };
    if same { Ok(()) } else { Err(ErrorCode::STALE.with("done again, it came to something else")) }
}

fn is_same_put(state: &State, acknowledged: &PutOutcome, now: &PutOutcome) -> bool {
    match (acknowledged, now) {
        (PutOutcome::Refused(_), _) => false,
        (PutOutcome::Taken { version, .. }, PutOutcome::Taken { version: now, .. }) => version == now,
        (PutOutcome::Taken { attr, version }, PutOutcome::Refused(error)) => {
            error.code == ErrorCode::INLINE_CONFLICT && has_content(state, attr.inode, *version)
        }
    }
}

/// Whether a change that is refused had not been lost, or was followed by later ones.
pub fn is_there(state: &State, acknowledged: &MetaReply, error: WireError) -> Result<(), WireError> {
    let there = match (acknowledged, error.code) {
        (MetaReply::Inline { attr, version }, ErrorCode::INLINE_CONFLICT) => has_content(state, attr.inode, *version),
        _ => false,
    };
    if there { Ok(()) } else { Err(error) }
}

/// Whether a file's inline content is this version or a later one.
fn has_content(state: &State, inode: InodeId, version: u64) -> bool {
    let row = state.ground.tables.get(&keys::inode(inode)).ok().flatten();
    let record = row.and_then(|row| codec::decode::<InodeRecord>(&row).ok());
    record.and_then(|record| record.file?.inline_version).is_some_and(|now| now >= version)
}

/// Whether a change has left its reply, or a later one of its session is in that one's place. Some leave none ([`replies::keep`]).
pub fn was_done(state: &mut State, request: &MetaRequest) -> bool {
    !matches!(state.ground.run(&Caller::of(request), None, |change, _| replies::find(&change, request)), Ok(None))
}
