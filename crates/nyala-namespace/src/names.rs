// SPDX-License-Identifier: Apache-2.0

//! Names of inodes, found by looking through directories: for somebody without a session who shows which files are busy.
//!
//! Pure: nothing is changed, and locks of operations under way are not looked at. An answer is of a bounded number of rows; whoever asks goes on
//! where it ended, and a name that is moved meanwhile may be missed. No row says which names a file has: it is looked for where it most likely is.

use crate::change::stored;
use crate::keys;
use crate::records::{EntryRecord, InodeRecord};
use crate::slot_rows::slots_in_transit;
use crate::view::View;
use nyala_wire::busiest::{InodeName, MAX_NAMED, NamesReply, NamesRequest};
use nyala_wire::map::ClusterMap;
use nyala_wire::{ErrorCode, InodeId, Slot, TargetId, WireError};
use std::ops::ControlFlow;

/// Rows that are looked at for one answer.
const ROWS: usize = 2048;

/// Answers on the server `me`. WRONG_SERVER for what is another one's, NOT_READY while the slot moves, BAD_MESSAGE for what
/// nobody asks.
pub fn names(view: &dyn View, me: TargetId, map: &ClusterMap, request: &NamesRequest) -> Result<NamesReply, WireError> {
    let slot = asked_slot(request)?;
    if map.slot_target(slot) != Some(me) {
        return Err(ErrorCode::WRONG_SERVER.with(format!("slot {slot} is not served by target {me}")));
    }
    if slots_in_transit(view)?.contains(&slot) {
        return Err(ErrorCode::NOT_READY.with(format!("slot {slot} moves between servers")));
    }
    let all = request.dir.map_or_else(|| keys::slot_prefix(keys::ENTRY, slot), keys::entries_prefix);
    let (dir, cookie) = request.after;
    // Of what is asked for again or made up: never in front of what was asked for.
    let after = keys::entry(dir, cookie.saturating_add(1));
    let from = if *after > *all { after } else { all.clone() };
    let (mut rows, mut found, mut next) = (0, Vec::new(), None);
    view.scan(&from, &keys::prefix_end(&all), &mut |key, value| {
        let (Some(dir), Some(cookie)) = (entry_dir(key), keys::parse_cookie(key)) else {
            return ControlFlow::Continue(());
        };
        // A row that cannot be read has no name.
        if let Ok(entry) = stored::<EntryRecord>(value)
            && request.inodes.contains(&entry.inode)
            && !found.iter().any(|known: &InodeName| known.inode == entry.inode)
        {
            found.push(InodeName { inode: entry.inode, dir, name: entry.name });
        }
        rows += 1;
        next = Some((dir, cookie)).filter(|_| found.len() < request.inodes.len());
        if rows < ROWS && next.is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    for name in &mut found {
        name.dir = directory(view, name.dir)?;
    }
    Ok(NamesReply { names: found, next: next.filter(|_| rows == ROWS) })
}

fn asked_slot(request: &NamesRequest) -> Result<Slot, WireError> {
    let Some(first) = request.inodes.first().filter(|_| request.inodes.len() <= MAX_NAMED) else {
        return Err(ErrorCode::BAD_MESSAGE.with("names are asked of 1 to 64 inodes at once"));
    };
    let slot = request.dir.unwrap_or(*first).slot();
    let elsewhere = |inode: &InodeId| inode.slot() != slot;
    if request.dir.is_none() && request.inodes.iter().any(elsewhere) {
        return Err(ErrorCode::BAD_MESSAGE.with("inodes of several slots are asked for at once"));
    }
    Ok(slot)
}

fn entry_dir(key: &[u8]) -> Option<InodeId> {
    Some(InodeId(u64::from_be_bytes(*key.get(1..)?.first_chunk()?)))
}

/// The directory whose names are in a fragment.
fn directory(view: &dyn View, inode: InodeId) -> Result<InodeId, WireError> {
    let row = view.get(&keys::inode(inode))?;
    let part = row.and_then(|row| stored::<InodeRecord>(&row).ok()).and_then(|record| record.dir);
    Ok(part.map_or(inode, |part| part.directory(inode)))
}
