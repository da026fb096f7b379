// SPDX-License-Identifier: Apache-2.0

//! Kinds of inodes.

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
        FileKind::from_number(d.u8()?).ok_or_else(|| decode::Error::message("unknown kind of inode"))
    }
}

impl FileKind {
    const ALL: [FileKind; 7] = [
        FileKind::File,
        FileKind::Directory,
        FileKind::Symlink,
        FileKind::Fifo,
        FileKind::Socket,
        FileKind::CharDevice,
        FileKind::BlockDevice,
    ];

    /// The kind that is encoded as this number.
    pub fn from_number(number: u8) -> Option<FileKind> {
        Self::ALL.get(usize::from(number)).copied()
    }

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
