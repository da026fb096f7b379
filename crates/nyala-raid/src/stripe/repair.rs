// SPDX-License-Identifier: Apache-2.0

//! Scrub and rebuild of one stripe: everything is read and compared, what is wrong is written anew, and so is what members have missed.

use super::blocks::{fetch, heal};
use super::commit::{NewBlocks, bearable, failed, logged};
use super::outcome::{DamageKind, Repaired, Use, WriteMode};
use super::raw::read_raw;
use super::rows::{load_rows, row_batch};
use super::state::Stripe;
use crate::effect::{Effect, Reply};
use crate::error::StripeError;
use crate::ids::BLOCK_BYTES;
use crate::key;
use bytes::Bytes;
use nyala_kv::Batch;

/// Repairs a stripe; the members `rebuild` (which are not to be read) get what they have missed.
pub(crate) async fn repair(mut stripe: Stripe, number: u64, rebuild: Vec<usize>) -> Result<Repaired, StripeError> {
    let mut repaired = Repaired::default();
    let targets: Vec<usize> = rebuild.iter().filter_map(|member| stripe.geometry.column(stripe.id, *member)).collect();
    load_rows(&mut stripe).await;
    stripe.all_answer()?;
    if stripe.is_absent()? {
        repaired.failed = forget(&stripe, &targets).await;
        return Ok(repaired);
    }
    let (data, width) = (stripe.geometry.data(), stripe.uses.len());
    let full = 0..stripe.geometry.blocks();
    let wants: Vec<_> = (0..data)
        .filter(|column| stripe.geometry.parity() > 0 || stripe.uses[*column] != Use::Stale)
        .map(|column| (column, full.clone()))
        .collect();
    let content = fetch(&mut stripe, &wants).await?;
    let content: Vec<Bytes> = content.into_iter().map(Bytes::from).collect();
    let parity: Vec<Bytes> = match stripe.geometry.parity() {
        0 => Vec::new(),
        _ => stripe.code.encode(&content, width - data).into_iter().map(Bytes::from).collect(),
    };
    let rewrite = compare_parity(&mut stripe, &parity).await;
    repaired.read_bytes = (stripe.there().len() * full.len() * BLOCK_BYTES) as u64;
    heal(&mut stripe).await;
    if rewrite {
        // All of them: each has the versions of the others.
        let new = |(at, bytes): (usize, &Bytes)| NewBlocks { column: data + at, block: 0, bytes: bytes.clone() };
        let blocks = parity.iter().enumerate().map(new).collect();
        repaired.failed = logged(&mut stripe, WriteMode { number, open: false }, blocks).await?.failed;
    }
    for column in targets {
        let known = wants.iter().position(|(there, _)| *there == column).map(|at| &content[at]);
        let Some(bytes) = column.checked_sub(data).map_or(known, |at| parity.get(at)) else {
            return stripe.lost();
        };
        repaired.rebuilt_bytes += rebuild_one(&stripe, column, bytes.clone(), &mut repaired.failed).await;
    }
    repaired.failed = bearable_repair(&stripe, repaired.failed)?;
    repaired.damage = stripe.damage;
    Ok(repaired)
}

/// Compares parity with what it should be; whether all of it has to be written with new versions.
async fn compare_parity(stripe: &mut Stripe, parity: &[Bytes]) -> bool {
    let full = 0..stripe.geometry.blocks();
    let mut rewrite = false;
    for (column, right) in (stripe.geometry.data()..).zip(parity) {
        let agrees = stripe.agrees(column, right);
        let (bytes, good) = read_raw(stripe, &[(column, full.clone())]).await.pop().unwrap_or_default();
        if stripe.uses[column] == Use::Stale || stripe.is_outdated(column) {
            // The other parity members know its checksums, if there are any.
            rewrite |= stripe.is_outdated(column) || !agrees;
        } else if !agrees {
            stripe.found(column, DamageKind::Parity);
            rewrite = true;
        } else if bytes != *right && good.contains(&false) && !stripe.late.contains(&stripe.member(column)) {
            stripe.heal.push((column, 0, right.to_vec()));
        }
    }
    rewrite
}

/// Members lose the row of a stripe that is not there any more. Gives those that failed.
async fn forget(stripe: &Stripe, columns: &[usize]) -> Vec<usize> {
    let gone = |_: usize, member: usize| {
        let mut batch = Batch::new();
        batch.delete(key::row(stripe.id));
        Effect::Apply { member, batch, sync: false }
    };
    failed(stripe, columns, &stripe.each(columns, gone).await)
}

/// Members that are being rebuilt may fail without any loss.
fn bearable_repair(stripe: &Stripe, failed: Vec<usize>) -> Result<Vec<usize>, StripeError> {
    let is_stale = |member: &usize| {
        stripe.geometry.column(stripe.id, *member).is_some_and(|column| stripe.uses[column] == Use::Stale)
    };
    let (stale, good): (Vec<usize>, Vec<usize>) = failed.into_iter().partition(is_stale);
    Ok([bearable(stripe, good)?, stale].concat())
}

async fn rebuild_one(stripe: &Stripe, column: usize, bytes: Bytes, failed: &mut Vec<usize>) -> u64 {
    let (member, len) = (stripe.member(column), bytes.len() as u64);
    let offset = stripe.geometry.offset(stripe.id);
    let write = Effect::Write { member, object: stripe.id.object, offset, bytes, then: row_batch(stripe, column) };
    if !matches!(stripe.port.run(vec![write]).await.first(), Some(Reply::Done)) {
        failed.push(member);
        return 0;
    }
    len
}
