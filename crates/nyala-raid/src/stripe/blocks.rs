// SPDX-License-Identifier: Apache-2.0

//! Blocks of a stripe: read, compared, decoded, healed.

use super::outcome::{DamageKind, Use};
use super::state::Stripe;
use crate::effect::{Effect, Reply};
use crate::error::StripeError;
use crate::ids::BLOCK_BYTES;
use nyala_wire::checksum::crc32c;
use std::ops::Range;

/// Reads blocks of columns as they are, and says of each block whether it is right. Blocks that were never written are zeros, and right.
pub async fn read_raw(stripe: &mut Stripe, wants: &[(usize, Range<usize>)]) -> Vec<(Vec<u8>, Vec<bool>)> {
    let asked = |stripe: &Stripe, (column, blocks): &(usize, Range<usize>)| {
        stripe.uses[*column] != Use::Stale && stripe.any_present(*column, blocks)
    };
    let offset = stripe.geometry.offset(stripe.id);
    let effect = |(column, blocks): &(usize, Range<usize>)| Effect::Read {
        member: stripe.member(*column),
        object: stripe.id.object,
        offset: offset + (blocks.start * BLOCK_BYTES) as u64,
        len: blocks.len() * BLOCK_BYTES,
    };
    let effects = wants.iter().filter(|want| asked(stripe, want)).map(effect).collect();
    let mut replies = stripe.port.run(effects).await.into_iter();
    let mut out = Vec::with_capacity(wants.len());
    for (column, blocks) in wants {
        let len = blocks.len() * BLOCK_BYTES;
        let content = if asked(stripe, &(*column, blocks.clone())) { replies.next() } else { None };
        let (mut bytes, read) = match content {
            Some(Reply::Bytes(bytes)) if bytes.len() == len => (bytes, true),
            Some(Reply::Late) => {
                stripe.late.push(stripe.member(*column));
                (vec![0; len], false)
            }
            Some(_) => {
                stripe.found(*column, DamageKind::Unreadable);
                (vec![0; len], false)
            }
            None => (vec![0; len], false),
        };
        let mut right = vec![false; blocks.len()];
        for (at, block) in blocks.clone().enumerate() {
            let piece = &mut bytes[at * BLOCK_BYTES..(at + 1) * BLOCK_BYTES];
            right[at] = match stripe.sum(*column, block) {
                None => {
                    piece.fill(0);
                    stripe.knows(*column)
                }
                Some(sum) => read && crc32c(piece) == sum,
            };
        }
        if read && right.contains(&false) {
            stripe.found(*column, DamageKind::Checksum);
        }
        out.push((bytes, right));
    }
    out
}

/// Reads blocks of columns, and decodes what cannot be read.
pub async fn fetch(stripe: &mut Stripe, wants: &[(usize, Range<usize>)]) -> Result<Vec<Vec<u8>>, StripeError> {
    let avoided = |stripe: &Stripe, column: usize| {
        stripe.uses[column] == Use::Slow && stripe.geometry.parity() > 0 || !stripe.is_usable(column)
    };
    let at_once: Vec<_> = wants.iter().filter(|(column, _)| !avoided(stripe, *column)).cloned().collect();
    let mut read = read_raw(stripe, &at_once).await.into_iter();
    let mut out = Vec::with_capacity(wants.len());
    for (column, blocks) in wants {
        let (bytes, right) = match avoided(stripe, *column) {
            false => read.next().unwrap_or_default(),
            true => {
                let never = |block| stripe.knows(*column) && stripe.sum(*column, block).is_none();
                (vec![0; blocks.len() * BLOCK_BYTES], blocks.clone().map(never).collect())
            }
        };
        out.push(complete(stripe, *column, blocks, bytes, &right).await?);
    }
    Ok(out)
}

/// Decodes the blocks that are not right.
async fn complete(
    stripe: &mut Stripe,
    column: usize,
    blocks: &Range<usize>,
    mut bytes: Vec<u8>,
    right: &[bool],
) -> Result<Vec<u8>, StripeError> {
    let wrong = |(at, right): (usize, &bool)| (!right).then_some(blocks.start + at);
    let bad: Vec<usize> = right.iter().enumerate().filter_map(wrong).collect();
    let (Some(first), Some(last)) = (bad.first(), bad.last()) else { return Ok(bytes) };
    let hull = *first..last + 1;
    let decoded = match decode(stripe, column, &hull).await? {
        Some(decoded) => decoded,
        None if stripe.uses[column] == Use::Slow && stripe.is_usable(column) => {
            match read_raw(stripe, &[(column, hull.clone())]).await.pop() {
                Some((bytes, right)) if !right.contains(&false) => bytes,
                _ => return stripe.lost(),
            }
        }
        None => return stripe.lost(),
    };
    let start = (hull.start - blocks.start) * BLOCK_BYTES;
    bytes[start..start + decoded.len()].copy_from_slice(&decoded);
    let late = stripe.late.contains(&stripe.member(column));
    if stripe.uses[column] == Use::Good && stripe.is_usable(column) && !late {
        stripe.heal.push((column, hull.start, decoded));
    }
    Ok(bytes)
}

/// Computes blocks of a column from others; `None` if they do not suffice.
async fn decode(stripe: &mut Stripe, column: usize, blocks: &Range<usize>) -> Result<Option<Vec<u8>>, StripeError> {
    let data = stripe.geometry.data();
    let mut sources: Vec<usize> =
        (0..stripe.uses.len()).filter(|other| *other != column && stripe.is_usable(*other)).collect();
    sources.sort_by_key(|other| (stripe.uses[*other] == Use::Slow, *other));
    let mut have = Vec::new();
    for some in [&sources[..data.min(sources.len())], &sources[data.min(sources.len())..]] {
        let wants: Vec<_> = some.iter().map(|other| (*other, blocks.clone())).collect();
        let read = read_raw(stripe, &wants).await;
        have.extend(some.iter().copied().zip(read));
        if let Some(decoded) = decode_from(stripe, column, blocks, &have) {
            return Ok(Some(decoded));
        }
    }
    Ok(None)
}

/// Computes blocks of a column from what was read of others, where that is right, and compares with the column's checksums.
pub fn decode_from(
    stripe: &Stripe,
    column: usize,
    blocks: &Range<usize>,
    have: &[(usize, (Vec<u8>, Vec<bool>))],
) -> Option<Vec<u8>> {
    if !stripe.knows(column) {
        return None;
    }
    let mut out = Vec::with_capacity(blocks.len() * BLOCK_BYTES);
    let mut at = 0;
    let sources = |at: usize| have.iter().filter(|(_, (_, right))| right[at]).map(|(c, _)| *c).collect::<Vec<usize>>();
    while at < blocks.len() {
        let from = sources(at);
        let end = (at + 1..blocks.len()).find(|next| sources(*next) != from).unwrap_or(blocks.len());
        let piece = at * BLOCK_BYTES..end * BLOCK_BYTES;
        let given: Vec<(usize, &[u8])> = have
            .iter()
            .filter(|(column, _)| from.contains(column))
            .map(|(column, (bytes, _))| (*column, &bytes[piece.clone()]))
            .collect();
        out.extend(stripe.code.recover(column, &given)?);
        at = end;
    }
    for (block, content) in blocks.clone().zip(out.chunks_mut(BLOCK_BYTES)) {
        match stripe.sum(column, block) {
            None => content.fill(0),
            Some(sum) if crc32c(content) != sum => return None,
            Some(_) => {}
        }
    }
    Some(out)
}

/// Writes anew what was found damaged and could be had otherwise, content and rows. That it may fail is for the next who reads it.
pub async fn heal(stripe: &mut Stripe) {
    let offset = stripe.geometry.offset(stripe.id);
    let mut effects = Vec::new();
    for (column, block, bytes) in std::mem::take(&mut stripe.heal) {
        let offset = offset + (block * BLOCK_BYTES) as u64;
        effects.push(Effect::Write { member: stripe.member(column), object: stripe.id.object, offset, bytes });
    }
    let damaged = |kind: DamageKind, member: usize| {
        stripe.damage.iter().any(|damage| damage.member == member && damage.kind == kind)
    };
    for column in stripe.there() {
        let member = stripe.member(column);
        // The content of parity that is out of date is wrong too: a repair makes both.
        if damaged(DamageKind::Row, member) && !stripe.is_parity(column) {
            effects.push(Effect::Apply { member, batch: stripe.row_batch(column), sync: false });
        }
    }
    stripe.port.run(effects).await;
}
