// SPDX-License-Identifier: Apache-2.0

//! What a member of a mirror group remembers of the log in its tables (`docs/format.md`): the number of the last record, which is
//! in every record; which terms began with which records; how far a copy of everything is.
//!
//! Failure model: each of these rows is in the same batch as what it tells of, so a crash takes both back or none.

use nyala_kv::Batch;
use nyala_namespace::keys::MIRROR;
use nyala_replica::log::{CopyState, LogState, Terms};
use nyala_store::{Lsn, Store};
use nyala_wire::{ErrorCode, GroupId, WireError, codec};
use std::ops::{Bound, ControlFlow};

const INDEX: [u8; 2] = [MIRROR, b'i'];
const COPY: [u8; 2] = [MIRROR, b'c'];
const GROUP: [u8; 2] = [MIRROR, b'g'];
const TERM: u8 = b't';

fn term_key(term: u32) -> Vec<u8> {
    [&[MIRROR, TERM][..], &term.to_be_bytes()].concat()
}

/// What [`put_index`] adds to a batch, bytes.
pub const INDEX_ROW_BYTES: usize = 17;

/// Notes the number of the record that the batch is.
pub fn put_index(batch: &mut Batch, index: u64) {
    batch.put(INDEX, index.to_le_bytes());
}

/// Notes which group's log this is.
pub fn put_group(batch: &mut Batch, group: GroupId) {
    batch.put(GROUP, group.0.to_le_bytes());
}

/// Notes that a term begins with a record.
pub fn put_term(batch: &mut Batch, term: u32, first: u64) {
    batch.put(term_key(term), first.to_le_bytes());
}

/// Notes how far a copy is.
pub fn put_copy(batch: &mut Batch, state: Option<&CopyState>) {
    match state {
        Some(state) => batch.put(COPY, codec::encode(state)),
        None => batch.delete(COPY),
    };
}

/// Whether a row is about the log, and none of what is copied.
pub fn is_own(key: &[u8]) -> bool {
    key.first() == Some(&MIRROR)
}

/// Forgets all terms.
pub fn forget_terms(store: &Store, batch: &mut Batch) -> Result<(), nyala_store::StoreError> {
    store.scan(Bound::Included(&[MIRROR, TERM]), Bound::Excluded(&[MIRROR, TERM + 1]), &mut |key, _| {
        batch.delete(key);
        ControlFlow::Continue(())
    })
}

/// The terms that are remembered.
pub fn terms(store: &Store) -> Result<Vec<(u32, u64)>, WireError> {
    let (mut terms, mut whole) = (Vec::new(), true);
    let (from, to) = ([MIRROR, TERM], [MIRROR, TERM + 1]);
    let scanned = store.scan(Bound::Included(&from), Bound::Excluded(&to), &mut |key, value| {
        match (key.get(2..).map(<[u8; 4]>::try_from), <[u8; 8]>::try_from(value)) {
            (Some(Ok(term)), Ok(first)) => terms.push((u32::from_be_bytes(term), u64::from_le_bytes(first))),
            _ => whole = false,
        }
        ControlFlow::Continue(())
    });
    scanned.map_err(crate::store_error::store_error)?;
    if whole { Ok(terms) } else { Err(damaged()) }
}

/// The first record of each term that is remembered, in order.
pub fn first_records(store: &Store) -> Result<Vec<u64>, WireError> {
    Ok(Terms::new(terms(store)?).iter().map(|(_, first)| first).collect())
}

fn damaged() -> WireError {
    ErrorCode::IO.with("what is remembered of the mirror group's log cannot be read")
}

fn index(store: &Store) -> Result<Option<u64>, WireError> {
    let value = store.get(&INDEX).map_err(crate::store_error::store_error)?;
    value.map(|value| <[u8; 8]>::try_from(&value[..]).map(u64::from_le_bytes).map_err(|_| damaged())).transpose()
}

/// What is remembered of a group's log. If these tables are none of that group's: nothing; or, if the group was made of the server that
/// works on them, that server's records, of which there are so many (`alone`).
pub fn load(store: &Store, group: GroupId, alone: Option<u64>) -> Result<LogState, WireError> {
    let whose = store.get(&GROUP).map_err(crate::store_error::store_error)?;
    if whose.as_deref() != Some(&group.0.to_le_bytes()[..]) {
        return Ok(LogState { last: alone.unwrap_or(0), ..LogState::default() });
    }
    let copying = store.get(&COPY).map_err(crate::store_error::store_error)?;
    let copying = copying.map(|value| codec::decode(&value)).transpose()?;
    Ok(LogState { last: index(store)?.ok_or_else(damaged)?, terms: Terms::new(terms(store)?), copying })
}

/// Places in the log of a server that is not mirrored, as clients are told: those of the store's log, or, if it was mirrored once, of
/// the group's log carried on, so that they never go back.
#[derive(Clone, Copy, Debug)]
pub struct LonePositions {
    at: u64,
    is: u64,
}

impl LonePositions {
    /// Of a store that has just been opened.
    pub fn of(store: &Store) -> Result<LonePositions, WireError> {
        let at = store.applied().0;
        Ok(LonePositions { at, is: index(store)?.unwrap_or(at) })
    }

    /// The place of a record of the store.
    pub fn position(self, lsn: Lsn) -> u64 {
        (self.is + lsn.0).saturating_sub(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_room_for_its_number() {
        let mut batch = Batch::new();
        put_index(&mut batch, u64::MAX);
        assert_eq!(batch.as_bytes().len(), INDEX_ROW_BYTES);
    }
}
