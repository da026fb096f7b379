// SPDX-License-Identifier: Apache-2.0

//! All stripes compared, a few at a time, from where the last scrub was.

use crate::core::Core;
use crate::error::SetError;
use crate::progress::Progress;
use crate::repair::repair;
use crate::rows::rows;
use nyala_raid::member::MemberState;
use nyala_raid::walk::Scrub;
use nyala_raid::{Effect, Reply, StripeError, key};
use nyala_store::Batch;
use std::collections::BTreeSet;

/// Where the scrub is.
pub(crate) fn scrub(set: &Core) -> Scrub {
    set.state.lock().scrub
}

/// Begins a scrub from the start.
pub(crate) fn begin_scrub(set: &Core, now_s: u64) {
    let mut state = set.state.lock();
    state.scrub = state.scrub.begin(now_s);
}

/// Compares up to `most` stripes behind those of before, and heals what is wrong.
pub(crate) fn scrub_some(set: &Core, most: usize, now_s: u64) -> Result<Progress, SetError> {
    let mut scrub = scrub(set);
    let mut stripes = BTreeSet::new();
    for group in 0..set.volume.geometry().groups() {
        stripes.extend(rows(set, group, scrub.from(), most)?);
    }
    let mut progress = Progress { done: stripes.is_empty(), ..Progress::default() };
    for stripe in stripes.into_iter().take(most) {
        let (healed, lost) = match repair(set, stripe, vec![]) {
            Ok(repaired) => {
                progress.bytes += repaired.read_bytes;
                (repaired.damage.len() as u64, false)
            }
            Err(SetError::Stripe(StripeError::Lost { .. })) => (0, true),
            Err(error) => return Err(error),
        };
        scrub.looked_at(stripe, healed, lost);
        progress.stripes += 1;
        progress.lost += u64::from(lost);
    }
    if progress.done {
        scrub.end(now_s);
    }
    set.state.lock().scrub = scrub;
    let mut batch = Batch::new();
    batch.put(key::SCRUB, scrub.encode());
    let good = set.state.lock().members.all(|state| state == MemberState::Good);
    // If it is lost, some stripes are looked at again.
    set.runners
        .run(good.iter().map(|member| Effect::Apply { member: *member, batch: batch.clone(), sync: false }).collect());
    Ok(progress)
}

/// The scrub that was under way when the set was closed.
pub(crate) fn scrub_found(set: &Core) -> Scrub {
    let good = set.state.lock().members.all(|state| state == MemberState::Good);
    let get = |member: &usize| Effect::Get { member: *member, key: key::SCRUB.to_vec() };
    let replies = set.runners.run(good.iter().map(get).collect());
    let found = replies.into_iter().filter_map(|reply| match reply {
        Reply::Value(Some(value)) => Scrub::decode(&value),
        _ => None,
    });
    found.max_by_key(|scrub| (scrub.began_s, scrub.stripes)).unwrap_or_default()
}
