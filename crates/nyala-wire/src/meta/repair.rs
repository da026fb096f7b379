// SPDX-License-Identifier: Apache-2.0

//! Repairs of what a check of the file system found. Each says what was found, and is done only where it is still so.

use super::fragment_repair::FragmentRepair;
use super::server_repair::ServerRepair;
use crate::file_kind::FileKind;
use crate::ids::{InodeId, SessionId};
use crate::name::Name;
use minicbor::{Decode, Encode};

/// A repair of one server's tables. ESTALE if what it says is not so (any more): then nothing is done.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Repair {
    /// Remove a name, and count it.
    #[n(0)]
    RemoveName {
        /// The directory.
        #[n(0)]
        dir: InodeId,
        /// Its place there.
        #[n(1)]
        cookie: u64,
        /// The inode that it names.
        #[n(2)]
        inode: InodeId,
    },
    /// Remove all names in a directory that does not exist.
    #[n(1)]
    RemoveNames(#[n(0)] InodeId),
    /// A name says what its inode is.
    #[n(2)]
    SetNameKind {
        /// The directory.
        #[n(0)]
        dir: InodeId,
        /// Its place there.
        #[n(1)]
        cookie: u64,
        /// The inode that it names.
        #[n(2)]
        inode: InodeId,
        /// What that is.
        #[n(3)]
        kind: FileKind,
    },
    /// Put a name where a lookup looks for it; it goes if the same name is there already.
    #[n(3)]
    PlaceName {
        /// The directory.
        #[n(0)]
        dir: InodeId,
        /// Where it stands.
        #[n(1)]
        cookie: u64,
        /// The inode that it names.
        #[n(2)]
        inode: InodeId,
    },
    /// Give an inode a name, and count it. Its links are another repair.
    #[n(4)]
    AddName {
        /// The directory.
        #[n(0)]
        dir: InodeId,
        /// The name; it must be free, or of this inode already.
        #[n(1)]
        name: Name,
        /// The inode.
        #[n(2)]
        inode: InodeId,
        /// What it is.
        #[n(3)]
        kind: FileKind,
    },
    /// Count the names in a directory anew.
    #[n(5)]
    CountNames(#[n(0)] InodeId),
    /// Set the number of links of something that is not a directory.
    #[n(6)]
    SetLinks {
        /// The inode.
        #[n(0)]
        inode: InodeId,
        /// What it is now.
        #[n(1)]
        from: u32,
        /// What it is to be, from 1.
        #[n(2)]
        to: u32,
    },
    /// Set the directory above a directory.
    #[n(7)]
    SetParent {
        /// The directory.
        #[n(0)]
        dir: InodeId,
        /// What it is now.
        #[n(1)]
        from: InodeId,
        /// What it is to be.
        #[n(2)]
        to: InodeId,
    },
    /// Remove an inode without links that nobody holds open.
    #[n(8)]
    RemoveInode(#[n(0)] InodeId),
    /// Remove the content and attributes of an inode that does not exist, or the content that one has which is not to have any.
    #[n(9)]
    RemoveContent(#[n(0)] InodeId),
    /// Count the extended attributes of an inode anew.
    #[n(10)]
    CountXattrs(#[n(0)] InodeId),
    /// End what a session holds open that does not exist.
    #[n(11)]
    CloseStray {
        /// The inode.
        #[n(0)]
        inode: InodeId,
        /// The session.
        #[n(1)]
        session: SessionId,
    },
    /// Make both rows about a session's locks on a file say the same; locks of a session that does not exist go.
    #[n(12)]
    SettleLocks {
        /// The file.
        #[n(0)]
        inode: InodeId,
        /// The session.
        #[n(1)]
        session: SessionId,
    },
    /// Do not remove the chunk files of an inode that exists.
    #[n(13)]
    KeepChunks(#[n(0)] InodeId),
    /// Something that is not about an inode; the sender knows the server.
    #[n(14)]
    Server(#[n(0)] ServerRepair),
    /// A fragment of a directory.
    #[n(15)]
    Fragment(#[n(0)] FragmentRepair),
}
