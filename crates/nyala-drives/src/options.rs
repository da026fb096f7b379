// SPDX-License-Identifier: Apache-2.0

//! What an operator has set for a set: a row of every drive's table.
//!
//! **Failure model.** A drive that was away has an older row, and a new one has none: the largest number holds, and whoever comes into the set is given it. A drive whose row cannot
//! be written leaves the set. If none can be written, nothing changes, here and there. A crash in the middle leaves the old or the new row on each drive: one of both holds from then on.

use crate::core::Core;
use crate::error::SetError;
use crate::events::happened;
use nyala_raid::event::Event;
use nyala_raid::member::MemberState;
use nyala_raid::options::{SetOptions, set_limit};
use nyala_raid::{Effect, Reply, StripeError, key};
use nyala_store::Batch;

/// What the good drives say.
pub(crate) fn options_found(set: &Core) -> SetOptions {
    let good = set.state.lock().members.all(|state| state == MemberState::Good);
    let get = |member: &usize| Effect::Get { member: *member, key: key::OPTIONS.to_vec() };
    let replies = set.runners.run(good.iter().map(get).collect());
    let found = replies.into_iter().filter_map(|reply| match reply {
        Reply::Value(Some(value)) => SetOptions::decode(&value),
        _ => None,
    });
    found.max_by_key(|options| options.number).unwrap_or_default()
}

/// Takes them for the running set. Errors are counted from the beginning.
pub(crate) fn apply_options(set: &Core, options: SetOptions) {
    let mut state = set.state.lock();
    if options.number > 0 {
        set_limit(&mut state.members, options.limit);
    }
    state.options = options;
}

/// Changes them, durably on all drives that are there. They hold once a drive has them, and not before.
pub(crate) fn set_options(set: &Core, options: SetOptions) -> Result<SetOptions, SetError> {
    let _alone = set.gate.write();
    set.running()?;
    let options = SetOptions { number: set.state.lock().options.number + 1, ..options };
    let failed = put(set, options)?;
    apply_options(set, options);
    leave(set, failed).map(|()| options)
}

/// A drive has come into the set, which gave this: it has to know them too.
pub(crate) fn store_after<T>(set: &Core, given: T) -> Result<T, SetError> {
    let _alone = set.gate.write();
    let options = set.state.lock().options;
    if options.number > 0 {
        let failed = put(set, options)?;
        leave(set, failed)?;
    }
    Ok(given)
}

/// Writes them on all drives that are there. Gives those that could not; an error is that none could. The caller has the gate alone: what is older never comes later.
fn put(set: &Core, options: SetOptions) -> Result<Vec<usize>, SetError> {
    let there = set.state.lock().there();
    let put = |member: &usize| {
        let mut batch = Batch::new();
        batch.put(key::OPTIONS, options.encode());
        Effect::Apply { member: *member, batch, sync: true }
    };
    let replies = set.runners.run(there.iter().map(put).collect());
    let bad = there.iter().zip(&replies).filter(|(_, reply)| !matches!(reply, Reply::Done));
    let members: Vec<usize> = bad.map(|(member, _)| *member).collect();
    if members.len() == there.len() { Err(StripeError::Failed { members }.into()) } else { Ok(members) }
}

fn leave(set: &Core, members: Vec<usize>) -> Result<(), SetError> {
    if members.is_empty() { Ok(()) } else { happened(set, Event::Failed { members }, None) }
}
