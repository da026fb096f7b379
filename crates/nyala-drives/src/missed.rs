// SPDX-License-Identifier: Apache-2.0

//! What members have missed.

use crate::core::Core;
use crate::error::SetError;
use crate::events::happened;
use nyala_raid::event::Event;
use nyala_raid::member::{MemberState, Missed};
use nyala_raid::{Effect, ObjectId, Reply, StripeId, key};
use nyala_store::Batch;
use std::cmp::Reverse;
use std::ops::Range;

/// Missed stripes among which those are looked for that several members have missed.
const LOOK_AT: usize = 4096;

/// Reads from the good members what a member has missed.
pub(crate) fn load_missed(set: &Core, member: usize) -> Result<(), SetError> {
    let prefix = key::dirty_prefix(member);
    load(set, member, prefix.to_vec(), key::behind(&prefix))
}

/// The same for stripes of one object. What is known of others stays as it is.
pub(crate) fn load_missed_of(set: &Core, member: usize, object: ObjectId, stripes: Range<u64>) -> Result<(), SetError> {
    let at = |number| key::dirty(member, StripeId { object, number });
    load(set, member, at(stripes.start), at(stripes.end))
}

fn load(set: &Core, member: usize, from: Vec<u8>, to: Vec<u8>) -> Result<(), SetError> {
    if set.state.lock().members.state(member) == MemberState::Good {
        return Ok(());
    }
    let prefix = key::dirty_prefix(member);
    for other in set.good_of_group(member) {
        set.scan(other, from.clone(), to.clone(), |pairs| {
            let mut state = set.state.lock();
            let stripes = pairs.iter().filter_map(|(at, _)| key::stripe_of(at, &prefix));
            stripes.for_each(|stripe| state.behind[member].note(stripe));
        })?;
    }
    Ok(())
}

/// Stripes up to `last` (none: all) that a member has missed and when that was noted, those first that others have missed as well.
pub(crate) fn missed_of(set: &Core, member: usize, last: Option<StripeId>, most: usize) -> Vec<(StripeId, u64)> {
    let state = set.state.lock();
    let mut some: Vec<(StripeId, u64)> = state.behind[member].missing(last).take(LOOK_AT).collect();
    let risk = |stripe: &StripeId| state.behind.iter().filter(|other| other.of(*stripe) != Missed::Nothing).count();
    some.sort_by_cached_key(|(stripe, _)| (Reverse(risk(stripe)), *stripe));
    some.truncate(most);
    some
}

/// The good members forget that a member has missed stripes.
pub(crate) fn forget(set: &Core, member: usize, stripes: Vec<StripeId>) -> Result<(), SetError> {
    let mut batch = Batch::new();
    stripes.into_iter().for_each(|stripe| _ = batch.delete(key::dirty(member, stripe)));
    if batch.is_empty() {
        return Ok(());
    }
    let good = set.good_of_group(member);
    let apply = |member: &usize| Effect::Apply { member: *member, batch: batch.clone(), sync: false };
    let replies = set.runners.run(good.iter().map(apply).collect());
    let bad = good.iter().zip(replies).filter(|(_, reply)| !matches!(reply, Reply::Done));
    let members: Vec<usize> = bad.map(|(member, _)| *member).collect();
    if members.is_empty() { Ok(()) } else { happened(set, Event::Failed { members }, None) }
}
