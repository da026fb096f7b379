// SPDX-License-Identifier: Apache-2.0

//! New blocks into place, with a log or without.

use super::outcome::{Use, WriteMode, Written};
use super::rows::row_batch;
use super::state::Stripe;
use crate::effect::{Effect, Reply};
use crate::error::StripeError;
use crate::ids::BLOCK_BYTES;
use crate::intent::Intent;
use crate::key;
use bytes::Bytes;
use nyala_kv::Batch;

/// New blocks of a column.
pub(super) struct NewBlocks {
    pub column: usize,
    pub block: usize,
    pub bytes: Bytes,
}

/// The members whose reply is not that it is done.
pub(super) fn failed(stripe: &Stripe, columns: &[usize], replies: &[Reply]) -> Vec<usize> {
    let bad = columns.iter().zip(replies).filter(|(_, reply)| !matches!(reply, Reply::Done));
    bad.map(|(column, _)| stripe.member(*column)).collect()
}

/// Dirty records for what stale members miss.
pub(super) fn missed(stripe: &Stripe, batch: &mut Batch, columns: &[usize]) {
    for column in columns.iter().filter(|column| stripe.uses[**column] == Use::Stale) {
        batch.put(key::dirty(stripe.member(*column), stripe.id), []);
    }
}

/// Too many have failed, or the list of those who have.
pub(super) fn bearable(stripe: &Stripe, mut failed: Vec<usize>) -> Result<Vec<usize>, StripeError> {
    failed.sort_unstable();
    failed.dedup();
    if failed.len() + stripe.stale().len() > stripe.geometry.parity() {
        return Err(StripeError::Failed { members: failed });
    }
    Ok(failed)
}

/// Writes of the columns that are there, each with what changes in its member's table then.
fn write_effects(stripe: &Stripe, blocks: &[NewBlocks], then: impl Fn(usize) -> Batch) -> (Vec<usize>, Vec<Effect>) {
    let offset = stripe.geometry.offset(stripe.id);
    let effect = |new: &NewBlocks| Effect::Write {
        member: stripe.member(new.column),
        object: stripe.id.object,
        offset: offset + (new.block * BLOCK_BYTES) as u64,
        bytes: new.bytes.clone(),
        then: then(new.column),
    };
    let there = || blocks.iter().filter(|new| stripe.uses[new.column] != Use::Stale);
    (there().map(|new| new.column).collect(), there().map(effect).collect())
}

/// Writes without a log: on each drive content, then its row.
///
/// A row says what is on its own drive, and that the stripe is open. Those with parity say it of all drives, and may be there where another drive's content
/// is not, if the process dies in between: what a row says and no drive has is decoded, or never was ([`super::resolve()`]).
pub(super) async fn unlogged(
    stripe: &mut Stripe,
    mode: WriteMode,
    blocks: Vec<NewBlocks>,
    fresh: bool,
) -> Result<Written, StripeError> {
    if fresh {
        (0..stripe.uses.len()).for_each(|column| stripe.set_sums(column, mode.number, 0, &[]));
    }
    blocks.iter().for_each(|new| stripe.set_sums(new.column, mode.number, new.block, &new.bytes));
    let intent = Intent::Fresh { stripe: stripe.id }.encode();
    let stale = stripe.stale();
    let row = |column: usize| {
        let mut batch = row_batch(stripe, column);
        // Also of a stripe that is open already: after a crash, numbers go on behind the largest one that was used.
        batch.put(key::intent(mode.number), &intent);
        missed(stripe, &mut batch, &stale);
        batch
    };
    let (mut columns, mut effects) = write_effects(stripe, &blocks, row);
    if fresh {
        let others: Vec<usize> = stripe.there().into_iter().filter(|column| !columns.contains(column)).collect();
        let apply = |column: &usize| Effect::Apply { member: stripe.member(*column), batch: row(*column), sync: false };
        effects.extend(others.iter().map(apply));
        columns.extend(others);
    }
    let bad = failed(stripe, &columns, &stripe.port.run(effects).await);
    Ok(Written { fresh, failed: bearable(stripe, bad)?, ..Written::default() })
}

/// Writes with a log: blocks and what follows into the log, durably; then content, then rows.
pub(super) async fn logged(
    stripe: &mut Stripe,
    mode: WriteMode,
    blocks: Vec<NewBlocks>,
) -> Result<Written, StripeError> {
    blocks.iter().for_each(|new| stripe.set_sums(new.column, mode.number, new.block, &new.bytes));
    let (columns, effects) = write_effects(stripe, &blocks, |column| row_batch(stripe, column));
    let members = stripe.members(&columns);
    let concerned: Vec<usize> = blocks.iter().map(|new| new.column).collect();
    let mut logged_bytes = 0;
    let mut logs = Vec::with_capacity(columns.len());
    for new in blocks.iter().filter(|new| stripe.uses[new.column] != Use::Stale) {
        let row = stripe.row_of(new.column).encode();
        logged_bytes += new.bytes.len() as u64;
        let bytes = new.bytes.clone();
        let intent = Intent::Logged { stripe: stripe.id, members: members.clone(), block: new.block, bytes, row };
        let mut batch = Batch::new();
        batch.put(key::intent(mode.number), intent.encode());
        missed(stripe, &mut batch, &concerned);
        logs.push(Effect::Apply { member: stripe.member(new.column), batch, sync: true });
    }
    let bad = failed(stripe, &columns, &stripe.port.run(logs).await);
    if !bad.is_empty() {
        // Nothing is in place yet. Who has no log has to be out of the set before anything is.
        return Err(StripeError::Failed { members: bad });
    }
    let bad = failed(stripe, &columns, &stripe.port.run(effects).await);
    Ok(Written { fresh: false, logged_bytes, failed: bearable(stripe, bad)?, damage: Vec::new() })
}
