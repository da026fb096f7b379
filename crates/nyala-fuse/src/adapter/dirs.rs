// SPDX-License-Identifier: Apache-2.0

//! Listing directories: `.` and `..` have the cookies 1 and 2, entries have the server's, which are larger.

use super::convert;
use super::fs::NyalaFs;
use crate::types::Result;
use crate::{DirBuffer, Ino};
use nyala_client::Client;
use nyala_wire::meta::{ListedEntry, Listing};
use nyala_wire::{Attr, InodeId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const DOT: u64 = 1;
const DOT_DOT: u64 = 2;
/// Entries fetched at a time; a kernel buffer takes fewer, the rest waits in the handle.
const BATCH: u32 = 1024;

/// Directories that are open here, by inode. One that is removed meanwhile is gone from the servers; whoever holds it
/// open still sees its last attributes, without links.
#[derive(Default)]
pub struct OpenDirs {
    open: Mutex<HashMap<u64, Held>>,
}

#[derive(Default)]
struct Held {
    handles: u32,
    removed: Option<Attr>,
}

impl OpenDirs {
    /// One more handle.
    pub fn opened(&self, ino: Ino) {
        self.open.lock().entry(ino.0).or_default().handles += 1;
    }

    /// One handle less.
    pub fn closed(&self, ino: Ino) {
        let mut open = self.open.lock();
        if let Some(held) = open.get_mut(&ino.0) {
            held.handles -= 1;
            if held.handles == 0 {
                open.remove(&ino.0);
            }
        }
    }

    /// Whether any directory is open.
    pub fn is_empty(&self) -> bool {
        self.open.lock().is_empty()
    }

    /// The directory with these last attributes was removed.
    pub fn removed(&self, attr: Attr) {
        if let Some(held) = self.open.lock().get_mut(&attr.inode.0) {
            held.removed = Some(Attr { nlink: 0, ..attr });
        }
    }

    /// Attributes of a removed directory that is open.
    pub fn last(&self, ino: Ino) -> Option<Attr> {
        self.open.lock().get(&ino.0)?.removed.clone()
    }
}

/// An open directory: what was fetched and not yet taken.
pub struct Dir {
    rest: Mutex<Option<Rest>>,
}

struct Rest {
    after: u64,
    plus: bool,
    fetched: Instant,
    listing: Listing,
}

impl Dir {
    /// Just opened.
    pub fn new() -> Arc<Dir> {
        Arc::new(Dir { rest: Mutex::new(None) })
    }

    /// Entries after a cookie: the rest of the last batch if it goes on there and is fresh, or a new batch.
    async fn batch(
        &self,
        client: &Client,
        dir: InodeId,
        after: u64,
        plus: bool,
        fresh: Duration,
    ) -> nyala_client::Result<Listing> {
        let rest = self.rest.lock().take();
        match rest {
            Some(rest) if rest.after == after && rest.plus == plus && rest.fetched.elapsed() < fresh => {
                Ok(rest.listing)
            }
            _ => client.readdir(dir, after, BATCH, plus).await,
        }
    }

    fn keep(&self, after: u64, plus: bool, fetched: Instant, listing: Listing) {
        if !listing.entries.is_empty() {
            *self.rest.lock() = Some(Rest { after, plus, fetched, listing });
        }
    }
}

/// Fills the kernel's buffer.
pub async fn fill(fs: &NyalaFs, dir: &Dir, ino: Ino, offset: u64, buf: &mut DirBuffer) -> Result<()> {
    let inode = convert::inode(ino);
    let fail = |error| convert::errno("readdir", ino, error);
    if offset < DOT && !buf.add(ino.0, DOT, libc::DT_DIR, b".") {
        return Ok(());
    }
    if offset < DOT_DOT {
        let parent = fs.client.parent(inode).await.map_err(fail)?;
        if !buf.add(parent.0, DOT_DOT, libc::DT_DIR, b"..") {
            return Ok(());
        }
    }
    let mut after = if offset <= DOT_DOT { 0 } else { offset };
    loop {
        let fetched = Instant::now();
        let mut listing =
            dir.batch(&fs.client, inode, after, buf.is_plus(), fs.options.cache_time).await.map_err(fail)?;
        let taken = listing.entries.iter().take_while(|entry| add(fs, buf, entry)).count();
        if taken > 0 {
            after = listing.entries[taken - 1].cookie;
        }
        if taken < listing.entries.len() {
            listing.entries.drain(..taken);
            dir.keep(after, buf.is_plus(), fetched, listing);
            return Ok(());
        }
        if listing.end {
            return Ok(());
        }
    }
}

fn add(fs: &NyalaFs, buf: &mut DirBuffer, entry: &ListedEntry) -> bool {
    let name = entry.name.as_bytes();
    match &entry.attr {
        Some(attr) if buf.is_plus() => buf.add_entry(&fs.entry(attr), entry.cookie, name),
        _ => buf.add(entry.inode.0, entry.cookie, convert::dirent_kind(entry.kind), name),
    }
}
