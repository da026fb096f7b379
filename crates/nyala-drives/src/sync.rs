// SPDX-License-Identifier: Apache-2.0

//! Syncs, which are checkpoints of the set; those that wait for one share the next.

use crate::core::Core;
use crate::error::SetError;
use crate::events::failed;
use nyala_raid::StripeError;

/// Makes everything that was written before durable.
pub(crate) fn sync(set: &Core) -> Result<(), SetError> {
    let _one = set.checkpoints.lock();
    loop {
        let (numbers, number, there) = {
            let _alone = set.gate.write();
            set.running()?;
            let mut state = set.state.lock();
            if state.numbers.is_empty() {
                // Whoever synced before has done it for this caller too.
                return Ok(());
            }
            state.open.clear();
            state.logged_bytes = 0;
            let recent = std::mem::take(&mut state.recent);
            state.syncing.extend(recent);
            (std::mem::take(&mut state.numbers), state.last(), state.there())
        };
        let kept = numbers.clone();
        match set.finish(set.volume.checkpoint(there, numbers, number)) {
            Ok(()) => {
                set.state.lock().syncing.clear();
                return Ok(());
            }
            Err(error) => {
                set.state.lock().numbers.extend(kept);
                let StripeError::Failed { members } = error else { return Err(error.into()) };
                failed(set, &members, None)?;
            }
        }
    }
}
