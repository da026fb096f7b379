// SPDX-License-Identifier: Apache-2.0

//! What members have missed.

use crate::core::Core;
use crate::error::SetError;
use crate::events::happened;
use nyala_raid::event::Event;
use nyala_raid::member::MemberState;
use nyala_raid::{Effect, Reply, StripeId, key};
use nyala_store::Batch;
use std::cmp::Reverse;

/// Missed stripes among which those are looked for that several members have missed.
const LOOK_AT: usize = 4096;

/// Reads from the good members what a member has missed.
pub(crate) fn load_missed(set: &Core, member: usize) -> Result<(), SetError> {
    if set.state.lock().members.state(member) == MemberState::Good {
        return Ok(());
    }
    let prefix = key::dirty_prefix(member);
    for other in set.good_of_group(member) {
        set.scan(other, prefix.to_vec(), key::behind(&prefix), |pairs| {
            let mut state = set.state.lock();
            let stripes = pairs.iter().filter_map(|(at, _)| key::stripe_of(at, &prefix));
            stripes.for_each(|stripe| state.note(member, stripe));
        })?;
    }
    Ok(())
}

/// Stripes that a member has missed and when that was noted, those first that other members have missed as well.
pub(crate) fn missed_of(set: &Core, member: usize, most: usize) -> Vec<(StripeId, u64)> {
    let state = set.state.lock();
    let some = state.missed[member].iter().take(LOOK_AT);
    let mut some: Vec<(StripeId, u64)> = some.map(|(stripe, note)| (*stripe, *note)).collect();
    let risk = |stripe: &StripeId| state.missed.iter().filter(|missed| missed.contains_key(stripe)).count();
    some.sort_by_cached_key(|(stripe, _)| (Reverse(risk(stripe)), *stripe));
    some.truncate(most);
    some
}

/// Forgets that a member has missed stripes, unless they were written again since. The caller has the gate alone.
pub(crate) fn caught_up(set: &Core, member: usize, stripes: &[(StripeId, u64)]) -> Result<(), SetError> {
    let mut batch = Batch::new();
    {
        let mut state = set.state.lock();
        for (stripe, note) in stripes {
            if state.missed[member].get(stripe) == Some(note) {
                state.missed[member].remove(stripe);
                batch.delete(key::dirty(member, *stripe));
            }
        }
    }
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
