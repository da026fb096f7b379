// SPDX-License-Identifier: Apache-2.0

//! Answers as the kernel's structures. Pure.

use crate::abi::replies::*;
use crate::types::*;
use std::time::Duration;

/// A lifetime as seconds and nanoseconds.
fn ttl(time: Duration) -> (u64, u32) {
    (time.as_secs(), time.subsec_nanos())
}

/// Attributes.
pub(crate) fn attr(attr: &Attr) -> AttrOutBody {
    AttrOutBody {
        ino: attr.ino,
        size: attr.size,
        blocks: attr.blocks,
        atime: attr.atime.secs as u64,
        mtime: attr.mtime.secs as u64,
        ctime: attr.ctime.secs as u64,
        atimensec: attr.atime.nanos,
        mtimensec: attr.mtime.nanos,
        ctimensec: attr.ctime.nanos,
        mode: attr.mode,
        nlink: attr.nlink,
        uid: attr.uid,
        gid: attr.gid,
        rdev: attr.rdev,
        blksize: attr.blksize,
        flags: 0,
    }
}

/// An entry.
pub(crate) fn entry_out(entry: &Entry) -> EntryOut {
    let (entry_valid, entry_valid_nsec) = ttl(entry.entry_ttl);
    let (attr_valid, attr_valid_nsec) = ttl(entry.attr_ttl);
    EntryOut {
        nodeid: entry.ino.0,
        generation: entry.generation,
        entry_valid,
        attr_valid,
        entry_valid_nsec,
        attr_valid_nsec,
        attr: attr(&entry.attr),
    }
}

/// Attributes with their lifetime.
pub(crate) fn attr_out(attributes: &Attributes) -> AttrOut {
    let (attr_valid, attr_valid_nsec) = ttl(attributes.ttl);
    AttrOut { attr_valid, attr_valid_nsec, dummy: 0, attr: attr(&attributes.attr) }
}

/// An open file.
pub(crate) fn open_out(opened: &Opened) -> OpenOut {
    let mode = &opened.mode;
    let mut open_flags = 0;
    for (wanted, flag) in [
        (mode.direct_io, FOPEN_DIRECT_IO),
        (mode.keep_cache, FOPEN_KEEP_CACHE),
        (mode.nonseekable, FOPEN_NONSEEKABLE),
        (mode.cache_dir, FOPEN_CACHE_DIR),
        (mode.stream, FOPEN_STREAM),
        (mode.noflush, FOPEN_NOFLUSH),
        (mode.parallel_direct_writes, FOPEN_PARALLEL_DIRECT_WRITES),
    ] {
        if wanted {
            open_flags |= flag;
        }
    }
    OpenOut { fh: opened.fh.0, open_flags, backing_id: 0 }
}

/// Space and inodes.
pub(crate) fn statfs_out(stat: &StatFs) -> StatfsOut {
    StatfsOut {
        blocks: stat.blocks,
        bfree: stat.blocks_free,
        bavail: stat.blocks_available,
        files: stat.files,
        ffree: stat.files_free,
        bsize: stat.block_bytes,
        namelen: stat.name_max,
        frsize: stat.block_bytes,
        padding: 0,
        spare: [0; 6],
    }
}

/// A lock.
pub(crate) fn lock_out(lock: &Lock) -> LkOut {
    LkOut { lk: FileLock { start: lock.start, end: lock.end, kind: lock.kind as u32, pid: lock.pid } }
}

fn sx_time(time: Timestamp) -> SxTime {
    SxTime { tv_sec: time.secs, tv_nsec: time.nanos, reserved: 0 }
}

/// Attributes as statx wants them.
pub(crate) fn statx_out(reply: &StatxReply) -> StatxOut {
    let (attr_valid, attr_valid_nsec) = ttl(reply.ttl);
    let attr = &reply.attr;
    let btime_mask = if reply.btime.is_some() { libc::STATX_BTIME } else { 0 };
    let stat = StatxBody {
        mask: libc::STATX_BASIC_STATS | btime_mask,
        blksize: attr.blksize,
        nlink: attr.nlink,
        uid: attr.uid,
        gid: attr.gid,
        mode: attr.mode as u16,
        ino: attr.ino,
        size: attr.size,
        blocks: attr.blocks,
        atime: sx_time(attr.atime),
        btime: sx_time(reply.btime.unwrap_or_default()),
        ctime: sx_time(attr.ctime),
        mtime: sx_time(attr.mtime),
        rdev_major: libc::major(libc::dev_t::from(attr.rdev)),
        rdev_minor: libc::minor(libc::dev_t::from(attr.rdev)),
        ..StatxBody::default()
    };
    StatxOut { attr_valid, attr_valid_nsec, flags: 0, spare: [0; 2], stat }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_flags_are_the_kernels_bits() {
        let mode = OpenMode { direct_io: true, noflush: true, parallel_direct_writes: true, ..OpenMode::default() };
        assert_eq!(open_out(&Opened { fh: Fh(9), mode }).open_flags, 1 | 32 | 64);
        assert_eq!(open_out(&Opened { fh: Fh(9), mode: OpenMode::default() }).open_flags, 0);
    }
}
