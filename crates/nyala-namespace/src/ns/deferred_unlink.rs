// SPDX-License-Identifier: Apache-2.0

//! What a rename replaced stays for a moment, without a name.
//!
//! A program opens a name in two steps, here as in every network file system whose kernel walks the path: look it up, then
//! open what was found. If a rename replaces the file between the two, a local file system still opens the old one; if it
//! were gone here, the program would see ESTALE although the name was there at every moment. So the server itself holds
//! what it replaces open, for longer than those two steps take, and the rest is as with every file that is removed while
//! it is open. The row is durable: what a stopped server was holding it finds again and lets go.

use super::open::close_here;
use crate::change::{Change, Step};
use crate::keys;
use nyala_wire::{InodeId, SessionId, Time};

/// Who holds it: the server. No client has this session (`crate::sessions`).
pub const HOLDER: SessionId = SessionId(0);

/// Takes one link away; the last one's inode stays until [`let_go`].
pub fn drop_link(change: &mut Change, inode: InodeId, now: Time) -> Step<()> {
    let record = change.inode_mut(inode)?;
    record.nlink = record.nlink.saturating_sub(1);
    record.stamp(now);
    if record.nlink == 0 {
        change.put(keys::open(inode, HOLDER), Vec::new());
    }
    Ok(())
}

/// The moment is over: it goes, unless a session holds it open.
pub fn let_go(change: &mut Change, inode: InodeId) -> Step<()> {
    close_here(change, HOLDER, inode)
}
