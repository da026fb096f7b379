// SPDX-License-Identifier: Apache-2.0

//! The fixed part of each request's arguments, and the flags in them.

use super::replies::FileLock;

abi_struct! {
    /// FORGET.
    ForgetIn { nlookup: u64 }
    /// One of a BATCH_FORGET.
    ForgetOne { nodeid: u64, nlookup: u64 }
    /// BATCH_FORGET; `count` of [`ForgetOne`] follow.
    BatchForgetIn { count: u32, dummy: u32 }
    /// GETATTR.
    GetattrIn { getattr_flags: u32, dummy: u32, fh: u64 }
    /// SETATTR.
    SetattrIn {
        valid: u32,
        padding: u32,
        fh: u64,
        size: u64,
        lock_owner: u64,
        atime: u64,
        mtime: u64,
        ctime: u64,
        atimensec: u32,
        mtimensec: u32,
        ctimensec: u32,
        mode: u32,
        unused4: u32,
        uid: u32,
        gid: u32,
        unused5: u32,
    }
    /// MKNOD; the name follows.
    MknodIn { mode: u32, rdev: u32, umask: u32, padding: u32 }
    /// MKDIR; the name follows.
    MkdirIn { mode: u32, umask: u32 }
    /// RENAME; both names follow.
    RenameIn { newdir: u64 }
    /// RENAME2; both names follow.
    Rename2In { newdir: u64, flags: u32, padding: u32 }
    /// LINK; the new name follows.
    LinkIn { oldnodeid: u64 }
    /// OPEN and OPENDIR.
    OpenIn { flags: u32, open_flags: u32 }
    /// CREATE and TMPFILE; the name follows.
    CreateIn { flags: u32, mode: u32, umask: u32, open_flags: u32 }
    /// RELEASE and RELEASEDIR.
    ReleaseIn { fh: u64, flags: u32, release_flags: u32, lock_owner: u64 }
    /// FLUSH.
    FlushIn { fh: u64, unused: u32, padding: u32, lock_owner: u64 }
    /// READ, READDIR and READDIRPLUS.
    ReadIn { fh: u64, offset: u64, size: u32, read_flags: u32, lock_owner: u64, flags: u32, padding: u32 }
    /// WRITE; `size` bytes of data follow.
    WriteIn { fh: u64, offset: u64, size: u32, write_flags: u32, lock_owner: u64, flags: u32, padding: u32 }
    /// FSYNC and FSYNCDIR.
    FsyncIn { fh: u64, fsync_flags: u32, padding: u32 }
    /// SETXATTR with SETXATTR_EXT; name and value follow.
    SetxattrIn { size: u32, flags: u32, setxattr_flags: u32, padding: u32 }
    /// SETXATTR without SETXATTR_EXT; name and value follow.
    SetxattrInShort { size: u32, flags: u32 }
    /// GETXATTR (the name follows) and LISTXATTR.
    GetxattrIn { size: u32, padding: u32 }
    /// GETLK, SETLK and SETLKW.
    LkIn { fh: u64, owner: u64, lk: FileLock, lk_flags: u32, padding: u32 }
    /// ACCESS.
    AccessIn { mask: u32, padding: u32 }
    /// INTERRUPT.
    InterruptIn { unique: u64 }
    /// FALLOCATE.
    FallocateIn { fh: u64, offset: u64, length: u64, mode: u32, padding: u32 }
    /// LSEEK.
    LseekIn { fh: u64, offset: u64, whence: u32, padding: u32 }
    /// COPY_FILE_RANGE and COPY_FILE_RANGE_64.
    CopyFileRangeIn { fh_in: u64, off_in: u64, nodeid_out: u64, fh_out: u64, off_out: u64, len: u64, flags: u64 }
    /// STATX (7.39).
    StatxIn { getattr_flags: u32, reserved: u32, fh: u64, sx_flags: u32, sx_mask: u32 }
    /// SYNCFS.
    SyncfsIn { padding: u64 }
}

pub const GETATTR_FH: u32 = 1 << 0;

pub const FATTR_MODE: u32 = 1 << 0;
pub const FATTR_UID: u32 = 1 << 1;
pub const FATTR_GID: u32 = 1 << 2;
pub const FATTR_SIZE: u32 = 1 << 3;
pub const FATTR_ATIME: u32 = 1 << 4;
pub const FATTR_MTIME: u32 = 1 << 5;
pub const FATTR_FH: u32 = 1 << 6;
pub const FATTR_ATIME_NOW: u32 = 1 << 7;
pub const FATTR_MTIME_NOW: u32 = 1 << 8;
pub const FATTR_LOCKOWNER: u32 = 1 << 9;
pub const FATTR_CTIME: u32 = 1 << 10;
pub const FATTR_KILL_SUIDGID: u32 = 1 << 11;

pub const OPEN_KILL_SUIDGID: u32 = 1 << 0;
pub const RELEASE_FLUSH: u32 = 1 << 0;
pub const RELEASE_FLOCK_UNLOCK: u32 = 1 << 1;
pub const READ_LOCKOWNER: u32 = 1 << 1;
pub const WRITE_CACHE: u32 = 1 << 0;
pub const WRITE_LOCKOWNER: u32 = 1 << 1;
pub const WRITE_KILL_SUIDGID: u32 = 1 << 2;
pub const FSYNC_FDATASYNC: u32 = 1 << 0;
pub const SETXATTR_ACL_KILL_SGID: u32 = 1 << 0;
pub const LK_FLOCK: u32 = 1 << 0;
