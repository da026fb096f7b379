// SPDX-License-Identifier: Apache-2.0

//! Who the target on a set is: a row of every drive's table, so that it can be known wherever the drives can be reached.
//!
//! **Failure model.** A drive that was away may have an old row, and one whose row cannot be read or written counts as failed: the others have it too. What the row
//! says is for whoever wrote it.

use crate::core::Core;
use crate::error::SetError;
use crate::events::failed;
use nyala_raid::{Effect, Reply, StripeError, key};
use nyala_store::Batch;

/// What the drives that are there say, each thing once; nothing at all is empty text.
pub(crate) fn owners(set: &Core) -> Result<Vec<Vec<u8>>, SetError> {
    let there = set.state.lock().there();
    let get = |member: &usize| Effect::Get { member: *member, key: key::TARGET.to_vec() };
    let replies = set.runners.run(there.iter().map(get).collect());
    let (mut said, mut bad) = (Vec::new(), Vec::new());
    for (member, reply) in there.into_iter().zip(replies) {
        match reply {
            Reply::Value(value) => {
                let value = value.unwrap_or_default();
                if !said.contains(&value) {
                    said.push(value);
                }
            }
            _ => bad.push(member),
        }
    }
    failed(set, &bad, None)?;
    Ok(said)
}

/// Writes it on all drives that are there, durably.
pub(crate) fn set_owner(set: &Core, owner: &[u8]) -> Result<(), SetError> {
    set.running()?;
    let there = set.state.lock().there();
    let put = |member: &usize| {
        let mut batch = Batch::new();
        batch.put(key::TARGET, owner);
        Effect::Apply { member: *member, batch, sync: true }
    };
    let replies = set.runners.run(there.iter().map(put).collect());
    let done = |reply: &Reply| matches!(reply, Reply::Done);
    let members: Vec<usize> =
        there.iter().zip(&replies).filter(|(_, reply)| !done(reply)).map(|(member, _)| *member).collect();
    if members.len() == there.len() {
        return Err(StripeError::Failed { members }.into());
    }
    failed(set, &members, None)
}
