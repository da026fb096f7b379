// SPDX-License-Identifier: Apache-2.0

//! Which stripes there are.

use crate::core::Core;
use crate::error::SetError;
use nyala_raid::{Effect, Reply, StripeError, StripeId, key};
use std::collections::BTreeSet;

/// Stripes of a group that have rows, from a key on. All good members have the same; one that lost some is not believed alone.
pub(crate) fn rows(set: &Core, group: usize, from: Vec<u8>, most: usize) -> Result<Vec<StripeId>, SetError> {
    let good = set.good_of_group(set.volume.geometry().members(group).start);
    let mut found = BTreeSet::new();
    for member in good.into_iter().take(set.volume.geometry().parity() + 1) {
        let scan = Effect::Scan { member, from: from.clone(), to: key::behind(b"R"), limit: most };
        match set.runners.run(vec![scan]).pop() {
            Some(Reply::Pairs(pairs)) => {
                found.extend(pairs.iter().filter_map(|(at, _)| key::stripe_of(at, b"R")));
            }
            _ => return Err(StripeError::Failed { members: vec![member] }.into()),
        }
    }
    Ok(found.into_iter().take(most).collect())
}
