// SPDX-License-Identifier: Apache-2.0

//! What a metadata server's tables say of inodes, and of other things.

use super::inode_fact::InodeFact;
use super::server_fact::ServerFact;
use crate::file_kind::FileKind;
use crate::fragments::CookieRange;
use crate::ids::{InodeId, SessionId};
use minicbor::{Decode, Encode};

/// Something that a metadata server's tables say.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Fact {
    /// A directory has a name for an inode.
    #[n(0)]
    Name {
        /// The inode.
        #[n(0)]
        inode: InodeId,
        /// The directory.
        #[n(1)]
        dir: InodeId,
        /// Its place there.
        #[n(2)]
        cookie: u64,
        /// What it is by that name.
        #[n(3)]
        kind: FileKind,
        /// It does not stand where a lookup of the name looks.
        #[n(4)]
        misplaced: bool,
        /// The directory, if `dir` is a fragment of it.
        #[n(5)]
        of: Option<InodeId>,
    },
    /// So many names are in a directory; several such facts add up.
    #[n(1)]
    Listed {
        /// The directory.
        #[n(0)]
        dir: InodeId,
        /// Names.
        #[n(1)]
        entries: u64,
        /// Those of directories among them.
        #[n(2)]
        subdirs: u64,
    },
    /// The record of an inode.
    #[n(2)]
    Inode(#[n(0)] Box<InodeFact>),
    /// Inline content, or the target of a symbolic link.
    #[n(3)]
    Content {
        /// The inode.
        #[n(0)]
        inode: InodeId,
        /// Bytes.
        #[n(1)]
        bytes: u64,
    },
    /// Extended attributes; several such facts add up.
    #[n(4)]
    Xattrs {
        /// The inode.
        #[n(0)]
        inode: InodeId,
        /// Bytes of the names, each with one more.
        #[n(1)]
        bytes: u64,
    },
    /// A session holds an inode open.
    #[n(5)]
    Open {
        /// The inode.
        #[n(0)]
        inode: InodeId,
        /// The session; 0 is the server itself.
        #[n(1)]
        session: SessionId,
        /// There is such a session.
        #[n(2)]
        known: bool,
    },
    /// A session has locks on a file that only one of the two rows about it knows, or there is no such session.
    #[n(6)]
    StrayLock {
        /// The file.
        #[n(0)]
        inode: InodeId,
        /// The session.
        #[n(1)]
        session: SessionId,
    },
    /// Chunk files of the inode wait for their removal.
    #[n(7)]
    Garbage {
        /// The inode.
        #[n(0)]
        inode: InodeId,
        /// Those of before its data was moved: it may well exist.
        #[n(1)]
        moved: Option<bool>,
    },
    /// A truncation is under way.
    #[n(8)]
    Truncation {
        /// The file.
        #[n(0)]
        inode: InodeId,
    },
    /// Something that is not about an inode.
    #[n(9)]
    Server(#[n(0)] ServerFact),
    /// A directory says that it has a fragment.
    #[n(10)]
    Fragment {
        /// The fragment.
        #[n(0)]
        inode: InodeId,
        /// The directory.
        #[n(1)]
        dir: InodeId,
        /// Its cookies.
        #[n(2)]
        range: CookieRange,
    },
}

impl Fact {
    /// The inode that it is about, if it is about one.
    pub fn inode(&self) -> Option<InodeId> {
        match self {
            Fact::Name { inode, .. } | Fact::Listed { dir: inode, .. } | Fact::Fragment { inode, .. } => Some(*inode),
            Fact::Content { inode, .. } | Fact::Xattrs { inode, .. } | Fact::Open { inode, .. } => Some(*inode),
            Fact::StrayLock { inode, .. } | Fact::Garbage { inode, .. } | Fact::Truncation { inode } => Some(*inode),
            Fact::Inode(record) => Some(record.inode),
            Fact::Server(_) => None,
        }
    }
}
