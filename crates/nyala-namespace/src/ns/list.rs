// SPDX-License-Identifier: Apache-2.0

//! Listing a directory, in the order of its cookies.

use super::env::Env;
use crate::change::{Change, Step, stored};
use crate::keys;
use crate::records::EntryRecord;
use nyala_wire::meta::{ListedEntry, Listing, MAX_LIST_ENTRIES, MetaReply};
use nyala_wire::{ErrorCode, InodeId};
use std::ops::ControlFlow;

/// Most bytes of names and attributes in one reply, so that it fits into a frame's body.
const MAX_BYTES: usize = 512 << 10;
/// What an entry with attributes takes besides its name, at most.
const ENTRY_BYTES: usize = 160;

/// Entries after a cookie.
pub fn run(change: &mut Change, env: &Env, dir: InodeId, after: u64, max: u32, plus: bool) -> Step<MetaReply> {
    let (_, part) = change.dir(dir)?;
    let (range, more) = (part.own_range(), part.range.map(|range| range.upto));
    let next = after.saturating_add(1);
    if part.is_split() && !range.has(next) {
        return Err(ErrorCode::OTHER_FRAGMENT.into());
    }
    let max = max.clamp(1, MAX_LIST_ENTRIES) as usize;
    let mut rows = Vec::new();
    let mut bytes = 0;
    let mut bad = None;
    let from = keys::entry(dir, next);
    let to = keys::prefix_end(&keys::entries_prefix(dir));
    let mut end = true;
    change.view().scan(&from, &to, &mut |key, value| {
        if rows.len() == max || bytes > MAX_BYTES {
            end = false;
            return ControlFlow::Break(());
        }
        match (keys::parse_cookie(key), stored::<EntryRecord>(value)) {
            (Some(cookie), Ok(entry)) if entry.is_taken() => {
                bytes += ENTRY_BYTES + entry.name.as_bytes().len();
                rows.push((cookie, entry));
            }
            (_, Ok(_)) => {}
            (_, Err(error)) => bad = Some(error),
        }
        if bad.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if let Some(error) = bad {
        return Err(error.into());
    }
    let mut entries = Vec::with_capacity(rows.len());
    for (cookie, EntryRecord { name, inode, kind, .. }) in rows {
        let attr = match plus && env.is_here(inode) {
            true => change.find_inode(inode)?.map(|record| record.attr(inode)),
            false => None,
        };
        entries.push(ListedEntry { cookie, name, inode, kind, attr });
    }
    let next = more.filter(|_| end);
    Ok(MetaReply::Listing(Listing { entries, end: end && next.is_none(), next }))
}
