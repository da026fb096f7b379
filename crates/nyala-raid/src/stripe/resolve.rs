// SPDX-License-Identifier: Apache-2.0

//! After a crash: a stripe that was written without a log is made whole again.
//!
//! Nothing in it had been promised to survive a power cut. Blocks that are as some row says stay; others are decoded if that gives what a row
//! says; of the rest, what the drive has is the content from now on, as on a single disk, or zeros where the drive is missing. Then parity follows.

use super::commit::{bearable, failed, missed};
use super::decode::decode_from;
use super::outcome::{Resolved, Use};
use super::raw::read_raw;
use super::rows::{load_rows, row_batch};
use super::state::Stripe;
use crate::effect::Effect;
use crate::error::StripeError;
use crate::ids::BLOCK_BYTES;
use crate::intent::Intent;
use crate::key;
use crate::row::{Column, Row};
use nyala_wire::checksum::crc32c;

/// Makes an open stripe whole.
pub(crate) async fn resolve(mut stripe: Stripe, number: u64) -> Result<Resolved, StripeError> {
    load_rows(&mut stripe).await;
    stripe.all_answer()?;
    if stripe.is_absent()? {
        return Ok(Resolved::default());
    }
    // What tears in a power cut is no fault of a drive's.
    stripe.damage.clear();
    let (data, width, blocks) = (stripe.geometry.data(), stripe.uses.len(), stripe.geometry.blocks());
    for column in 0..width {
        let empty = Column { version: 0, sums: vec![None; blocks] };
        stripe.row.columns.entry(column).or_insert(empty);
    }
    let wants: Vec<_> = (0..width).map(|column| (column, 0..blocks)).collect();
    let mut read = read_raw(&mut stripe, &wants).await;
    for (column, (_, right)) in read.iter_mut().enumerate() {
        if stripe.is_parity(column) && !stripe.current[column] {
            right.fill(false);
        }
    }
    let all_right = read.iter().enumerate().all(|(column, (_, right))| {
        stripe.uses[column] != Use::Stale && stripe.current[column] && !right.contains(&false)
    });
    let mut torn_blocks = 0;
    let mut content = Vec::with_capacity(data);
    for column in 0..data {
        let mut bytes = read[column].0.clone();
        for block in 0..blocks {
            if !read[column].1[block] {
                let piece = &mut bytes[block * BLOCK_BYTES..(block + 1) * BLOCK_BYTES];
                torn_blocks += u64::from(!settle(&mut stripe, &read, column, block, piece));
            }
        }
        content.push(bytes);
    }
    let parity = stripe.code.encode(&content, width - data);
    let same = (data..width).zip(&parity).all(|(column, right)| read[column].0 == *right);
    if all_right && same {
        return Ok(Resolved::default());
    }
    content.extend(parity);
    let failed = rewrite(&mut stripe, number, content).await?;
    Ok(Resolved { torn_blocks, failed, damage: stripe.damage })
}

/// Finds the content of a block that is not what its checksum says; whether it is what was written.
fn settle(stripe: &mut Stripe, read: &[(Vec<u8>, Vec<bool>)], column: usize, block: usize, piece: &mut [u8]) -> bool {
    let range = block * BLOCK_BYTES..(block + 1) * BLOCK_BYTES;
    let others = read.iter().enumerate().filter(|(other, (_, right))| *other != column && right[block]);
    let have: Vec<_> = others.map(|(other, (bytes, _))| (other, (bytes[range.clone()].to_vec(), vec![true]))).collect();
    if let Some(decoded) = decode_from(stripe, column, &(block..block + 1), &have) {
        piece.copy_from_slice(&decoded);
        return true;
    }
    let sum = match stripe.uses[column] {
        Use::Stale => {
            piece.fill(0);
            None
        }
        Use::Good | Use::Slow => Some(crc32c(piece)),
    };
    if let Some(known) = stripe.row.columns.get_mut(&column) {
        known.sums[block] = sum;
    }
    false
}

/// Writes all strips as they are from now on, and their rows.
async fn rewrite(stripe: &mut Stripe, number: u64, content: Vec<Vec<u8>>) -> Result<Vec<usize>, StripeError> {
    let (data, blocks) = (stripe.geometry.data(), stripe.geometry.blocks());
    let any = |block: usize, row: &Row| {
        (0..data).any(|column| row.columns.get(&column).is_some_and(|known| known.sums[block].is_some()))
    };
    for (column, bytes) in content.iter().enumerate() {
        let present: Vec<bool> = (0..blocks).map(|block| any(block, &stripe.row)).collect();
        let is_parity = stripe.is_parity(column);
        let Some(known) = stripe.row.columns.get_mut(&column) else { continue };
        known.version = number;
        for (block, piece) in bytes.chunks(BLOCK_BYTES).enumerate() {
            let there = if is_parity { present[block] } else { known.sums[block].is_some() };
            known.sums[block] = there.then(|| crc32c(piece));
        }
    }
    let (columns, offset) = (stripe.there(), stripe.geometry.offset(stripe.id));
    let stale = stripe.stale();
    let write = |column: usize, member: usize| {
        let mut then = row_batch(stripe, column);
        then.put(key::intent(number), Intent::Fresh { stripe: stripe.id }.encode());
        missed(stripe, &mut then, &stale);
        Effect::Write { member, object: stripe.id.object, offset, bytes: content[column].clone().into(), then }
    };
    bearable(stripe, failed(stripe, &columns, &stripe.each(&columns, write).await))
}
