// SPDX-License-Identifier: Apache-2.0

//! Removes the rows of a slot, some at a time.

use super::known::read;
use super::rows;
use crate::change::Fault;
use crate::file_locks::FileLocks;
use crate::keys;
use crate::server::state::State;
use nyala_kv::Batch;
use nyala_wire::{ErrorCode, Slot, WireError, codec};

/// Rows that go at once.
const BATCH_ROWS: usize = 256;

/// Removes some rows of a slot, and then what is known of it; whether none is left.
pub fn clear_some(state: &mut State, slot: Slot) -> Result<bool, WireError> {
    // What came and was never served is not among this server's inodes yet.
    let counted = read(state, slot)?.is_none_or(|known| known.served);
    let (some, next) = rows::from(&*state.ground.tables, slot, &[])?;
    let mut batch = Batch::new();
    let mut inodes = 0;
    for row in some.iter().take(BATCH_ROWS) {
        inodes += u64::from(row.key.first() == Some(&keys::INODE));
        if row.key.first() == Some(&keys::FILE_LOCKS)
            && let (Some(inode), Some(locks)) = (keys::parse_inode(&row.key), &row.value)
        {
            let locks: FileLocks = codec::decode(locks)?;
            for held in locks.all() {
                batch.delete(keys::session_lock(held.session, inode));
            }
        }
        batch.delete(&row.key[..]);
    }
    if counted && inodes > 0 {
        let count = number_of_inodes(state)?;
        batch.put(keys::inode_count(), count.saturating_sub(inodes).to_le_bytes());
    }
    let done = next.is_none() && some.len() <= BATCH_ROWS;
    if done {
        batch.delete(keys::taken(slot));
        batch.delete(keys::given(slot));
    }
    state.apply(&batch)?;
    Ok(done)
}

/// How many inodes this server counts as its own.
pub fn number_of_inodes(state: &mut State) -> Result<u64, WireError> {
    state.ground.look(None, |change| change.number(&keys::inode_count())).map_err(|fault| match fault {
        Fault::Refused(error) => error,
        Fault::Blocked | Fault::Elsewhere(_) => ErrorCode::BUSY.into(),
    })
}
