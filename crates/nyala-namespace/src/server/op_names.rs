// SPDX-License-Identifier: Apache-2.0

//! Names of operations, for counters.

use nyala_wire::meta::MetaOp;

/// An operation's counter.
pub fn op_name(op: &MetaOp) -> &'static str {
    match op {
        MetaOp::SessionOpen { .. } => "op.session_open",
        MetaOp::SessionClose => "op.session_close",
        MetaOp::Lookup { .. } => "op.lookup",
        MetaOp::GetAttr { .. } => "op.getattr",
        MetaOp::GetAttrs { .. } => "op.getattrs",
        MetaOp::ReadDir { .. } => "op.readdir",
        MetaOp::ReadLink { .. } => "op.readlink",
        MetaOp::GetXattr { .. } => "op.getxattr",
        MetaOp::ListXattr { .. } => "op.listxattr",
        MetaOp::EntryInfo { .. } => "op.entry_info",
        MetaOp::StatFs => "op.statfs",
        MetaOp::GetParent { .. } => "op.get_parent",
        MetaOp::Sync => "op.sync",
        MetaOp::FileInfo { .. } => "op.file_info",
        MetaOp::Create { .. } => "op.create",
        MetaOp::Open { .. } => "op.open",
        MetaOp::Close { .. } => "op.close",
        MetaOp::Mkdir { .. } => "op.mkdir",
        MetaOp::Mknod { .. } => "op.mknod",
        MetaOp::Symlink { .. } => "op.symlink",
        MetaOp::Unlink { .. } => "op.unlink",
        MetaOp::Rmdir { .. } => "op.rmdir",
        MetaOp::Rename(_) => "op.rename",
        MetaOp::Link { .. } => "op.link",
        MetaOp::SetAttr { .. } => "op.setattr",
        MetaOp::SetXattr { .. } => "op.setxattr",
        MetaOp::RemoveXattr { .. } => "op.removexattr",
        MetaOp::Commit(_) => "op.commit",
        MetaOp::PutInline(_) => "op.put_inline",
        MetaOp::PutInlines { .. } => "op.put_inlines",
        MetaOp::SetPattern { .. } => "op.set_pattern",
        MetaOp::DelegationPoll { .. } => "op.delegation_poll",
        MetaOp::DelegationReturn { .. } => "op.delegation_return",
        MetaOp::Acquire { .. } => "op.acquire",
        MetaOp::Spill { .. } => "op.spill",
        MetaOp::GetLock { .. } => "op.get_lock",
        MetaOp::LockWait { .. } => "op.lock_wait",
        MetaOp::LockConfirm { .. } => "op.lock_confirm",
        MetaOp::LockChecked { .. } => "op.lock_checked",
        MetaOp::Survived { .. } => "op.survived",
        MetaOp::Replay(_) => "op.replay",
        MetaOp::SetLock { .. } => "op.set_lock",
        MetaOp::Repair(_) => "op.repair",
        MetaOp::Tmpfile { .. } => "op.tmpfile",
    }
}
