// SPDX-License-Identifier: Apache-2.0

//! Listing directories: `.` and `..` have the cookies 1 and 2, entries have the server's, which are larger.

use super::convert::{self, errno, inode};
use super::fs::NyalaFs;
use super::open_dirs::Opening;
use crate::types::*;
use crate::{DirBuffer, Errno, InvalRange};
use nyala_wire::meta::{ListedEntry, Listing};
use nyala_wire::{ErrorCode, FileKind, InodeId};
use parking_lot::Mutex;
use std::sync::Arc;

const DOT: u64 = 1;
const DOT_DOT: u64 = 2;
/// Names fetched at a time; a kernel buffer takes fewer, the rest waits in the handle.
const BATCH: u32 = 1024;

/// An open directory: what was fetched and not yet taken.
pub struct Dir {
    opening: Opening,
    rest: Mutex<Option<Rest>>,
}

/// Names without attributes: those would be too old for the next request.
struct Rest {
    after: u64,
    /// Withdrawals before it was fetched.
    generation: u64,
    listing: Listing,
}

/// Opens one.
pub async fn open(fs: &NyalaFs, ino: Ino) -> Result<Opened> {
    fs.cache.recheck(ino);
    // Kept for the case that the directory is removed while it is open; the kernel has just asked for the same.
    let last = fs.client.getattr(inode(ino)).await.map_err(|e| errno("opendir", ino, e))?;
    let opening = fs.cache.dirs.opened(ino, || fs.cache.keeps() && fs.is_delegated(inode(ino)), Some(last));
    // Who may not use the cached listing does not empty it either: that is done by withdrawals alone, and a cache that is
    // emptied while it is being filled stays unused until the kernel has dropped the inode.
    let mode = OpenMode { cache_dir: opening.cached, keep_cache: fs.cache.keeps(), ..OpenMode::default() };
    Ok(Opened { fh: fs.dirs.add(Arc::new(Dir { opening, rest: Mutex::new(None) })), mode })
}

/// The last close.
pub async fn release(fs: &NyalaFs, ino: Ino, fh: Fh) -> Result<()> {
    let dir = fs.dirs.remove(fh)?;
    if fs.cache.dirs.closed(ino, dir.opening) {
        fs.cache.forget_content(ino, InvalRange::All).await;
        fs.cache.dirs.emptied(ino);
    }
    Ok(())
}

impl Dir {
    /// Entries after a cookie: the rest of the last batch if it goes on there and is still true, or a new batch.
    async fn batch(&self, fs: &NyalaFs, dir: InodeId, after: u64, buf: &DirBuffer) -> nyala_client::Result<Listing> {
        let rest = self.rest.lock().take();
        if buf.is_plus() {
            return fs.client.readdir(dir, after, buf.room_for(), true).await;
        }
        match rest {
            Some(rest) if rest.after == after && after > 0 && self.holds(fs, dir, rest.generation) => Ok(rest.listing),
            _ => fs.client.readdir(dir, after, BATCH, false).await,
        }
    }

    fn holds(&self, fs: &NyalaFs, dir: InodeId, generation: u64) -> bool {
        generation == fs.cache.dirs.generation(Ino(dir.0)) && fs.is_delegated(dir)
    }
}

/// Fills the kernel's buffer.
pub async fn fill(fs: &NyalaFs, dir: &Dir, ino: Ino, offset: u64, buf: &mut DirBuffer) -> Result<()> {
    let id = inode(ino);
    // A directory that is gone has no entries to give; ESTALE would make the caller look for another of the same name.
    let fail = |error: nyala_client::Error| match error.is(ErrorCode::STALE) {
        true => Errno::ENOENT,
        false => errno("readdir", ino, error),
    };
    if offset < DOT && !buf.add(id.0, DOT, libc::DT_DIR, b".") {
        return Ok(());
    }
    if offset < DOT_DOT {
        let parent = fs.client.parent(id).await.map_err(fail)?;
        if !buf.add(parent.0, DOT_DOT, libc::DT_DIR, b"..") {
            return Ok(());
        }
    }
    let mut after = if offset <= DOT_DOT { 0 } else { offset };
    loop {
        let generation = fs.cache.dirs.generation(ino);
        let mut listing = match dir.batch(fs, id, after, buf).await {
            Ok(listing) => listing,
            // What came before the error is given first; the next call asks again and hears of it.
            Err(_) if !buf.is_empty() => return Ok(()),
            Err(error) => return Err(fail(error)),
        };
        let names_delegated = fs.is_delegated(id);
        let taken = listing.entries.iter().take_while(|entry| add(fs, buf, ino, entry, names_delegated)).count();
        if taken > 0 {
            after = listing.entries[taken - 1].cookie;
        }
        if taken < listing.entries.len() {
            if !buf.is_plus() {
                listing.entries.drain(..taken);
                *dir.rest.lock() = Some(Rest { after, generation, listing });
            }
            return Ok(());
        }
        if listing.end {
            return Ok(());
        }
    }
}

fn add(fs: &NyalaFs, buf: &mut DirBuffer, dir: Ino, entry: &ListedEntry, names_delegated: bool) -> bool {
    let name = entry.name.as_bytes();
    match &entry.attr {
        Some(attr) if buf.is_plus() => {
            let listed = fs.listed(dir, name, attr, names_delegated);
            let added = buf.add_entry(&listed, entry.cookie, name);
            if !added && attr.kind == FileKind::Directory {
                fs.cache.moved.forgotten(listed.ino, 1);
            }
            added
        }
        _ => buf.add(entry.inode.0, entry.cookie, convert::dirent_kind(entry.kind), name),
    }
}
