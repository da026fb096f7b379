// SPDX-License-Identifier: Apache-2.0

//! Blocks that are known to be damaged, each with the checksum that it should have.
//!
//! **Failure model.** The machine dies: unsynced blocks that do not match their checksum get a new one ([`super::recover`]), which would
//! make data of what a damaged block has. Those that are listed here keep theirs, as long as it is the one that is listed: who has
//! written to the file meanwhile makes nothing else good. A list that cannot be decoded lists nothing.

use super::rows::{Row, group_key, group_of, tag};
use super::table::Table;
use nyala_store::{Batch, StoreError};
use nyala_wire::storage::ChunkFileId;

/// Which list.
#[derive(Clone, Copy, Debug)]
pub(super) enum List {
    /// Found damaged here. Other members of a mirror group may have it whole.
    Found = tag::DAMAGED as isize,
    /// Every member of a mirror group has it as a bad one.
    Bad = tag::BAD_BLOCKS as isize,
}

/// Puts a block on a list; whether it was not there.
pub(super) fn note(kv: &dyn Table, list: List, file: ChunkFileId, block: u64, crc: u32) -> Result<bool, StoreError> {
    let (group, slot) = group_of(block);
    let (mut listed, mut value) = (listed(kv, list, file, group)?, Vec::new());
    let is_new = listed.get(slot) != Some(crc);
    if is_new {
        listed.set(slot, Some(crc));
        listed.encode(&mut value);
        kv.apply(Batch::new().put(group_key(list as u8, file, group), value))?;
    }
    Ok(is_new)
}

fn listed(kv: &dyn Table, list: List, file: ChunkFileId, group: u32) -> Result<Row, StoreError> {
    let value = kv.get(&group_key(list as u8, file, group))?;
    Ok(value.and_then(|value| Row::decode(&value)).unwrap_or(Row::EMPTY))
}

/// Whether a block that should have this checksum is on a list.
pub(super) fn is_on(kv: &dyn Table, list: List, file: ChunkFileId, block: u64, crc: u32) -> bool {
    let (group, slot) = group_of(block);
    listed(kv, list, file, group).is_ok_and(|row| row.get(slot) == Some(crc))
}

/// Whether a block of a group (by its place there) that should have this checksum is known to be damaged.
pub(super) fn known(
    kv: &dyn Table,
    file: ChunkFileId,
    group: u32,
) -> Result<impl Fn(usize, u32) -> bool + use<>, StoreError> {
    let lists = [listed(kv, List::Found, file, group)?, listed(kv, List::Bad, file, group)?];
    Ok(move |slot, crc| lists.iter().any(|list| list.get(slot) == Some(crc)))
}
