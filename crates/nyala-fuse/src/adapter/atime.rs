// SPDX-License-Identifier: Apache-2.0

//! When reading changes the access time: relatime, as local file systems do by default. Pure.

use nyala_wire::{Attr, Time};

/// An access time older than this is renewed in any case.
const DAY_SECONDS: i64 = 24 * 60 * 60;

/// Whether a file with these attributes that is read now gets a new access time: if it was changed since it was last
/// read, or was not read for a day.
pub fn due(attr: &Attr, now: Time) -> bool {
    attr.atime <= attr.mtime
        || attr.atime <= attr.ctime
        || now.seconds.saturating_sub(attr.atime.seconds) >= DAY_SECONDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::{FileKind, InodeId};

    fn attr(atime: i64, mtime: i64, ctime: i64) -> Attr {
        let at = |seconds| Time { seconds, nanos: 0 };
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
            ctime: at(ctime),
            btime: at(0),
            allocated: None,
            no_xattrs: false,
            split: None,
        }
    }

    #[test]
    fn after_changes_and_once_a_day() {
        let now = Time { seconds: 1_000_000, nanos: 5 };
        assert!(due(&attr(999_000, 999_500, 999_500), now), "changed since");
        assert!(due(&attr(999_000, 998_000, 999_000), now), "attributes changed at the same time");
        assert!(!due(&attr(999_500, 999_000, 999_000), now));
        assert!(due(&attr(1_000_000 - DAY_SECONDS, 0, 0), now));
        assert!(!due(&attr(1_000_001 - DAY_SECONDS, 0, 0), now));
        assert!(!due(&attr(i64::MAX, 0, 0), now), "a time in the future");
    }
}
