// SPDX-License-Identifier: Apache-2.0

//! INIT: the structures and the flags of both words, as one 64-bit set.

abi_struct! {
    /// INIT request since 7.36; older kernels send the first 16 bytes.
    InitIn {
        major: u32,
        minor: u32,
        max_readahead: u32,
        flags: u32,
        flags2: u32,
        unused: [u32; 11],
    }
    /// INIT request before 7.36.
    InitInShort {
        major: u32,
        minor: u32,
        max_readahead: u32,
        flags: u32,
    }
    /// INIT reply.
    InitOut {
        major: u32,
        minor: u32,
        max_readahead: u32,
        flags: u32,
        max_background: u16,
        congestion_threshold: u16,
        max_write: u32,
        time_gran: u32,
        max_pages: u16,
        map_alignment: u16,
        flags2: u32,
        max_stack_depth: u32,
        request_timeout: u16,
        unused: [u16; 11],
    }
}

pub const ASYNC_READ: u64 = 1 << 0;
pub const POSIX_LOCKS: u64 = 1 << 1;
pub const FILE_OPS: u64 = 1 << 2;
pub const ATOMIC_O_TRUNC: u64 = 1 << 3;
pub const EXPORT_SUPPORT: u64 = 1 << 4;
pub const BIG_WRITES: u64 = 1 << 5;
pub const DONT_MASK: u64 = 1 << 6;
pub const SPLICE_WRITE: u64 = 1 << 7;
pub const SPLICE_MOVE: u64 = 1 << 8;
pub const SPLICE_READ: u64 = 1 << 9;
pub const FLOCK_LOCKS: u64 = 1 << 10;
pub const HAS_IOCTL_DIR: u64 = 1 << 11;
pub const AUTO_INVAL_DATA: u64 = 1 << 12;
pub const DO_READDIRPLUS: u64 = 1 << 13;
pub const READDIRPLUS_AUTO: u64 = 1 << 14;
pub const ASYNC_DIO: u64 = 1 << 15;
pub const WRITEBACK_CACHE: u64 = 1 << 16;
pub const NO_OPEN_SUPPORT: u64 = 1 << 17;
pub const PARALLEL_DIROPS: u64 = 1 << 18;
pub const HANDLE_KILLPRIV: u64 = 1 << 19;
pub const POSIX_ACL: u64 = 1 << 20;
pub const ABORT_ERROR: u64 = 1 << 21;
pub const MAX_PAGES: u64 = 1 << 22;
pub const CACHE_SYMLINKS: u64 = 1 << 23;
pub const NO_OPENDIR_SUPPORT: u64 = 1 << 24;
pub const EXPLICIT_INVAL_DATA: u64 = 1 << 25;
pub const MAP_ALIGNMENT: u64 = 1 << 26;
pub const SUBMOUNTS: u64 = 1 << 27;
pub const HANDLE_KILLPRIV_V2: u64 = 1 << 28;
pub const SETXATTR_EXT: u64 = 1 << 29;
/// `flags2` is there and means something.
pub const INIT_EXT: u64 = 1 << 30;
pub const SECURITY_CTX: u64 = 1 << 32;
pub const HAS_INODE_DAX: u64 = 1 << 33;
pub const CREATE_SUPP_GROUP: u64 = 1 << 34;
pub const HAS_EXPIRE_ONLY: u64 = 1 << 35;
pub const DIRECT_IO_ALLOW_MMAP: u64 = 1 << 36;
pub const PASSTHROUGH: u64 = 1 << 37;
pub const NO_EXPORT_SUPPORT: u64 = 1 << 38;
pub const HAS_RESEND: u64 = 1 << 39;
pub const ALLOW_IDMAP: u64 = 1 << 40;
pub const OVER_IO_URING: u64 = 1 << 41;
pub const REQUEST_TIMEOUT: u64 = 1 << 42;
