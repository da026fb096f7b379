// SPDX-License-Identifier: Apache-2.0

//! The rows of slots.

use crate::keys;
use crate::view::View;
use minicbor::bytes::ByteVec;
use nyala_wire::meta_tx::{MOVE_BYTES, MovedRow};
use nyala_wire::{Slot, TargetId, WireError};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// A row is at least this large on its way, bytes.
const AROUND: usize = 16;

fn row(key: &[u8], value: Option<&[u8]>) -> MovedRow {
    MovedRow { key: ByteVec::from(key.to_vec()), value: value.map(|value| ByteVec::from(value.to_vec())) }
}

fn bytes(row: &MovedRow) -> usize {
    AROUND + row.key.len() + row.value.as_ref().map_or(0, |value| value.len())
}

/// Rows of a slot from a key on, as many as one message takes, and the key from which it goes on; `None` behind the last one.
pub fn from(view: &dyn View, slot: Slot, from: &[u8]) -> Result<(Vec<MovedRow>, Option<Vec<u8>>), WireError> {
    let (mut rows, mut left, mut next) = (Vec::new(), MOVE_BYTES, None);
    for tag in keys::OF_SLOTS {
        let first = keys::slot_prefix(tag, slot);
        let end = keys::prefix_end(&first);
        if next.is_some() || from >= &end[..] {
            continue;
        }
        view.scan(from.max(&first[..]), &end, &mut |key, value| {
            if left == 0 {
                next = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            let row = row(key, Some(value));
            left = left.saturating_sub(bytes(&row));
            rows.push(row);
            ControlFlow::Continue(())
        })?;
    }
    Ok((rows, next))
}

/// Takes as many keys as one message takes out of `keys`, and returns the rows as they are now.
pub fn take(view: &dyn View, keys: &mut BTreeSet<Vec<u8>>) -> Result<Vec<MovedRow>, WireError> {
    let (mut rows, mut left) = (Vec::new(), MOVE_BYTES);
    while left > 0
        && let Some(key) = keys.first()
    {
        let row = row(key, view.get(key)?.as_deref());
        left = left.saturating_sub(bytes(&row));
        rows.push(row);
        keys.pop_first();
    }
    Ok(rows)
}

/// Keys of all fences that storage targets have not confirmed, and of a slot's next number: what is sent last. A storage target that
/// comes back asks whoever serves an inode by then whom to refuse.
pub fn sent_last(view: &dyn View, slot: Slot) -> Result<BTreeSet<Vec<u8>>, WireError> {
    let mut found = BTreeSet::from([keys::next_sequence(slot).to_vec()]);
    view.scan(&[keys::FENCE], &[keys::FENCE + 1], &mut |key, _| {
        found.insert(key.to_vec());
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// Whether another server may send a row of this key with a slot.
pub fn belongs(slot: Slot, key: &[u8]) -> bool {
    let fence = keys::parse_fence(key).is_some_and(|(target, _)| target != TargetId(0));
    keys::parse_slot(key) == Some(slot) || (key.first() == Some(&keys::FENCE) && fence)
}
