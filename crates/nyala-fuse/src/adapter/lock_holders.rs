// SPDX-License-Identifier: Apache-2.0

//! Which open files hold locks, and whether they may have ended without this process having heard of it.
//!
//! A lock of `flock` or of an open file ends with the last close, and the kernel reports that by RELEASE, which `close` does
//! not wait for. Every single close is reported before that by FLUSH, which it does wait for; but after a FLUSH
//! a duplicate, or a child that inherited the file, may hold it still. An exit waits for neither. So before anybody is
//! refused a lock because of one here, [`LockHolders::settle`] decides whether it still stands:
//!
//! - It does, at once, if a process that took it is alive and has not closed the file since.
//! - Otherwise the kernel may have its end queued: it is waited for until a FLUSH or RELEASE under way has ended and for
//!   `QUIET` after, the kernel having had nothing queued in between; for `LIMIT` at most.
//!
//! So an open file that was inherited by a process that has taken no lock through it costs whoever is refused `QUIET` each time.
//!
//! **Failure model.** A process may be in a process name space that is not seen here, or have got the number of another one; then it
//! does not count as alive. A kernel under load may queue the end of an exiting process's file later than
//! `QUIET`, or hold it behind other background requests: the lock then stands until it comes, as before.

mod rule;

pub use rule::{Around, Holding, Process};

use crate::{Fh, Ino};
use parking_lot::Mutex;
use rule::{File, Question, Verdict};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tokio::sync::Notify;

/// See the module.
#[derive(Default)]
pub struct LockHolders {
    /// Files in `by_inode`, to be read without the lock: closing a file that nobody locks costs nothing.
    count: AtomicUsize,
    by_inode: Mutex<HashMap<u64, File>>,
    news: Notify,
}

/// A FLUSH or RELEASE under way; ends when dropped.
pub struct CloseInProgress<'a> {
    holders: &'a LockHolders,
    ino: Ino,
}

impl Drop for CloseInProgress<'_> {
    fn drop(&mut self) {
        self.holders.change(self.ino, |file| {
            file.closes = file.closes.saturating_sub(1);
            file.ended = Some(Instant::now());
        });
        self.holders.news.notify_waiters();
    }
}

impl LockHolders {
    fn change<T>(&self, ino: Ino, work: impl FnOnce(&mut File) -> T) -> T {
        let mut by_inode = self.by_inode.lock();
        let file = by_inode.entry(ino.0).or_default();
        let result = work(file);
        if file.holders.is_empty() && file.closes == 0 {
            by_inode.remove(&ino.0);
        }
        self.count.store(by_inode.len(), Ordering::Release);
        result
    }

    fn is_locked(&self, ino: Ino) -> bool {
        self.count.load(Ordering::Acquire) > 0 && self.by_inode.lock().contains_key(&ino.0)
    }

    /// A process is about to take a lock.
    pub fn note_lock(&self, ino: Ino, holding: Holding, process: Process) {
        self.change(ino, |file| file.note_lock(holding, process));
    }

    /// All of a holder's locks were given up by itself.
    pub fn gave_up(&self, ino: Ino, holding: Holding) {
        if self.is_locked(ino) {
            self.change(ino, |file| file.holders.retain(|holder| holder.holding != holding));
        }
    }

    /// FLUSH: a thread closes the file, and all that its process (`owner`) has locked as a process ends.
    pub fn begin_close(
        &self,
        ino: Ino,
        fh: Fh,
        owner: u64,
        thread: u32,
        around: &impl Around,
    ) -> Option<CloseInProgress<'_>> {
        if !self.is_locked(ino) {
            return None;
        }
        self.change(ino, |file| file.begin_close(fh, owner, thread, around));
        Some(CloseInProgress { holders: self, ino })
    }

    /// RELEASE: an open file has ended.
    pub fn released(&self, ino: Ino, fh: Fh) -> Option<CloseInProgress<'_>> {
        if !self.is_locked(ino) {
            return None;
        }
        self.change(ino, |file| {
            file.holders.retain(|holder| holder.holding.fh != fh);
            file.closes += 1;
        });
        Some(CloseInProgress { holders: self, ino })
    }

    /// Waits until an owner's lock is known to stand, or is given up.
    pub async fn settle(&self, ino: Ino, owner: u64, flock: bool, around: &impl Around) {
        let began = Instant::now();
        let mut idle = false;
        loop {
            let news = self.news.notified();
            idle |= !around.has_requests();
            let asked = Question { owner, flock, began, now: Instant::now(), idle };
            match self.verdict(ino, &asked, around) {
                Verdict::Settled => return,
                // why ignored: news or not, it is looked at again.
                Verdict::Unsure(time) => drop(tokio::time::timeout(time, news).await),
            }
        }
    }

    fn verdict(&self, ino: Ino, asked: &Question, around: &impl Around) -> Verdict {
        self.by_inode.lock().get(&ino.0).map_or(Verdict::Settled, |file| file.verdict(asked, around))
    }
}

#[cfg(test)]
mod tests;
