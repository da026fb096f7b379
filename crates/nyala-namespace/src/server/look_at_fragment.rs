// SPDX-License-Identifier: Apache-2.0

//! What is in a fragment of a directory, for the directory's server. It may change at any time.

use super::state::State;
use crate::change::Fault;
use crate::ns::fragments::entries;
use nyala_wire::fragments::CookieRange;
use nyala_wire::meta_tx::TxReply;
use nyala_wire::{ErrorCode, InodeId, WireError};

/// Most entries in one answer: while they move, what is in both fragments waits.
pub const MOST_ENTRIES: u32 = 512;

/// The entries in a range, of a fragment that is here.
pub fn answer(state: &mut State, inode: InodeId, range: CookieRange, most: u32) -> Result<TxReply, WireError> {
    if !state.ground.is_usable(inode.slot()) {
        return Err(ErrorCode::BUSY.with("the fragment's slot is another server's, or about to be"));
    }
    let seen = state.ground.look(None, |mut change| {
        let count = change.dir(inode)?.1.entries;
        let seen = entries::entries(&mut change, inode, range, most.min(MOST_ENTRIES))?;
        Ok::<_, Fault>(TxReply::Fragment { count, entries: seen.entries, end: seen.end })
    });
    seen.map_err(Fault::refusal)
}
