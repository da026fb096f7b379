// SPDX-License-Identifier: Apache-2.0

//! Notifications: what the session tells the kernel unasked.

abi_struct! {
    /// Forget attributes and (a range of) the cached pages of an inode.
    InvalInodeOut {
        ino: u64,
        /// Negative: attributes only.
        off: i64,
        /// Zero or less: to the end.
        len: i64,
    }
    /// Forget a name; `namelen` bytes and a NUL follow.
    InvalEntryOut {
        parent: u64,
        namelen: u32,
        flags: u32,
    }
    /// A name was removed; `namelen` bytes and a NUL follow.
    DeleteOut {
        parent: u64,
        child: u64,
        namelen: u32,
        padding: u32,
    }
    /// Put data into the page cache.
    StoreOut {
        nodeid: u64,
        offset: u64,
        size: u32,
        padding: u32,
    }
    /// Ask for data from the page cache.
    RetrieveOut {
        notify_unique: u64,
        nodeid: u64,
        offset: u64,
        size: u32,
        padding: u32,
    }
    /// Drop unused inodes (7.45); `count` node ids follow.
    PruneOut {
        count: u32,
        padding: u32,
        spare: u64,
    }
}

pub const POLL: i32 = 1;
pub const INVAL_INODE: i32 = 2;
pub const INVAL_ENTRY: i32 = 3;
pub const STORE: i32 = 4;
pub const RETRIEVE: i32 = 5;
pub const DELETE: i32 = 6;
pub const RESEND: i32 = 7;
pub const INC_EPOCH: i32 = 8;
pub const PRUNE: i32 = 9;

/// `InvalEntryOut.flags`: let the name's timeout run out instead of dropping it (7.38).
pub const EXPIRE_ONLY: u32 = 1;
