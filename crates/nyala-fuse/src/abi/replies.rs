// SPDX-License-Identifier: Apache-2.0

//! The bodies of replies, and the flags in them.

abi_struct! {
    /// Attributes of an inode.
    AttrOutBody {
        ino: u64,
        size: u64,
        blocks: u64,
        atime: u64,
        mtime: u64,
        ctime: u64,
        atimensec: u32,
        mtimensec: u32,
        ctimensec: u32,
        mode: u32,
        nlink: u32,
        uid: u32,
        gid: u32,
        rdev: u32,
        blksize: u32,
        flags: u32,
    }
    /// LOOKUP, MKNOD, MKDIR, SYMLINK, LINK; first part of CREATE and of a READDIRPLUS entry.
    EntryOut {
        nodeid: u64,
        generation: u64,
        entry_valid: u64,
        attr_valid: u64,
        entry_valid_nsec: u32,
        attr_valid_nsec: u32,
        attr: AttrOutBody,
    }
    /// GETATTR and SETATTR.
    AttrOut { attr_valid: u64, attr_valid_nsec: u32, dummy: u32, attr: AttrOutBody }
    /// OPEN and OPENDIR; second part of CREATE.
    OpenOut { fh: u64, open_flags: u32, backing_id: i32 }
    /// WRITE, and COPY_FILE_RANGE.
    WriteOut { size: u32, padding: u32 }
    /// STATFS.
    StatfsOut {
        blocks: u64,
        bfree: u64,
        bavail: u64,
        files: u64,
        ffree: u64,
        bsize: u32,
        namelen: u32,
        frsize: u32,
        padding: u32,
        spare: [u32; 6],
    }
    /// GETXATTR and LISTXATTR when only the size was asked.
    GetxattrOut { size: u32, padding: u32 }
    /// A byte-range lock.
    FileLock { start: u64, end: u64, kind: u32, pid: u32 }
    /// GETLK.
    LkOut { lk: FileLock }
    /// LSEEK.
    LseekOut { offset: u64 }
    /// COPY_FILE_RANGE_64 (7.45).
    CopyFileRangeOut { bytes_copied: u64 }
    /// Begins an entry of READDIR; the name follows, padded to 8 bytes.
    Dirent { ino: u64, off: u64, namelen: u32, kind: u32 }
    /// A time in STATX.
    SxTime { tv_sec: i64, tv_nsec: u32, reserved: i32 }
    /// Attributes in STATX.
    StatxBody {
        mask: u32,
        blksize: u32,
        attributes: u64,
        nlink: u32,
        uid: u32,
        gid: u32,
        mode: u16,
        spare0: u16,
        ino: u64,
        size: u64,
        blocks: u64,
        attributes_mask: u64,
        atime: SxTime,
        btime: SxTime,
        ctime: SxTime,
        mtime: SxTime,
        rdev_major: u32,
        rdev_minor: u32,
        dev_major: u32,
        dev_minor: u32,
        spare2: [u64; 14],
    }
    /// STATX.
    StatxOut { attr_valid: u64, attr_valid_nsec: u32, flags: u32, spare: [u64; 2], stat: StatxBody }
}

pub const FOPEN_DIRECT_IO: u32 = 1 << 0;
pub const FOPEN_KEEP_CACHE: u32 = 1 << 1;
pub const FOPEN_NONSEEKABLE: u32 = 1 << 2;
pub const FOPEN_CACHE_DIR: u32 = 1 << 3;
pub const FOPEN_STREAM: u32 = 1 << 4;
pub const FOPEN_NOFLUSH: u32 = 1 << 5;
pub const FOPEN_PARALLEL_DIRECT_WRITES: u32 = 1 << 6;
pub const FOPEN_PASSTHROUGH: u32 = 1 << 7;
