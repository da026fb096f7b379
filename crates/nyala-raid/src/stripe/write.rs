// SPDX-License-Identifier: Apache-2.0

//! Writing.
//!
//! | The stripe | is written |
//! |---|---|
//! | was never written, or not since it was removed | in place, without a read or a log ([`Intent::Fresh`]) |
//! | is still open: nothing of it was ever synced, and no member is missing | in place |
//! | is there | after its new blocks are on disk in the log of every member that takes part ([`Intent::Logged`]) |
//!
//! Parity of a change follows from old data and old parity, or from all data, whichever reads less; of whole rows of blocks from the new data alone.

use super::{Damage, Stripe, Use};
use crate::effect::{Effect, Reply};
use crate::error::StripeError;
use crate::geometry::{BLOCK_BYTES, blocks_of};
use crate::intent::Intent;
use crate::key;
use nyala_kv::Batch;
use std::ops::Range;

/// How an operation may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteMode {
    /// The number of the operation, larger than all before.
    pub number: u64,
    /// The stripe was first written since the last checkpoint began: nothing in it has been promised to survive a power cut.
    pub open: bool,
}

/// What came of a write. It may be acknowledged once the members that failed have durably left the set.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The stripe was not there before: it is open until the next checkpoint.
    pub fresh: bool,
    /// Bytes that went into logs.
    pub logged_bytes: u64,
    /// Members that could not take part to the end. They have missed the stripe.
    pub failed: Vec<usize>,
    /// What was found wrong meanwhile.
    pub damage: Vec<Damage>,
}

/// New blocks of a column.
pub(super) struct NewBlocks {
    pub column: usize,
    pub block: usize,
    pub bytes: Vec<u8>,
}

/// Writes a part of a stripe's data.
pub(crate) async fn write(
    mut stripe: Stripe,
    mode: WriteMode,
    part: Range<usize>,
    bytes: Vec<u8>,
) -> Result<Written, StripeError> {
    assert_eq!(part.len(), bytes.len(), "as many bytes as the part has");
    if stripe.stale().len() > stripe.geometry.parity() {
        return stripe.lost();
    }
    stripe.load_rows().await;
    stripe.all_answer()?;
    let fresh = stripe.is_absent()?;
    let outdated: Vec<usize> = stripe.there().into_iter().filter(|column| stripe.is_outdated(*column)).collect();
    if !outdated.is_empty() {
        return Err(StripeError::OutOfDate { stripe: stripe.id, members: stripe.members(&outdated) });
    }
    let plan = Plan::new(&stripe, &part);
    let blocks =
        if fresh { plan.fresh(&stripe, &part, &bytes) } else { plan.change(&mut stripe, &part, &bytes).await? };
    // Before anything changes: what is healed is what was there.
    stripe.heal().await;
    let mut written = if fresh {
        in_place(&mut stripe, mode, blocks, true).await?
    } else if mode.open && stripe.stale().is_empty() {
        in_place(&mut stripe, mode, blocks, false).await?
    } else {
        logged(&mut stripe, mode, blocks).await?
    };
    written.damage = stripe.damage;
    Ok(written)
}

/// What a write touches.
struct Plan {
    /// Data columns, and their bytes that change.
    touched: Vec<(usize, Range<usize>)>,
    /// The blocks of every strip in which something changes.
    rows: Range<usize>,
}

impl Plan {
    fn new(stripe: &Stripe, part: &Range<usize>) -> Plan {
        let within = |column| (column, stripe.geometry.within(part, column));
        let touched: Vec<_> = (0..stripe.geometry.data()).map(within).filter(|(_, bytes)| !bytes.is_empty()).collect();
        let blocks = || touched.iter().map(|(_, bytes)| blocks_of(bytes));
        let start = blocks().map(|blocks| blocks.start).min().unwrap_or(0);
        let end = blocks().map(|blocks| blocks.end).max().unwrap_or(0);
        Plan { touched, rows: start..end }
    }

    fn covers(&self, column: usize) -> bool {
        let rows = self.rows.start * BLOCK_BYTES..self.rows.end * BLOCK_BYTES;
        self.touched.iter().any(|(touched, bytes)| *touched == column && *bytes == rows)
    }

    /// Puts the new bytes over the rows of the touched columns.
    fn overlay(&self, stripe: &Stripe, part: &Range<usize>, new: &[u8], columns: &mut [(usize, Vec<u8>)]) {
        let base = self.rows.start * BLOCK_BYTES;
        for (column, bytes) in &self.touched {
            let from = column * stripe.geometry.strip_bytes() + bytes.start - part.start;
            if let Some((_, content)) = columns.iter_mut().find(|(there, _)| there == column) {
                let range = bytes.start - base..bytes.end - base;
                content[range].copy_from_slice(&new[from..from + bytes.len()]);
            }
        }
    }

    /// The blocks to write: the touched ones of data columns, all rows of parity.
    fn blocks(&self, stripe: &Stripe, data: &[(usize, Vec<u8>)], parity: Vec<Vec<u8>>) -> Vec<NewBlocks> {
        let mut out = Vec::new();
        for (column, bytes) in &self.touched {
            let blocks = blocks_of(bytes);
            let (start, end) = (blocks.start - self.rows.start, blocks.end - self.rows.start);
            if let Some((_, content)) = data.iter().find(|(there, _)| there == column) {
                let bytes = content[start * BLOCK_BYTES..end * BLOCK_BYTES].to_vec();
                out.push(NewBlocks { column: *column, block: blocks.start, bytes });
            }
        }
        let first = stripe.geometry.data();
        let column = |(at, bytes)| NewBlocks { column: first + at, block: self.rows.start, bytes };
        out.extend(parity.into_iter().enumerate().map(column));
        out
    }

    fn zeros(&self) -> Vec<u8> {
        vec![0; self.rows.len() * BLOCK_BYTES]
    }

    fn fresh(&self, stripe: &Stripe, part: &Range<usize>, new: &[u8]) -> Vec<NewBlocks> {
        let mut data: Vec<_> = (0..stripe.geometry.data()).map(|column| (column, self.zeros())).collect();
        self.overlay(stripe, part, new, &mut data);
        let parity = encode(stripe, &data);
        self.blocks(stripe, &data, parity)
    }

    async fn change(
        &self,
        stripe: &mut Stripe,
        part: &Range<usize>,
        new: &[u8],
    ) -> Result<Vec<NewBlocks>, StripeError> {
        let (data, parity) = (stripe.geometry.data(), stripe.geometry.parity());
        let known = |column: usize| stripe.knows(column);
        // Of parity that is missing everywhere nobody knows anything, and need not.
        let needed = |column: &usize| match parity {
            0 => self.touched.iter().any(|(touched, _)| touched == column),
            _ => *column < data || stripe.uses[*column] != Use::Stale,
        };
        if !(0..data + parity).filter(needed).all(known) {
            return stripe.lost();
        }
        let touched: Vec<usize> = self.touched.iter().map(|(column, _)| *column).collect();
        let others = (0..data).filter(|column| !self.covers(*column)).count();
        // Of parity that nobody reads, the new checksums would not be known.
        let mut changing = touched.iter().copied().chain(data..data + parity);
        let good = changing.all(|column| stripe.uses[column] != Use::Stale);
        if parity > 0 && good && touched.len() + parity < others {
            return self.by_delta(stripe, part, new, &touched).await;
        }
        let columns: Vec<usize> = if parity > 0 { (0..data).collect() } else { touched };
        let wants: Vec<_> = columns.iter().filter(|column| !self.covers(**column)).collect();
        let wants: Vec<_> = wants.into_iter().map(|column| (*column, self.rows.clone())).collect();
        let mut read = wants.iter().map(|(column, _)| *column).zip(stripe.fetch(&wants).await?).collect::<Vec<_>>();
        let mut content = Vec::with_capacity(columns.len());
        for column in columns {
            let at = read.iter().position(|(there, _)| *there == column);
            content.push(at.map_or_else(|| (column, self.zeros()), |at| read.swap_remove(at)));
        }
        self.overlay(stripe, part, new, &mut content);
        let parity = if parity > 0 { encode(stripe, &content) } else { Vec::new() };
        Ok(self.blocks(stripe, &content, parity))
    }

    async fn by_delta(
        &self,
        stripe: &mut Stripe,
        part: &Range<usize>,
        new: &[u8],
        touched: &[usize],
    ) -> Result<Vec<NewBlocks>, StripeError> {
        let parities = stripe.geometry.data()..stripe.uses.len();
        let wants: Vec<_> = touched.iter().copied().chain(parities).map(|column| (column, self.rows.clone())).collect();
        let mut old = stripe.fetch(&wants).await?;
        let mut parity = old.split_off(touched.len());
        let mut content: Vec<_> = touched.iter().copied().zip(old.iter().cloned()).collect();
        self.overlay(stripe, part, new, &mut content);
        for ((column, content), old) in content.iter().zip(old) {
            let delta: Vec<u8> = content.iter().zip(&old).map(|(new, old)| new ^ old).collect();
            stripe.code.update(*column, &delta, &mut parity);
        }
        Ok(self.blocks(stripe, &content, parity))
    }
}

fn encode(stripe: &Stripe, data: &[(usize, Vec<u8>)]) -> Vec<Vec<u8>> {
    let data: Vec<Vec<u8>> = data.iter().map(|(_, bytes)| bytes.clone()).collect();
    stripe.code.encode(&data, stripe.geometry.parity())
}

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

fn write_effects(stripe: &Stripe, blocks: &[NewBlocks]) -> (Vec<usize>, Vec<Effect>) {
    let offset = stripe.geometry.offset(stripe.id);
    let effect = |new: &NewBlocks| Effect::Write {
        member: stripe.member(new.column),
        object: stripe.id.object,
        offset: offset + (new.block * BLOCK_BYTES) as u64,
        bytes: new.bytes.clone(),
    };
    let there = || blocks.iter().filter(|new| stripe.uses[new.column] != Use::Stale);
    (there().map(|new| new.column).collect(), there().map(effect).collect())
}

/// Writes without a log: content, then rows.
pub(super) async fn in_place(
    stripe: &mut Stripe,
    mode: WriteMode,
    blocks: Vec<NewBlocks>,
    fresh: bool,
) -> Result<Written, StripeError> {
    if fresh {
        (0..stripe.uses.len()).for_each(|column| stripe.set_sums(column, mode.number, 0, &[]));
    }
    blocks.iter().for_each(|new| stripe.set_sums(new.column, mode.number, new.block, &new.bytes));
    let (columns, effects) = write_effects(stripe, &blocks);
    let replies = stripe.port.run(effects).await;
    let mut bad = failed(stripe, &columns, &replies);
    let columns = if fresh { stripe.there() } else { columns };
    let intent = Intent::Fresh { stripe: stripe.id }.encode();
    let stale = stripe.stale();
    let effect = |column: usize, member: usize| {
        let mut batch = stripe.row_batch(column);
        // Also of a stripe that is open already: after a crash, numbers go on behind the largest one that was used.
        batch.put(key::intent(mode.number), &intent);
        missed(stripe, &mut batch, &stale);
        Effect::Apply { member, batch, sync: false }
    };
    let replies = stripe.each(&columns, effect).await;
    bad.extend(failed(stripe, &columns, &replies));
    Ok(Written { fresh, failed: bearable(stripe, bad)?, ..Written::default() })
}

/// Writes with a log: blocks and what follows into the log, durably; then content, then rows.
pub(super) async fn logged(
    stripe: &mut Stripe,
    mode: WriteMode,
    blocks: Vec<NewBlocks>,
) -> Result<Written, StripeError> {
    blocks.iter().for_each(|new| stripe.set_sums(new.column, mode.number, new.block, &new.bytes));
    let (columns, effects) = write_effects(stripe, &blocks);
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
    let replies = stripe.port.run(effects).await;
    let mut bad = failed(stripe, &columns, &replies);
    let rows = stripe
        .each(&columns, |column, member| Effect::Apply { member, batch: stripe.row_batch(column), sync: false })
        .await;
    bad.extend(failed(stripe, &columns, &rows));
    Ok(Written { fresh: false, logged_bytes, failed: bearable(stripe, bad)?, damage: Vec::new() })
}
