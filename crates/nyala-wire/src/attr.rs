// SPDX-License-Identifier: Apache-2.0

//! Attributes of inodes as they cross the wire.

use crate::ids::InodeId;
use crate::time::Time;
use minicbor::{Decode, Decoder, Encode, decode};
use serde::{Deserialize, Serialize};

/// What an inode is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Serialize, Deserialize)]
#[cbor(index_only)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// A regular file.
    #[n(0)]
    File,
    /// A directory.
    #[n(1)]
    Directory,
    /// A symbolic link.
    #[n(2)]
    Symlink,
    /// A named pipe.
    #[n(3)]
    Fifo,
    /// A socket.
    #[n(4)]
    Socket,
    /// A character device.
    #[n(5)]
    CharDevice,
    /// A block device.
    #[n(6)]
    BlockDevice,
}

impl<'b, C> Decode<'b, C> for FileKind {
    /// Not derived: derived code takes an optional field that holds an unknown variant for an absent one.
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        Ok(match d.u8()? {
            0 => FileKind::File,
            1 => FileKind::Directory,
            2 => FileKind::Symlink,
            3 => FileKind::Fifo,
            4 => FileKind::Socket,
            5 => FileKind::CharDevice,
            6 => FileKind::BlockDevice,
            _ => return Err(decode::Error::message("unknown kind of inode")),
        })
    }
}

impl FileKind {
    /// The type bits of `st_mode` (Linux `S_IF*`).
    pub fn mode_bits(self) -> u32 {
        match self {
            FileKind::File => 0o100_000,
            FileKind::Directory => 0o040_000,
            FileKind::Symlink => 0o120_000,
            FileKind::Fifo => 0o010_000,
            FileKind::Socket => 0o140_000,
            FileKind::CharDevice => 0o020_000,
            FileKind::BlockDevice => 0o060_000,
        }
    }

    /// The kind in the type bits of `mode`, if there is one.
    pub fn from_mode(mode: u32) -> Option<FileKind> {
        Some(match mode & 0o170_000 {
            0o100_000 => FileKind::File,
            0o040_000 => FileKind::Directory,
            0o120_000 => FileKind::Symlink,
            0o010_000 => FileKind::Fifo,
            0o140_000 => FileKind::Socket,
            0o020_000 => FileKind::CharDevice,
            0o060_000 => FileKind::BlockDevice,
            _ => return None,
        })
    }
}

/// Attributes of an inode.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Attr {
    /// The inode.
    #[n(0)]
    pub inode: InodeId,
    /// What it is.
    #[n(1)]
    pub kind: FileKind,
    /// Permission bits with setuid, setgid and sticky (0o7777).
    #[n(2)]
    pub perm: u16,
    /// Number of links.
    #[n(3)]
    pub nlink: u32,
    /// Owner.
    #[n(4)]
    pub uid: u32,
    /// Group.
    #[n(5)]
    pub gid: u32,
    /// Device number of a device node (Linux `dev_t` encoding of `mknod`).
    #[n(6)]
    pub rdev: u32,
    /// Size in bytes.
    #[n(7)]
    pub size: u64,
    /// Last access.
    #[n(8)]
    pub atime: Time,
    /// Last change of content.
    #[n(9)]
    pub mtime: Time,
    /// Last change of attributes.
    #[n(10)]
    pub ctime: Time,
    /// Birth.
    #[n(11)]
    pub btime: Time,
    /// Bytes in use on storage, if that is known to differ from the size.
    #[n(12)]
    pub allocated: Option<u64>,
    /// It is known to have no extended attribute, and so no access control list: nobody needs to ask for one.
    #[n(13)]
    #[cbor(default)]
    pub no_xattrs: bool,
    /// It is a directory that is split, or a fragment of one: number of links, size and times are of this fragment alone.
    #[n(14)]
    pub split: Option<bool>,
}

impl Attr {
    /// Whether it is a directory that is split, or a fragment of one.
    pub fn is_split(&self) -> bool {
        self.split == Some(true)
    }

    /// `st_mode`: kind and permission bits.
    pub fn mode(&self) -> u32 {
        self.kind.mode_bits() | u32::from(self.perm)
    }

    /// Units of 512 bytes that `st_blocks` reports: what is in use, in whole 4 KiB blocks.
    pub fn blocks(&self) -> u64 {
        self.allocated.unwrap_or(self.size).div_ceil(4096) * 8
    }
}
