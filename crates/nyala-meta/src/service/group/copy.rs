// SPDX-License-Identifier: Apache-2.0

//! Copies of everything, at both ends. Rows about the log itself are each member's own and are not copied.
//!
//! Failure model: a crash at any point leaves a part undone or done in part, and how far the copy is as it was before: the part comes
//! again. What tables hold that are being copied counts for nothing until the last part is on disk. Rows come from another server, which
//! was checked (`super::wire`); what is no batch is refused.

use super::rows;
use crate::tables::Tables;
use nyala_kv::{Batch, iter_encoded, validate};
use nyala_replica::log::{CopyState, Record};
use nyala_store::StoreError;
use nyala_wire::GroupId;
use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};

/// Stale rows that go with one record.
const STALE: usize = 4096;

/// Rows from a key on, about so many bytes, as one record that puts them; and the key behind them, empty if there are no more.
pub(super) fn read_rows(tables: &Tables, from: &[u8], bytes: usize) -> Result<(Vec<u8>, Record), StoreError> {
    let (mut batch, mut to) = (Batch::new(), Vec::new());
    tables.store.scan(Bound::Included(from), Bound::Unbounded, &mut |key, value| {
        if rows::is_own(key) {
            return ControlFlow::Continue(());
        }
        if batch.as_bytes().len() >= bytes {
            to = key.to_vec();
            return ControlFlow::Break(());
        }
        batch.put(key, value);
        ControlFlow::Continue(())
    })?;
    Ok((to, batch.into_bytes().into()))
}

/// From now on what is in the tables counts for nothing.
pub(super) fn begin_copy(
    tables: &Tables,
    group: GroupId,
    state: &CopyState,
    last: u64,
    terms: &[(u32, u64)],
) -> Result<(), StoreError> {
    let mut batch = Batch::new();
    rows::forget_terms(&tables.store, &mut batch)?;
    terms.iter().for_each(|(term, first)| rows::put_term(&mut batch, *term, *first));
    rows::put_group(&mut batch, group);
    rows::put_index(&mut batch, last);
    rows::put_copy(&mut batch, Some(state));
    tables.change(&batch)
}

/// All rows of a range are these.
pub(super) fn put_rows(
    tables: &Tables,
    (from, to): (&[u8], &[u8]),
    record: &Record,
    last: u64,
    copy: u64,
) -> Result<(), StoreError> {
    if validate(record).is_none() {
        return Err(StoreError::InvalidBatch { reason: "the rows of a copy are not a batch" });
    }
    let kept: BTreeSet<&[u8]> = iter_encoded(record).map(|(key, _)| key).collect();
    let mut next = from.to_vec();
    loop {
        let (mut stale, mut behind) = (Batch::new(), None);
        let end = if to.is_empty() { Bound::Unbounded } else { Bound::Excluded(to) };
        tables.store.scan(Bound::Included(&next), end, &mut |key, _| {
            if stale.len() >= STALE {
                behind = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            if !rows::is_own(key) && !kept.contains(key) {
                stale.delete(key);
            }
            ControlFlow::Continue(())
        })?;
        if !stale.is_empty() {
            tables.change(&stale)?;
        }
        match behind {
            Some(key) => next = key,
            None => break,
        }
    }
    let mut batch = Batch::new();
    for (key, value) in iter_encoded(record) {
        if let Some(value) = value {
            batch.put(key, value);
        }
    }
    let state = CopyState { copy, cursor: to.to_vec() };
    rows::put_index(&mut batch, last);
    rows::put_copy(&mut batch, Some(&state).filter(|_| !to.is_empty()));
    tables.change(&batch)
}
