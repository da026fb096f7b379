// SPDX-License-Identifier: Apache-2.0

//! One stripe compared, and what was missed of it given.

use crate::core::Core;
use crate::error::SetError;
use crate::events::{damaged, failed};
use nyala_raid::{Repaired, StripeError, StripeId};
use std::sync::atomic::Ordering;

/// Compares a stripe, and gives some members what they miss of it.
pub(crate) fn repair(set: &Core, stripe: StripeId, rebuild: Vec<usize>) -> Result<Repaired, SetError> {
    let repaired = {
        let _gate = set.gate.read();
        set.running()?;
        let _stripe = set.lock_of(stripe).lock();
        let (number, uses) = {
            let mut state = set.state.lock();
            state.recent.insert(stripe);
            (state.next(), state.uses(stripe))
        };
        let repaired = set.finish(set.volume.repair(stripe, number, rebuild.clone(), |member| uses[member]));
        if let Ok(repaired) = &repaired {
            let given = rebuild.into_iter().filter(|member| !repaired.failed.contains(member));
            given.for_each(|member| set.state.lock().behind[member].give(stripe));
        }
        repaired
    };
    match repaired {
        Ok(repaired) => {
            set.counters.rebuilt_bytes.fetch_add(repaired.rebuilt_bytes, Ordering::Relaxed);
            failed(set, &repaired.failed, Some(stripe))?;
            damaged(set, &repaired.damage)?;
            Ok(repaired)
        }
        Err(StripeError::Failed { members }) => {
            failed(set, &members, None)?;
            Ok(Repaired { failed: members, ..Default::default() })
        }
        Err(error) => Err(error.into()),
    }
}
