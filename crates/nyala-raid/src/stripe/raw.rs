// SPDX-License-Identifier: Apache-2.0

//! Blocks as they lie on the drives.

use super::outcome::{DamageKind, Use};
use super::state::Stripe;
use crate::effect::{Effect, Reply};
use crate::ids::BLOCK_BYTES;
use nyala_wire::checksum::crc32c;
use std::ops::Range;

/// Blocks as they are, and which of them are right.
pub(super) type RawBlocks = (Vec<u8>, Vec<bool>);

/// Reads blocks of columns as they are, and says of each block whether it is right. Blocks that were never written are zeros, and right.
pub async fn read_raw(stripe: &mut Stripe, wants: &[(usize, Range<usize>)]) -> Vec<RawBlocks> {
    let asked = |stripe: &Stripe, (column, blocks): &(usize, Range<usize>)| {
        stripe.uses[*column] != Use::Stale && stripe.any_present(*column, blocks)
    };
    let offset = stripe.geometry.offset(stripe.id);
    let effect = |(column, blocks): &(usize, Range<usize>)| Effect::Read {
        member: stripe.member(*column),
        object: stripe.id.object,
        offset: offset + (blocks.start * BLOCK_BYTES) as u64,
        len: blocks.len() * BLOCK_BYTES,
        patient: stripe.patient,
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
