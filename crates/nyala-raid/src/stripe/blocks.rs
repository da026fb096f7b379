// SPDX-License-Identifier: Apache-2.0

//! Blocks of a stripe: read, compared, decoded, healed.

use super::decode::decode;
use super::outcome::{DamageKind, Use};
use super::raw::read_raw;
use super::rows::row_batch;
use super::state::Stripe;
use crate::effect::Effect;
use crate::error::StripeError;
use crate::ids::BLOCK_BYTES;
use nyala_kv::Batch;
use std::ops::Range;

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

/// Writes anew what was found damaged and could be had otherwise, content and rows. That it may fail is for the next who reads it.
pub async fn heal(stripe: &mut Stripe) {
    let offset = stripe.geometry.offset(stripe.id);
    let mut effects = Vec::new();
    for (column, block, bytes) in std::mem::take(&mut stripe.heal) {
        let offset = offset + (block * BLOCK_BYTES) as u64;
        let (member, object) = (stripe.member(column), stripe.id.object);
        effects.push(Effect::Write { member, object, offset, bytes: bytes.into(), then: Batch::new() });
    }
    let damaged = |kind: DamageKind, member: usize| {
        stripe.damage.iter().any(|damage| damage.member == member && damage.kind == kind)
    };
    for column in stripe.there() {
        let member = stripe.member(column);
        // The content of parity that is out of date is wrong too: a repair makes both.
        if damaged(DamageKind::Row, member) && !stripe.is_parity(column) {
            effects.push(Effect::Apply { member, batch: row_batch(stripe, column), sync: false });
        }
    }
    stripe.port.run(effects).await;
}
