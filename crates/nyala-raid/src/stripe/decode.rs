// SPDX-License-Identifier: Apache-2.0

//! Blocks computed from others.

use super::outcome::Use;
use super::raw::{RawBlocks, read_raw};
use super::state::Stripe;
use crate::error::StripeError;
use crate::ids::BLOCK_BYTES;
use nyala_wire::checksum::crc32c;
use std::ops::Range;

/// Computes blocks of a column from others; `None` if they do not suffice.
pub async fn decode(stripe: &mut Stripe, column: usize, blocks: &Range<usize>) -> Result<Option<Vec<u8>>, StripeError> {
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
    have: &[(usize, RawBlocks)],
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
