// SPDX-License-Identifier: Apache-2.0

//! What each run of the service began with: a client that was answered by an earlier run asks how much of it is left.
//!
//! **Failure model.** A power cut takes the log's end back, up to a second of acknowledged changes, while clients live on and
//! believe them done; the next run gives the same log positions to other changes. So every run has a number that grows, replies
//! name it with their position, and the position up to which a run found the log is on disk before it answers anybody. The
//! run that a client asks about may be one that these tables do not know (too long ago, or they were put back from a copy of
//! before it): then nothing of it counts as there. In a mirror group a primary may begin a term, be stopped before its run is noted, and leave
//! records in the places of lost ones: they count for no run ([`found`]).

use crate::keys;
use crate::view::View;
use nyala_kv::Batch;
use nyala_wire::{ErrorCode, WireError};
use std::ops::ControlFlow;

/// Runs that are remembered; a client that was away for more starts is told that nothing is known.
const MAX_RUNS: usize = 64;

/// A run's number, as replies name it.
pub fn number(boot: u64) -> u32 {
    u32::try_from(boot).unwrap_or(u32::MAX)
}

/// A run that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    run: u32,
    /// The position that it began with.
    began: u64,
    /// In a mirror group: the first record of its term.
    leads_from: u64,
}

impl Known {
    fn parse(key: &[u8], value: &[u8]) -> Option<Known> {
        let run = keys::parse_run(key)?;
        let (began, rest) = value.split_first_chunk::<8>()?;
        let began = u64::from_le_bytes(*began);
        // Without it: a run that began with its term, or that was alone.
        let leads_from = if rest.is_empty() { began + 1 } else { u64::from_le_bytes(rest.try_into().ok()?) };
        Some(Known { run, began, leads_from })
    }

    fn put(self, batch: &mut Batch) {
        batch.put(keys::run(self.run), [self.began.to_le_bytes(), self.leads_from.to_le_bytes()].concat());
    }
}

/// All runs that are known.
fn known(tables: &dyn View) -> Result<Vec<Known>, WireError> {
    let mut runs = Vec::new();
    let prefix = keys::run_prefix();
    let mut whole = true;
    tables.scan(&prefix, &keys::prefix_end(&prefix), &mut |key, value| {
        match Known::parse(key, value) {
            Some(run) => runs.push(run),
            None => whole = false,
        }
        ControlFlow::Continue(())
    })?;
    if whole { Ok(runs) } else { Err(ErrorCode::IO.with("the starts of this service cannot be read")) }
}

/// Notes that a run begins with the log as it was found, and in a mirror group with which record its term began; forgets the oldest.
pub fn begin(
    tables: &dyn View,
    batch: &mut Batch,
    boot: u64,
    recovered: u64,
    leads_from: Option<u64>,
) -> Result<(), WireError> {
    let before = known(tables)?;
    for known in before.iter().take((before.len() + 1).saturating_sub(MAX_RUNS)) {
        batch.delete(keys::run(known.run));
    }
    Known { run: number(boot), began: recovered, leads_from: leads_from.unwrap_or(recovered + 1) }.put(batch);
    Ok(())
}

/// A mirror group is made of the server: its run goes on, in the term that begins with this record.
pub fn goes_on(tables: &dyn View, batch: &mut Batch, boot: u64, leads_from: u64) -> Result<(), WireError> {
    let run = number(boot);
    known(tables)?
        .into_iter()
        .filter(|known| known.run == run)
        .for_each(|known| Known { leads_from, ..known }.put(batch));
    Ok(())
}

/// The position up to which a new run finds in a mirror group's log what the run before it did: where the first term after that run's
/// began. A later one may have begun, of a primary that got no further than that; its records took places of records that were lost.
/// `terms`: the first records of terms, in order.
pub fn found(tables: &dyn View, terms: impl IntoIterator<Item = u64>) -> Result<Option<u64>, WireError> {
    let led = known(tables)?.iter().map(|known| known.leads_from).max().unwrap_or(0);
    Ok(terms.into_iter().find(|first| *first > led).map(|first| first - 1))
}

/// Whether the run before this one lacked nothing that earlier ones had answered for, and noted where clients hold delegations.
pub fn was_whole(tables: &dyn View, boot: u64) -> Result<bool, WireError> {
    let by = tables.get(&keys::held_by())?.and_then(|row| row[..].try_into().ok()).map(u32::from_le_bytes);
    let last = known(tables)?.into_iter().map(|known| known.run).filter(|run| *run < number(boot)).max();
    Ok(by.is_some_and(|by| last.is_none_or(|last| last <= by)))
}

/// Notes that of a run.
pub fn is_whole(boot: u64, batch: &mut Batch) {
    batch.put(keys::held_by(), number(boot).to_le_bytes());
}

/// Up to which position what was answered in a run is there.
pub fn survived(tables: &dyn View, run: u32) -> Result<u64, WireError> {
    let runs = known(tables)?;
    if !runs.iter().any(|one| one.run == run) {
        return Ok(0);
    }
    let later = runs.iter().filter(|one| one.run > run);
    Ok(later.map(|one| one.began).min().unwrap_or(u64::MAX))
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
            begin(&*store.borrow(), &mut batch, boot, position, None).unwrap();
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
        for boot in 11..11 + MAX_RUNS as u64 {
            begin(boot, 200);
        }
        assert_eq!(known(&*store.borrow()).unwrap().len(), MAX_RUNS);
        assert_eq!((survived(10), survived(11)), (Ok(0), Ok(200)));
        assert_eq!(number(u64::MAX), u32::MAX);
    }

    #[test]
    fn what_a_term_without_a_run_wrote_is_nothing_that_a_run_before_did() {
        let store = std::cell::RefCell::new(MemView::default());
        let apply = |batch: Batch| store.borrow_mut().apply(&batch);
        let found = |terms: &[u64]| found(&*store.borrow(), terms.iter().copied()).unwrap();
        assert_eq!(found(&[]), None);
        // A server that is alone; a group is made of it, and its run goes on.
        let mut batch = Batch::new();
        begin(&*store.borrow(), &mut batch, 1, 7, None).unwrap();
        apply(batch);
        assert_eq!(found(&[20]), Some(19), "the group's first term may be another run's");
        let mut batch = Batch::new();
        goes_on(&*store.borrow(), &mut batch, 1, 20).unwrap();
        apply(batch);
        assert_eq!(found(&[20]), None);
        // Power is cut behind 24; the next term's primary is stopped before its run began, the one after it is not.
        assert_eq!(found(&[20, 25, 26]), Some(24));
        let mut batch = Batch::new();
        begin(&*store.borrow(), &mut batch, 2, 24, Some(26)).unwrap();
        apply(batch);
        assert_eq!((survived(&*store.borrow(), 1), found(&[20, 25, 26, 40])), (Ok(24), Some(39)));
        // As builds before wrote it.
        apply({
            let mut batch = Batch::new();
            batch.put(keys::run(3), 39_u64.to_le_bytes());
            batch
        });
        assert_eq!((found(&[20, 25, 26, 40]), found(&[20, 25, 26, 40, 50])), (None, Some(49)));
    }
}
