// SPDX-License-Identifier: Apache-2.0

//! Removal of whole stripes: announced durably on all members, then the rows go, then the space.

use super::outcome::Use;
use crate::effect::{Effect, Reply};
use crate::error::StripeError;
use crate::geometry::Geometry;
use crate::ids::{ObjectId, StripeId};
use crate::intent::Intent;
use crate::key;
use crate::row::Row;
use crate::task::Port;
use nyala_kv::Batch;
use std::ops::Range;
use std::sync::Arc;

/// Rows that are looked at together.
const PAGE: usize = 512;

/// Removes stripes of an object: those from `stripes.start` up to before `stripes.end`; all that follow if that is the largest number. `uses`
/// is by member. Returns the members that failed meanwhile.
pub(crate) async fn discard(
    port: Port,
    geometry: Arc<Geometry>,
    uses: Vec<Use>,
    number: u64,
    object: ObjectId,
    stripes: Range<u64>,
) -> Result<Vec<usize>, StripeError> {
    let intent = Intent::Discard { object, stripes: stripes.clone() }.encode();
    let there: Vec<usize> = (0..uses.len()).filter(|member| uses[*member] != Use::Stale).collect();
    let log = |member: &usize| {
        let mut batch = Batch::new();
        batch.put(key::intent(number), &intent);
        Effect::Apply { member: *member, batch, sync: true }
    };
    let replies = port.run(there.iter().map(log).collect()).await;
    let bad = there.iter().zip(replies).filter(|(_, reply)| !matches!(reply, Reply::Done));
    let members: Vec<usize> = bad.map(|(member, _)| *member).collect();
    if !members.is_empty() {
        return Err(StripeError::Failed { members });
    }
    Ok(erase(&port, &geometry, &uses, number, object, stripes).await)
}

/// Removes the rows that are older than operation `number`, and frees space. Returns the members that failed.
pub(crate) async fn erase(
    port: &Port,
    geometry: &Geometry,
    uses: &[Use],
    number: u64,
    object: ObjectId,
    stripes: Range<u64>,
) -> Vec<usize> {
    let mut failed = Vec::new();
    for member in (0..uses.len()).filter(|member| uses[*member] != Use::Stale) {
        let ok = erase_member(port, geometry, uses, member, number, object, &stripes).await;
        if ok.is_none() {
            failed.push(member);
        }
    }
    failed
}

/// Removes rows that are older than operation `number` from one member that is behind, after the others noted that it has them; whether it did.
pub(crate) async fn erase_behind(
    port: Port,
    geometry: Arc<Geometry>,
    member: usize,
    number: u64,
    object: ObjectId,
    stripes: Range<u64>,
) -> bool {
    let nobody_stale = vec![Use::Good; geometry.drives()];
    erase_member(&port, &geometry, &nobody_stale, member, number, object, &stripes).await.is_some()
}

async fn erase_member(
    port: &Port,
    geometry: &Geometry,
    uses: &[Use],
    member: usize,
    number: u64,
    object: ObjectId,
    stripes: &Range<u64>,
) -> Option<()> {
    let mut from = key::row(StripeId { object, number: stripes.start });
    let to = end_key(object, stripes.end);
    let stale = stale_in_group(geometry, uses, member);
    let mut kept = false;
    loop {
        let scan = Effect::Scan { member, from, to: to.clone(), limit: PAGE };
        let Reply::Pairs(pairs) = port.run(vec![scan]).await.pop()? else { return None };
        let mut batch = Batch::new();
        let mut freed = Vec::new();
        for (row, value) in &pairs {
            let stripe = key::stripe_of(row, b"R")?;
            // What cannot be read is damaged, and old: nothing was written to it since.
            if Row::decode(value, geometry.blocks()).is_some_and(|row| row.version() > number) {
                kept = true;
                continue;
            }
            batch.delete(row);
            stale.iter().for_each(|stale| _ = batch.put(key::dirty(*stale, stripe), []));
            freed.push(geometry.offset(stripe));
        }
        if !batch.is_empty() {
            done(port, Effect::Apply { member, batch, sync: false }).await?;
        }
        let len = Some(geometry.strip_bytes() as u64);
        if stripes.end != u64::MAX || kept {
            for offset in freed {
                done(port, Effect::Discard { member, object, offset, len }).await?;
            }
        }
        match pairs.last() {
            Some((last, _)) if pairs.len() == PAGE => from = key::next(last),
            _ => break,
        }
    }
    if stripes.end == u64::MAX && !kept {
        let offset = geometry.first_offset(member, stripes.start);
        done(port, Effect::Discard { member, object, offset, len: None }).await?;
    }
    Some(())
}

/// What follows the rows of an object's stripes before `end`; of all, if that is the largest number.
fn end_key(object: ObjectId, end: u64) -> Vec<u8> {
    let last = key::row(StripeId { object, number: end });
    if end == u64::MAX { key::next(&last) } else { last }
}

/// Members of a member's group that do not take part.
fn stale_in_group(geometry: &Geometry, uses: &[Use], member: usize) -> Vec<usize> {
    geometry.members(geometry.group_of(member)).filter(|other| uses[*other] == Use::Stale).collect()
}

async fn done(port: &Port, effect: Effect) -> Option<()> {
    matches!(port.run(vec![effect]).await.first(), Some(Reply::Done)).then_some(())
}
