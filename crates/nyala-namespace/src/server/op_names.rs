// SPDX-License-Identifier: Apache-2.0

//! Names and numbers of operations, for counters.

use nyala_wire::meta::MetaOp;

/// Each operation of [`MetaOp`] and its name.
macro_rules! ops {
    ($($op:ident = $name:literal,)*) => {
        #[derive(Clone, Copy)]
        enum Number {
            $($op,)*
        }

        /// Names of operations, by their numbers.
        pub const OP_NAMES: &[&str] = &[$($name),*];

        /// An operation's number.
        #[inline]
        pub fn op_number(op: &MetaOp) -> usize {
            match op {
                $(MetaOp::$op { .. } => Number::$op as usize,)*
            }
        }
    };
}

ops! {
    SessionOpen = "session_open",
    SessionClose = "session_close",
    Lookup = "lookup",
    GetAttr = "getattr",
    GetAttrs = "getattrs",
    ReadDir = "readdir",
    ReadLink = "readlink",
    GetXattr = "getxattr",
    ListXattr = "listxattr",
    EntryInfo = "entry_info",
    StatFs = "statfs",
    GetParent = "get_parent",
    Fragments = "fragments",
    MergeDir = "merge_dir",
    Sync = "sync",
    FileInfo = "file_info",
    StorageGrant = "storage_grant",
    Create = "create",
    Open = "open",
    Close = "close",
    Mkdir = "mkdir",
    Mknod = "mknod",
    Symlink = "symlink",
    Unlink = "unlink",
    Rmdir = "rmdir",
    Rename = "rename",
    Link = "link",
    SetAttr = "setattr",
    SetXattr = "setxattr",
    RemoveXattr = "removexattr",
    Commit = "commit",
    PutInline = "put_inline",
    PutInlines = "put_inlines",
    SetPattern = "set_pattern",
    MoveTargets = "move_targets",
    MoveData = "move_data",
    DelegationPoll = "delegation_poll",
    DelegationReturn = "delegation_return",
    Acquire = "acquire",
    Spill = "spill",
    GetLock = "get_lock",
    LockWait = "lock_wait",
    LockConfirm = "lock_confirm",
    LockChecked = "lock_checked",
    Survived = "survived",
    Replay = "replay",
    SetLock = "set_lock",
    Repair = "repair",
    Tmpfile = "tmpfile",
    SessionAdopt = "session_adopt",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places_in_the_list_of_names() {
        let names = [MetaOp::Sync, MetaOp::StatFs, MetaOp::SessionClose].map(|op| OP_NAMES[op_number(&op)]);
        assert_eq!(names, ["sync", "statfs", "session_close"]);
    }
}
