// SPDX-License-Identifier: Apache-2.0

//! A change as it is done again. [`super::replay`] has the failure model.

use super::change_request::{Again, ChangeRequest};
use super::state::State;
use crate::change::Made;
use crate::keys;
use nyala_wire::meta::{Acknowledged, MetaOp, MetaReply, MetaRequest, PutInline, PutOutcome};
use nyala_wire::{SessionId, WireError, codec};

/// A change as it is done again, and what its client was told. `None`: its slot is another server's, which has it on disk; so had this one
/// before the slot left.
pub fn begin(
    state: &State,
    session: SessionId,
    change: &Acknowledged,
) -> Result<Option<(MetaReply, ChangeRequest)>, WireError> {
    let leave = state.sessions.again(session)?;
    let mut request: MetaRequest = codec::decode(&change.request)?;
    let mut acknowledged: MetaReply = codec::decode(&change.reply)?;
    if let (MetaOp::PutInlines { puts }, MetaReply::Inlines(acknowledged)) = (&mut request.op, &mut acknowledged) {
        only_taken(puts, acknowledged);
    }
    if request.op.routing_inode().is_some_and(|inode| !state.ground.is_here(inode.slot())) {
        return Ok(None);
    }
    let below = keys::first_sequence(state.boot);
    let made = match &acknowledged {
        MetaReply::Created { new: true, inode, file, .. } => {
            Some(Made { inode: *inode, layout: file.as_ref().map(|file| file.layout.clone()), below })
        }
        MetaReply::Entry(entry) if !matches!(request.op, MetaOp::Link { .. }) => {
            Some(Made { inode: entry.inode, layout: None, below })
        }
        _ => None,
    };
    Ok(Some((acknowledged.clone(), ChangeRequest::again(state, request, leave, Again { acknowledged, made }))))
}

/// What was refused was sent by itself later, if at all.
fn only_taken(puts: &mut Vec<PutInline>, acknowledged: &mut Vec<PutOutcome>) {
    let taken: Vec<bool> =
        acknowledged.iter().map(|acknowledged| matches!(acknowledged, PutOutcome::Taken { .. })).collect();
    let mut each = taken.iter();
    puts.retain(|_| each.next().copied().unwrap_or_default());
    acknowledged.retain(|acknowledged| matches!(acknowledged, PutOutcome::Taken { .. }));
}
