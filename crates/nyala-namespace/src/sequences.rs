// SPDX-License-Identifier: Apache-2.0

//! Sequence numbers of inodes come from ranges that management hands out, each once: what the tables know of them.

use crate::keys;
use crate::view::View;
use nyala_kv::Batch;
use nyala_wire::{ErrorCode, WireError};
use std::ops::ControlFlow;

/// What the tables say of ranges.
pub struct Known {
    /// The last range that they know.
    pub range: u64,
    /// Highest next sequence number of a slot.
    pub next: u64,
}

/// Reads what the tables say of ranges.
pub fn known(tables: &dyn View) -> Result<Known, WireError> {
    let bad = || ErrorCode::IO.with("the range of inode numbers cannot be read");
    let range = match tables.get(&keys::sequence_range())? {
        Some(bytes) => u64::from_le_bytes(bytes[..].try_into().map_err(|_| bad())?),
        None => 0,
    };
    let mut next = 0;
    tables.scan(&[keys::NEXT], &[keys::NEXT + 1], &mut |_, value| {
        next = next.max(<[u8; 8]>::try_from(value).map_or(0, u64::from_le_bytes));
        ControlFlow::Continue(())
    })?;
    Ok(Known { range, next })
}

/// The batch that lets all slots go on with a range.
pub fn go_on_with(tables: &dyn View, range: u64) -> Result<Batch, WireError> {
    let mut batch = Batch::new();
    batch.put(keys::sequence_range(), range.to_le_bytes());
    tables.scan(&[keys::NEXT], &[keys::NEXT + 1], &mut |key, _| {
        batch.put(key, keys::first_sequence(range).to_le_bytes());
        ControlFlow::Continue(())
    })?;
    Ok(batch)
}
