// SPDX-License-Identifier: Apache-2.0

//! What each run of the service began with: a client that was answered by an earlier run asks how much of it is left.
//!
//! **Failure model.** A power cut takes the log's end back, up to a second of acknowledged changes, while clients live on and
//! believe them done; the next run gives the same log positions to other changes. So every run has a number that grows, replies
//! name it with their position, and the position up to which a run found the log is on disk before it answers anybody. The
//! run that a client asks about may be one that these tables do not know (too long ago, or they were put back from a copy of
//! before it): then nothing of it counts as there.

use crate::keys;
use crate::view::View;
use nyala_kv::Batch;
use nyala_wire::{ErrorCode, WireError};
use std::ops::ControlFlow;

/// Runs that are remembered; a client that was away for more starts is told that nothing is known.
const KEPT: usize = 64;

/// A run's number, as replies name it.
pub fn number(boot: u64) -> u32 {
    u32::try_from(boot).unwrap_or(u32::MAX)
}

/// All runs that are known, with the position that each began with.
fn known(tables: &dyn View) -> Result<Vec<(u32, u64)>, WireError> {
    let mut runs = Vec::new();
    let prefix = keys::run_prefix();
    let mut whole = true;
    tables.scan(&prefix, &keys::prefix_end(&prefix), &mut |key, value| {
        match (keys::parse_run(key), <[u8; 8]>::try_from(value)) {
            (Some(run), Ok(position)) => runs.push((run, u64::from_le_bytes(position))),
            _ => whole = false,
        }
        ControlFlow::Continue(())
    })?;
    if whole { Ok(runs) } else { Err(ErrorCode::IO.with("the starts of this service cannot be read")) }
}

/// Notes that a run begins with the log as it was found, and forgets the oldest.
pub fn begin(tables: &dyn View, batch: &mut Batch, boot: u64, recovered: u64) -> Result<(), WireError> {
    let before = known(tables)?;
    for (run, _) in before.iter().take((before.len() + 1).saturating_sub(KEPT)) {
        batch.delete(keys::run(*run));
    }
    batch.put(keys::run(number(boot)), recovered.to_le_bytes());
    Ok(())
}

/// Up to which position what was answered in a run is there.
pub fn survived(tables: &dyn View, run: u32) -> Result<u64, WireError> {
    let runs = known(tables)?;
    if !runs.iter().any(|(one, _)| *one == run) {
        return Ok(0);
    }
    let later = runs.iter().filter(|(one, _)| *one > run);
    Ok(later.map(|(_, began)| *began).min().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::MemView;

    #[test]
    fn what_a_run_answered_is_there_up_to_where_any_later_one_began() {
        let store = std::cell::RefCell::new(MemView::default());
        let begin = |boot, position| {
            let mut batch = Batch::new();
            begin(&*store.borrow(), &mut batch, boot, position).unwrap();
            store.borrow_mut().apply(&batch);
        };
        let survived = |run| survived(&*store.borrow(), run);
        begin(3, 0);
        assert_eq!(survived(3), Ok(u64::MAX), "it is the run that answers");
        assert_eq!(survived(2), Ok(0), "nothing is known of it");
        begin(4, 100);
        begin(9, 90);
        begin(10, 120);
        assert_eq!([3, 4, 9, 10].map(|run| survived(run).unwrap()), [90, 90, 120, u64::MAX]);
        for boot in 11..11 + KEPT as u64 {
            begin(boot, 200);
        }
        assert_eq!(known(&*store.borrow()).unwrap().len(), KEPT);
        assert_eq!((survived(10), survived(11)), (Ok(0), Ok(200)));
        assert_eq!(number(u64::MAX), u32::MAX);
    }
}
