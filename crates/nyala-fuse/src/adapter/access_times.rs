// SPDX-License-Identifier: Apache-2.0

//! Access times of files that were read here and are still open: shown at once, sent with the last close. Pure, besides
//! the lock.
//!
//! **Failure model.** A client that ends without its closes loses them. While one is held here, an access time that another
//! client sets to an earlier one is not seen here, and goes with the close.

use super::atime;
use crate::types::Timestamp;
use nyala_wire::{Attr, InodeId, Time};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// By inode. Each is sent, and forgotten, by the release of an open file that noted it: there are no more than open files.
#[derive(Default)]
pub struct AccessTimes {
    count: AtomicUsize,
    of: Mutex<HashMap<InodeId, Time>>,
}

impl AccessTimes {
    fn change<T>(&self, work: impl FnOnce(&mut HashMap<InodeId, Time>) -> T) -> T {
        let mut of = self.of.lock();
        let result = work(&mut of);
        self.count.store(of.len(), Ordering::Release);
        result
    }

    /// What was noted of a file and not yet sent.
    pub fn noted(&self, inode: InodeId) -> Option<Time> {
        if self.count.load(Ordering::Acquire) == 0 { None } else { self.of.lock().get(&inode).copied() }
    }

    /// A file with these attributes is read now: notes that if its access time is due.
    pub fn read(&self, attr: &Attr, now: Time) {
        self.change(|of| {
            let atime = of.get(&attr.inode).copied().unwrap_or(attr.atime).max(attr.atime);
            if atime::due(&Attr { atime, ..attr.clone() }, now) {
                of.insert(attr.inode, now);
            }
        });
    }

    /// What was noted is with the server.
    pub fn sent(&self, inode: InodeId, time: Time) {
        self.change(|of| {
            if of.get(&inode) == Some(&time) {
                of.remove(&inode);
            }
        });
    }

    /// Somebody sets the access time: what was noted before is not to be sent any more.
    pub fn set(&self, inode: InodeId) {
        if self.count.load(Ordering::Acquire) > 0 {
            self.change(|of| of.remove(&inode));
        }
    }

    /// The access time to show of an inode, if it is a later one than the server's.
    pub fn overlay(&self, inode: InodeId, atime: &mut Timestamp) {
        if let Some(Time { seconds, nanos }) = self.noted(inode)
            && (seconds, nanos) > (atime.secs, atime.nanos)
        {
            *atime = Timestamp { secs: seconds, nanos };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::FileKind;

    fn at(seconds: i64) -> Time {
        Time { seconds, nanos: 0 }
    }

    fn attr(atime: i64, mtime: i64) -> Attr {
        Attr {
            inode: InodeId(9),
            kind: FileKind::File,
            perm: 0o644,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            size: 0,
            atime: at(atime),
            mtime: at(mtime),
            ctime: at(mtime),
            btime: at(0),
            allocated: None,
            no_xattrs: false,
            split: None,
        }
    }

    fn shown(times: &AccessTimes, atime: i64) -> i64 {
        let mut time = Timestamp { secs: atime, nanos: 0 };
        times.overlay(InodeId(9), &mut time);
        time.secs
    }

    #[test]
    fn what_is_read_is_shown_until_it_is_sent() {
        let times = AccessTimes::default();
        times.read(&attr(10, 20), at(30));
        assert_eq!((shown(&times, 10), shown(&times, 40)), (30, 40));
        times.read(&attr(10, 20), at(31));
        assert_eq!(times.noted(InodeId(9)), Some(at(30)), "read since it was changed");
        times.read(&attr(10, 30), at(32));
        assert_eq!(times.noted(InodeId(9)), Some(at(32)), "changed since it was read");
        times.sent(InodeId(9), at(30));
        assert_eq!(shown(&times, 10), 32, "an older one was sent");
        times.sent(InodeId(9), at(32));
        assert_eq!((shown(&times, 10), times.count.load(Ordering::Relaxed)), (10, 0));
    }

    #[test]
    fn what_is_not_due_is_not_noted_and_what_is_set_wins() {
        let times = AccessTimes::default();
        times.read(&attr(25, 20), at(30));
        assert_eq!(times.noted(InodeId(9)), None);
        times.read(&attr(10, 20), at(30));
        times.set(InodeId(9));
        assert_eq!((times.noted(InodeId(9)), shown(&times, 5)), (None, 5));
    }
}
