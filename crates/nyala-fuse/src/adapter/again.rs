// SPDX-License-Identifier: Apache-2.0

//! Programs whose path led to a file that was gone when they came to use it.
//!
//! The kernel walks a path, then opens what it found (or asks for its attributes, or changes them). If the file was removed
//! between the two, it hears ESTALE and walks the path once more, asking for every name; hearing ESTALE again it gives
//! up, and the program sees what no local file system says. So the thread is remembered that hears ESTALE, and what
//! it then finds by a name is held open for it until it has opened it, or for a moment: that cannot be gone.
//!
//! **Failure model.** The thread may be gone, or not walk again: it is forgotten after [`SECOND_WALK_TIMEOUT`], and what is held for it is
//! let go. Somebody else may get its number meanwhile: then a file is held a moment for nothing.

use super::convert::inode;
use super::fs::NyalaFs;
use crate::types::{Context, Ino};
use nyala_client::{FileHandle, Lookup, OpenOptions};
use nyala_wire::{ErrorCode, FileKind};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Longer than the second walk takes.
const SECOND_WALK_TIMEOUT: Duration = Duration::from_secs(1);
/// A name that others remove and make again all the time is looked at so often.
const TRIES: u32 = 64;
/// Most threads that are remembered; others are as if they were not.
const MAX_THREADS: usize = 1024;

/// The threads that were told ESTALE.
#[derive(Default)]
pub struct Again {
    count: AtomicUsize,
    threads: Mutex<HashMap<u32, Thread>>,
    next_number: AtomicUsize,
}

struct Thread {
    number: usize,
    held: Option<FileHandle>,
}

impl Again {
    fn change<T>(&self, work: impl FnOnce(&mut HashMap<u32, Thread>) -> T) -> T {
        let mut threads = self.threads.lock();
        let result = work(&mut threads);
        self.count.store(threads.len(), Ordering::Release);
        result
    }

    fn knows(&self, ctx: &Context) -> bool {
        self.count.load(Ordering::Acquire) > 0 && self.threads.lock().contains_key(&ctx.pid)
    }

    /// The thread hears ESTALE, and will come again.
    pub fn note_stale(self: &Arc<Self>, ctx: &Context) {
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let pid = ctx.pid;
        let added = self.change(|threads| {
            let room = threads.len() < MAX_THREADS || threads.contains_key(&pid);
            room.then(|| threads.insert(pid, Thread { number, held: None })).is_some()
        });
        if !added {
            return;
        }
        let this = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(SECOND_WALK_TIMEOUT).await;
            this.change(|threads| {
                let same = threads.get(&pid).is_some_and(|thread| thread.number == number);
                if same { threads.remove(&pid) } else { None }
            });
        });
    }

    /// The thread has opened what it found. What was held for it is let go.
    pub fn done(&self, ctx: &Context) {
        if self.count.load(Ordering::Acquire) > 0 {
            drop(self.change(|threads| threads.remove(&ctx.pid)));
        }
    }

    fn hold(&self, ctx: &Context, handle: FileHandle) {
        let before = self.change(|threads| {
            let thread = threads.get_mut(&ctx.pid)?;
            thread.held.replace(handle)
        });
        drop(before);
    }
}

/// What a thread finds by a name: held for it, if it was told ESTALE. That may be something else than was found before, or
/// nothing.
pub async fn found(fs: &NyalaFs, ctx: &Context, parent: Ino, name: &[u8], found: Lookup) -> Lookup {
    if !fs.again.knows(ctx) {
        return found;
    }
    let mut found = found;
    for _ in 0..TRIES {
        let Some(attr) = found.attr.as_ref().filter(|attr| attr.kind == FileKind::File) else { break };
        match fs.client.open(attr.inode, OpenOptions::default()).await {
            Ok(handle) => {
                fs.again.hold(ctx, handle);
                break;
            }
            Err(error) if error.is(ErrorCode::STALE) || error.is(ErrorCode::NOT_FOUND) => {}
            // What is the matter the thread hears when it uses the file.
            Err(_) => break,
        }
        match fs.client.lookup_entry(inode(parent), name).await {
            Ok(other) => found = other,
            Err(_) => break,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_remembered_until_it_is_done_or_for_a_while() {
        let again = Arc::new(Again::default());
        let ctx = |pid| Context { unique: 1, uid: 0, gid: 0, pid };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            again.note_stale(&ctx(5));
            again.note_stale(&ctx(6));
            assert!(again.knows(&ctx(5)) && again.knows(&ctx(6)) && !again.knows(&ctx(7)));
            again.done(&ctx(5));
            assert!(!again.knows(&ctx(5)) && again.knows(&ctx(6)));
            // sleeps: longer than it is remembered
            tokio::time::sleep(SECOND_WALK_TIMEOUT + SECOND_WALK_TIMEOUT / 4).await;
            assert!(!again.knows(&ctx(6)));
        });
        assert_eq!(again.count.load(Ordering::Relaxed), 0);
    }
}
