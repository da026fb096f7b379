// SPDX-License-Identifier: Apache-2.0

//! What happens when the memory for written data is used up.
//!
//! Data goes out by itself in whole units. A part of one costs a request of its own, and the server an old block for each
//! end that is not a block's; so parts go out only for room, for age, or when somebody waits for them. Several who write
//! side by side through one file (records of 47,008 bytes, say) fill units together, as long as none of them runs ahead
//! by more than the memory holds: then each would write nothing but parts for ever. So those ahead wait a moment.
//!
//! **Failure model.** Whoever is behind may never come: nobody waits longer than [`FILL_TIMEOUT_MS`], nor so long after
//! the last unit that was filled. Writes may not get through: then writers wait for room, as they must.

use crate::file::state::File;
use crate::writeback::flush::Flush;
use crate::writeback::owner::Writeback;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// How long writers that are ahead wait for the next unit to be filled, milliseconds.
const FILL_TIMEOUT_MS: u64 = 60;
/// Between looks.
const FILL_POLL_INTERVAL: Duration = Duration::from_millis(2);

impl Writeback {
    /// Before a new unit is begun: waits while many are half full and others are filling them.
    pub(crate) async fn let_others_fill(self: &Arc<Writeback>, file: &Arc<File>, range: Range<u64>) {
        let began_ms = self.ctx.now_ms();
        while self.memory.is_tight() {
            {
                let state = file.state.lock();
                let ahead = || state.written().dirty().bytes_below(range.start) > self.memory.much();
                if state.is_inline() || !state.written().dirty().begins_unit(&range) || !ahead() {
                    return;
                }
                let since = began_ms.min(state.written().filled_ms());
                if self.ctx.now_ms().saturating_sub(since) > FILL_TIMEOUT_MS {
                    drop(state);
                    return self.reclaim();
                }
            }
            tokio::time::sleep(FILL_POLL_INTERVAL).await;
        }
    }

    /// Memory is short: parts of units go out too, unless enough is on its way.
    pub(crate) fn reclaim(self: &Arc<Writeback>) {
        if self.memory.is_moving() {
            return;
        }
        for file in self.files.active() {
            let inline = {
                let mut state = file.state.lock();
                state.written_mut().hurry_newest();
                state.is_inline() && !state.written().dirty().is_empty()
            };
            if inline {
                self.flush_in_background(file);
            } else {
                self.pump(&file);
            }
        }
    }

    /// Pushes unless somebody is at it already.
    pub(crate) fn flush_in_background(self: &Arc<Writeback>, file: Arc<File>) {
        let writeback = self.clone();
        self.ctx.spawn(async move {
            if let Ok(_gate) = file.gate.try_lock() {
                // why ignored: the failure is kept with the file for its handles.
                let _ = writeback.flush(&file, Flush::default()).await;
            }
        });
    }
}
