// SPDX-License-Identifier: Apache-2.0

//! Removals.
//!
//! **Failure model.** That of the crate. A member that is behind removes the same as the good ones, and may lose that until it is synced: what it missed stays noted in
//! their tables until then. One that cannot remove leaves the set.

use crate::core::Core;
use crate::error::SetError;
use crate::events::happened;
use crate::missed::load_missed_of;
use crate::requests::write;
use crate::status::has_stripes;
use nyala_raid::event::Event;
use nyala_raid::member::MemberState;
use nyala_raid::{ObjectId, StripeError, StripeId, Use};
use std::ops::Range;

/// Makes an object read as zeros from `from` on, where it has content up to `end` at most.
pub(crate) fn clear(set: &Core, object: ObjectId, from: u64, end: u64) -> Result<(), SetError> {
    let stripe = set.volume.geometry().stripe_bytes() as u64;
    let behind = from.div_ceil(stripe);
    let border = end.min(behind.saturating_mul(stripe));
    if border > from && has_stripes(set, object, from / stripe)? {
        write(set, object, from, &vec![0; (border - from) as usize])?;
    }
    if end > border && has_stripes(set, object, behind)? {
        return discard(set, object, behind..u64::MAX);
    }
    Ok(())
}

/// Removes whole stripes of an object; all that follow if the range ends with the largest number. Durable when it returns.
pub(crate) fn discard(set: &Core, object: ObjectId, stripes: Range<u64>) -> Result<(), SetError> {
    loop {
        let _alone = set.gate.write();
        set.running()?;
        let (number, uses) = {
            let mut state = set.state.lock();
            state.open.retain(|stripe| stripe.object != object || !stripes.contains(&stripe.number));
            (state.next(), state.whole_uses())
        };
        let failed = match set.finish(set.volume.discard(object, stripes.clone(), number, |member| uses[member])) {
            Ok(failed) => (true, failed),
            Err(StripeError::Failed { members }) => (false, members),
            Err(error) => return Err(error.into()),
        };
        if !failed.1.is_empty() {
            happened(set, Event::Failed { members: failed.1 }, None)?;
        }
        if failed.0 {
            return (0..uses.len())
                .filter(|member| uses[*member] == Use::Stale)
                .try_for_each(|member| discard_behind(set, member, object, stripes.clone(), number));
        }
    }
}

/// What a member that is not good has missed of a removal is in the tables of the good ones. If it is there it removes the same: while files are
/// removed all the time, it would never be caught up. The caller has the gate alone.
fn discard_behind(
    set: &Core,
    member: usize,
    object: ObjectId,
    stripes: Range<u64>,
    number: u64,
) -> Result<(), SetError> {
    load_missed_of(set, member, object, stripes.clone())?;
    if matches!(set.state.lock().members.state(member), MemberState::Good | MemberState::Missing) {
        return Ok(());
    }
    if !set.finish(set.volume.discard_behind(member, object, stripes.clone(), number)) {
        return happened(set, Event::Failed { members: vec![member] }, None);
    }
    let of = |number| StripeId { object, number };
    set.state.lock().behind[member].give_all(of(stripes.start)..of(stripes.end));
    Ok(())
}
