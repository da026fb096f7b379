// SPDX-License-Identifier: Apache-2.0

//! A checkpoint in slices, for a disk on which it does not fit in one commit.
//!
//! A commit needs room for every page that it changes before it releases the old ones. A slice changes few pages, and the next
//! slice uses those that it released; deletions go first, since they release more than they take.
//!
//! # Failure model
//! Until the last commit the ordered store keeps the position of the checkpoint before, so a crash between two slices
//! replays the log from there. That is sound because the log has all of it on disk and a record states values, not
//! differences: what a slice brought in early is overwritten by what it was brought in for. Readers look into the frozen
//! table first, which holds every key of every slice until the end. A slice that finds no room is tried with fewer changes;
//! if the smallest finds none, the checkpoint fails as a whole and can be tried again.

use crate::StoreError;
use crate::memtable::Memtable;
use crate::ordered::{CheckpointMeta, OrderedStore};
use nyala_kv::Change;

/// Changes of the first slice.
const MOST_CHANGES: usize = 1024;
/// Changes of the smallest: a few dozen pages.
const LEAST_CHANGES: usize = 8;

/// Brings a table and then its position into the ordered store, with as little room as possible.
/// Errors: [`StoreError::OrderedFull`] with the position unchanged; others as the ordered store's.
pub(crate) fn commit(ordered: &dyn OrderedStore, table: &Memtable, meta: CheckpointMeta) -> Result<(), StoreError> {
    // Every open store has one: opening makes it.
    if let Some(before) = ordered.meta()? {
        let mut most = MOST_CHANGES;
        commit_some(ordered, table.iter().filter(|(_, value)| value.is_none()), before, &mut most)?;
        commit_some(ordered, table.iter().filter(|(_, value)| value.is_some()), before, &mut most)?;
    }
    ordered.commit(&mut std::iter::empty(), meta)
}

fn commit_some<'a>(
    ordered: &dyn OrderedStore,
    mut changes: impl Iterator<Item = Change<'a>>,
    meta: CheckpointMeta,
    most: &mut usize,
) -> Result<(), StoreError> {
    let mut slice: Vec<Change<'a>> = Vec::with_capacity(*most);
    loop {
        slice.extend(changes.by_ref().take((*most).saturating_sub(slice.len())));
        if slice.is_empty() {
            return Ok(());
        }
        let count = slice.len().min(*most);
        match ordered.commit(&mut slice[..count].iter().copied(), meta) {
            Ok(()) => drop(slice.drain(..count)),
            // Even an empty commit makes the pages usable that the slice before released.
            Err(StoreError::OrderedFull { .. }) if count > LEAST_CHANGES => {
                *most = (count / 4).max(LEAST_CHANGES);
                ordered.commit(&mut std::iter::empty(), meta)?;
            }
            Err(error) => return Err(error),
        }
    }
}
