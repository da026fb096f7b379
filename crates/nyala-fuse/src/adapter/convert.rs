// SPDX-License-Identifier: Apache-2.0

//! Between the kernel's words and the client's.

use crate::types::{self, Context, NewInode, Timestamp};
use crate::{Errno, Ino};
use nyala_client::{Error, Mode};
use nyala_wire::meta::{Owner, SetAttr, SetTime};
use nyala_wire::{Attr, FileKind, InodeId, Time};

/// Block size that `stat` recommends: large enough that copying tools write whole chunks.
const BLKSIZE: u32 = 512 << 10;

/// The errno of an error, logged if it is more than an ordinary refusal.
pub fn errno(what: &'static str, ino: Ino, error: Error) -> Errno {
    let errno = Errno::from_raw(error.errno());
    if matches!(errno, Errno::EIO | Errno::ETIMEDOUT) {
        tracing::error!(operation = what, inode = %InodeId(ino.0), %error, "request failed");
    } else {
        tracing::trace!(operation = what, inode = %InodeId(ino.0), %error, "request refused");
    }
    errno
}

/// The cluster's inode of a kernel inode number: they are the same, but for the node of a directory that others moved.
pub fn inode(ino: Ino) -> InodeId {
    InodeId(ino.0 & !(0b11 << super::moved::SHIFT))
}

/// Owner of what the caller makes.
pub fn owner(ctx: &Context) -> Owner {
    Owner { uid: ctx.uid, gid: ctx.gid }
}

/// Permission bits of something new. The umask is still to be taken off, unless the directory has a default ACL.
pub fn mode(new: &NewInode) -> Mode {
    Mode { perm: (new.mode & 0o7777) as u16, umask: (new.umask & 0o777) as u16 }
}

fn timestamp(time: Time) -> Timestamp {
    Timestamp { secs: time.seconds, nanos: time.nanos }
}

/// A time from the kernel.
pub fn time(at: Timestamp) -> Time {
    Time { seconds: at.secs, nanos: at.nanos }
}

/// Attributes as the kernel takes them.
pub fn attr(from: &Attr) -> types::Attr {
    types::Attr {
        ino: from.inode.0,
        size: from.size,
        blocks: from.blocks(),
        atime: timestamp(from.atime),
        mtime: timestamp(from.mtime),
        ctime: timestamp(from.ctime),
        mode: from.mode(),
        nlink: from.nlink,
        uid: from.uid,
        gid: from.gid,
        rdev: from.rdev,
        blksize: BLKSIZE,
    }
}

/// Birth time.
pub fn btime(from: &Attr) -> Timestamp {
    timestamp(from.btime)
}

/// Changes of attributes.
pub fn set_attr(set: &types::SetAttr) -> SetAttr {
    let to = |time_to: types::SetTime| match time_to {
        types::SetTime::Now => SetTime::Now,
        types::SetTime::At(at) => SetTime::At(time(at)),
    };
    SetAttr {
        perm: set.mode.map(|mode| (mode & 0o7777) as u16),
        uid: set.uid,
        gid: set.gid,
        size: set.size,
        atime: set.atime.map(to),
        mtime: set.mtime.map(to),
        ctime: set.ctime.map(time),
        kill_suidgid: set.kill_suidgid,
        outside_group: None,
        emptied: None,
    }
}

/// `DT_…` of a kind.
pub fn dirent_kind(kind: FileKind) -> u8 {
    (kind.mode_bits() >> 12) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_those_of_dirent() {
        assert_eq!(dirent_kind(FileKind::Directory), libc::DT_DIR);
        assert_eq!(dirent_kind(FileKind::File), libc::DT_REG);
        assert_eq!(dirent_kind(FileKind::Symlink), libc::DT_LNK);
        assert_eq!(dirent_kind(FileKind::Fifo), libc::DT_FIFO);
    }

    #[test]
    fn changes_keep_only_permission_bits() {
        let set = types::SetAttr { mode: Some(0o104_755), atime: Some(types::SetTime::Now), ..Default::default() };
        let set = set_attr(&set);
        assert_eq!((set.perm, set.atime, set.mtime), (Some(0o4755), Some(SetTime::Now), None));
    }
}
