// SPDX-License-Identifier: Apache-2.0

//! What is in a fragment. Pure.

use crate::change::{Change, Step};
use crate::keys;
use nyala_wire::InodeId;
use nyala_wire::fragments::{CookieRange, FragmentEntry};
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use std::ops::ControlFlow;

/// Entries of a fragment.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The entries.
    pub entries: Vec<FragmentEntry>,
    /// There are no more in the range.
    pub end: bool,
}

impl Seen {
    /// What tells these from others: SipHash-2-4, key 0, of cookies and rows, each row with its length.
    pub fn digest(&self) -> u64 {
        let mut hasher = SipHasher24::new();
        for entry in &self.entries {
            hasher.write(&entry.cookie.to_le_bytes());
            hasher.write(&(entry.row.len() as u64).to_le_bytes());
            hasher.write(&entry.row);
        }
        hasher.finish()
    }
}

/// The entries of a range of a fragment's, at most `most`. Names with the same hash are given together, or not at all.
pub fn entries(change: &mut Change, inode: InodeId, range: CookieRange, most: u32) -> Step<Seen> {
    change.dir(inode)?;
    let (mut entries, mut end) = (Vec::new(), true);
    change.view().scan(&keys::entry(inode, range.from), &keys::entry(inode, range.upto), &mut |key, value| {
        let Some(cookie) = keys::parse_cookie(key) else { return ControlFlow::Continue(()) };
        let same = |last: &FragmentEntry| last.cookie / keys::COLLISIONS == cookie / keys::COLLISIONS;
        if entries.len() >= most as usize && !entries.last().is_some_and(same) {
            end = false;
            return ControlFlow::Break(());
        }
        entries.push(FragmentEntry { cookie, row: value.to_vec().into() });
        ControlFlow::Continue(())
    })?;
    Ok(Seen { entries, end })
}
