// SPDX-License-Identifier: Apache-2.0

//! Syncs, which are checkpoints of the set; those that wait for one share the next.

use crate::core::Core;
use crate::error::SetError;
use crate::events::{failed, happened};
use nyala_raid::StripeError;
use nyala_raid::event::Event;

/// What is to be made durable: the numbers of the operations, the last one's, and where.
type Due = (Vec<u64>, u64, Vec<usize>);

/// Makes everything that was written before durable.
pub(crate) fn sync(set: &Core) -> Result<(), SetError> {
    let _one = set.checkpoints.lock();
    loop {
        let due = {
            let _alone = set.gate.write();
            begin(set)?
        };
        // Whoever synced before has done it for this caller too.
        let Some(due) = due else { return Ok(()) };
        match finish(set, due)? {
            bad if bad.is_empty() => return Ok(()),
            bad => failed(set, &bad, None)?,
        }
    }
}

/// The same for somebody who has the checkpoints and the gate alone: the logs are empty then.
pub(crate) fn sync_alone(set: &Core) -> Result<(), SetError> {
    while let Some(due) = begin(set)? {
        match finish(set, due)? {
            bad if bad.is_empty() => return Ok(()),
            members => happened(set, Event::Failed { members }, None)?,
        }
    }
    Ok(())
}

/// Begins a checkpoint, if there is anything to do. The caller has the gate alone.
fn begin(set: &Core) -> Result<Option<Due>, SetError> {
    set.running()?;
    let mut state = set.state.lock();
    if state.numbers.is_empty() {
        return Ok(None);
    }
    state.open.clear();
    state.logged_bytes = 0;
    let recent = std::mem::take(&mut state.recent);
    state.syncing.extend(recent);
    Ok(Some((std::mem::take(&mut state.numbers), state.last(), state.there())))
}

/// Does it. Gives the members that failed; then nothing has ended.
fn finish(set: &Core, (numbers, number, there): Due) -> Result<Vec<usize>, SetError> {
    let kept = numbers.clone();
    match set.finish(set.volume.checkpoint(there, numbers, number)) {
        Ok(()) => {
            set.state.lock().syncing.clear();
            Ok(Vec::new())
        }
        Err(error) => {
            set.state.lock().numbers.extend(kept);
            let StripeError::Failed { members } = error else { return Err(error.into()) };
            Ok(members)
        }
    }
}
