// SPDX-License-Identifier: Apache-2.0

//! Requests from clients to metadata services.
//!
//! A changing request carries its session's next sequence number; the server keeps the reply until the client says
//! that it has it (`acked_below`), so a request sent again after a failure is answered, not done twice.

use crate::attr::{Attr, FileKind, Time};
use crate::ids::{InodeId, MapVersion, SessionId, TargetId};
use crate::name::Name;
use crate::stripe::{Layout, StripePattern};
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

/// Most entries that one listing reply holds.
pub const MAX_LIST_ENTRIES: u32 = 4096;
/// Most inodes in one [`MetaOp::GetAttrs`].
pub const MAX_GET_ATTRS: usize = 4096;
/// Longest symbolic link target in bytes (Linux `PATH_MAX` less the NUL).
pub const MAX_SYMLINK_BYTES: usize = 4095;
/// Longest value of an extended attribute in bytes (Linux `XATTR_SIZE_MAX`).
pub const MAX_XATTR_BYTES: usize = 65_536;
/// Largest file size in bytes (Linux `loff_t`).
pub const MAX_FILE_BYTES: u64 = i64::MAX as u64;

/// A request to a metadata service.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct MetaRequest {
    /// The client's session.
    #[n(0)]
    pub session: SessionId,
    /// Sequence number of a changing request within the session and server, from 1; 0 for one that changes nothing.
    #[n(1)]
    pub sequence: u64,
    /// The client has the replies to all its sequence numbers below this one.
    #[n(2)]
    pub acked_below: u64,
    /// Owner of what is made.
    #[n(3)]
    pub owner: Owner,
    /// The client's clock: stamps of times that the operation sets. The server never lets time run backwards for it.
    #[n(4)]
    pub now: Time,
    /// What to do.
    #[n(5)]
    pub op: MetaOp,
}

/// Owner and group of what is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Owner {
    /// User.
    #[n(0)]
    pub uid: u32,
    /// Group.
    #[n(1)]
    pub gid: u32,
}

/// A new time for an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum SetTime {
    /// The request's own time.
    #[n(0)]
    Now,
    /// This time.
    #[n(1)]
    At(#[n(0)] Time),
}

/// Attributes to change; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct SetAttr {
    /// Permission bits (0o7777).
    #[n(0)]
    pub perm: Option<u16>,
    /// Owner.
    #[n(1)]
    pub uid: Option<u32>,
    /// Group.
    #[n(2)]
    pub gid: Option<u32>,
    /// Size in bytes: truncates or extends.
    #[n(3)]
    pub size: Option<u64>,
    /// Access time.
    #[n(4)]
    pub atime: Option<SetTime>,
    /// Modification time.
    #[n(5)]
    pub mtime: Option<SetTime>,
    /// Change time; normally the server's.
    #[n(6)]
    pub ctime: Option<Time>,
    /// Take setuid away, and setgid where the group may execute, as a write by an ordinary user does.
    #[n(7)]
    pub kill_suidgid: bool,
}

/// A new name of something new, for [`MetaOp::Create`] and its kin.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct NewEntry {
    /// The directory.
    #[n(0)]
    pub parent: InodeId,
    /// The name in it.
    #[n(1)]
    pub name: Name,
    /// Permission bits (0o7777), umask already applied.
    #[n(2)]
    pub perm: u16,
}

/// A rename.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Rename {
    /// Directory of the old name.
    #[n(0)]
    pub from_parent: InodeId,
    /// The old name.
    #[n(1)]
    pub from_name: Name,
    /// Directory of the new name.
    #[n(2)]
    pub to_parent: InodeId,
    /// The new name.
    #[n(3)]
    pub to_name: Name,
    /// Fail with EEXIST if the new name exists (`RENAME_NOREPLACE`).
    #[n(4)]
    pub no_replace: bool,
    /// Swap the two names (`RENAME_EXCHANGE`).
    #[n(5)]
    pub exchange: bool,
}

/// What became of a file's content after the client wrote to storage.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Commit {
    /// The file.
    #[n(0)]
    pub inode: InodeId,
    /// The file reaches at least to here, bytes; absent if nothing was written.
    #[n(1)]
    pub end: Option<u64>,
    /// Time of the last write; absent if nothing was written.
    #[n(2)]
    pub mtime: Option<Time>,
    /// The inline content of this version has been written to storage: forget it.
    #[n(3)]
    pub spilled: Option<u64>,
    /// Answer only when the change is on disk.
    #[n(4)]
    pub sync: bool,
    /// The session closes its handle on the file.
    #[n(5)]
    pub close: bool,
}

/// New inline content of a file.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct PutInline {
    /// The file.
    #[n(0)]
    pub inode: InodeId,
    /// The version that the content was made from; another one is refused with `INLINE_CONFLICT`.
    #[n(1)]
    pub base_version: u64,
    /// The whole content.
    #[n(2)]
    pub data: ByteVec,
    /// Time of the last write.
    #[n(3)]
    pub mtime: Time,
    /// Answer only when the change is on disk.
    #[n(4)]
    pub sync: bool,
    /// The session closes its handle on the file.
    #[n(5)]
    pub close: bool,
}

/// What to do. Operations from `Create` on change something and carry a sequence number.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum MetaOp {
    /// Open or keep alive a session. Reply: `Session`.
    #[n(0)]
    SessionOpen {
        /// Name of the client for people: host and mount point.
        #[n(0)]
        client: String,
    },
    /// End a session: everything that it holds open is closed. Reply: `Done`.
    #[n(1)]
    SessionClose,
    /// Look up a name. Reply: `Entry`.
    #[n(2)]
    Lookup {
        /// The directory.
        #[n(0)]
        parent: InodeId,
        /// The name.
        #[n(1)]
        name: Name,
    },
    /// Attributes of an inode. Reply: `Attr`.
    #[n(3)]
    GetAttr {
        /// The inode.
        #[n(0)]
        inode: InodeId,
    },
    /// Attributes of many inodes; those that do not exist are left out. Reply: `Attrs`.
    #[n(4)]
    GetAttrs {
        /// The inodes.
        #[n(0)]
        inodes: Vec<InodeId>,
    },
    /// List a directory. Reply: `Listing`.
    #[n(5)]
    ReadDir {
        /// The directory.
        #[n(0)]
        dir: InodeId,
        /// Start after the entry with this cookie; 0 starts at the beginning.
        #[n(1)]
        after: u64,
        /// At most so many entries.
        #[n(2)]
        max_entries: u32,
        /// With attributes where this server has them.
        #[n(3)]
        plus: bool,
    },
    /// Target of a symbolic link. Reply: `Bytes`.
    #[n(6)]
    ReadLink {
        /// The link.
        #[n(0)]
        inode: InodeId,
    },
    /// Value of an extended attribute. Reply: `Bytes`.
    #[n(7)]
    GetXattr {
        /// The inode.
        #[n(0)]
        inode: InodeId,
        /// Full name, `user.` and so on included.
        #[n(1)]
        name: ByteVec,
    },
    /// Names of extended attributes. Reply: `Names`.
    #[n(8)]
    ListXattr {
        /// The inode.
        #[n(0)]
        inode: InodeId,
    },
    /// Where an inode and its data are, and what a directory gives to new files. Reply: `EntryInfo`.
    #[n(9)]
    EntryInfo {
        /// The inode.
        #[n(0)]
        inode: InodeId,
    },
    /// Numbers of inodes. Reply: `StatFs`.
    #[n(10)]
    StatFs,
    /// The directory above a directory. Reply: `Inode`.
    #[n(11)]
    GetParent {
        /// The directory.
        #[n(0)]
        dir: InodeId,
    },
    /// Answer when everything that this server answered before is on disk. Reply: `Done`.
    #[n(12)]
    Sync,
    /// Layout, size and inline content of a file without opening it. Reply: `Opened`.
    #[n(13)]
    FileInfo {
        /// The file.
        #[n(0)]
        inode: InodeId,
    },

    /// Make a regular file, or open the one that is there. Reply: `Created`.
    #[n(32)]
    Create {
        /// Where.
        #[n(0)]
        entry: NewEntry,
        /// `O_EXCL`: fail with EEXIST if the name exists.
        #[n(1)]
        exclusive: bool,
    },
    /// Open a file. Reply: `Opened`.
    #[n(33)]
    Open {
        /// The file.
        #[n(0)]
        inode: InodeId,
    },
    /// The session no longer holds the file open. Reply: `Done`.
    #[n(34)]
    Close {
        /// The file.
        #[n(0)]
        inode: InodeId,
    },
    /// Make a directory. Reply: `Entry`.
    #[n(35)]
    Mkdir {
        /// Where.
        #[n(0)]
        entry: NewEntry,
    },
    /// Make a fifo, socket, device or closed regular file. Reply: `Entry`.
    #[n(36)]
    Mknod {
        /// Where.
        #[n(0)]
        entry: NewEntry,
        /// What.
        #[n(1)]
        kind: FileKind,
        /// Device number.
        #[n(2)]
        rdev: u32,
    },
    /// Make a symbolic link. Reply: `Entry`.
    #[n(37)]
    Symlink {
        /// Where.
        #[n(0)]
        entry: NewEntry,
        /// What it points to.
        #[n(1)]
        target: ByteVec,
    },
    /// Remove a name that is not a directory's. Reply: `Done`.
    #[n(38)]
    Unlink {
        /// The directory.
        #[n(0)]
        parent: InodeId,
        /// The name.
        #[n(1)]
        name: Name,
    },
    /// Remove an empty directory. Reply: `Done`.
    #[n(39)]
    Rmdir {
        /// The directory above.
        #[n(0)]
        parent: InodeId,
        /// The name.
        #[n(1)]
        name: Name,
    },
    /// Rename. Sent to the server of the old name's directory. Reply: `Done`.
    #[n(40)]
    Rename(#[n(0)] Rename),
    /// Make another name for an inode that is not a directory. Reply: `Entry`.
    #[n(41)]
    Link {
        /// The inode.
        #[n(0)]
        inode: InodeId,
        /// Directory of the new name.
        #[n(1)]
        parent: InodeId,
        /// The new name.
        #[n(2)]
        name: Name,
    },
    /// Change attributes. Reply: `Attr`.
    #[n(42)]
    SetAttr {
        /// The inode.
        #[n(0)]
        inode: InodeId,
        /// The changes.
        #[n(1)]
        set: SetAttr,
    },
    /// Set an extended attribute. Reply: `Done`.
    #[n(43)]
    SetXattr {
        /// The inode.
        #[n(0)]
        inode: InodeId,
        /// Full name.
        #[n(1)]
        name: ByteVec,
        /// Value.
        #[n(2)]
        value: ByteVec,
        /// `XATTR_CREATE`: fail with EEXIST if it is there.
        #[n(3)]
        create: bool,
        /// `XATTR_REPLACE`: fail with ENODATA if it is not.
        #[n(4)]
        replace: bool,
    },
    /// Remove an extended attribute. Reply: `Done`.
    #[n(44)]
    RemoveXattr {
        /// The inode.
        #[n(0)]
        inode: InodeId,
        /// Full name.
        #[n(1)]
        name: ByteVec,
    },
    /// Data was written to storage. Reply: `Attr`.
    #[n(45)]
    Commit(#[n(0)] Commit),
    /// New inline content. Reply: `Inline`.
    #[n(46)]
    PutInline(#[n(0)] PutInline),
    /// Set what a directory gives to new files. Reply: `Done`.
    #[n(47)]
    SetPattern {
        /// The directory.
        #[n(0)]
        dir: InodeId,
        /// The pattern.
        #[n(1)]
        pattern: StripePattern,
    },
}

impl MetaOp {
    /// Whether it changes something, and so carries a sequence number.
    pub fn is_change(&self) -> bool {
        !matches!(
            self,
            MetaOp::SessionOpen { .. }
                | MetaOp::SessionClose
                | MetaOp::Lookup { .. }
                | MetaOp::GetAttr { .. }
                | MetaOp::GetAttrs { .. }
                | MetaOp::ReadDir { .. }
                | MetaOp::ReadLink { .. }
                | MetaOp::GetXattr { .. }
                | MetaOp::ListXattr { .. }
                | MetaOp::EntryInfo { .. }
                | MetaOp::StatFs
                | MetaOp::GetParent { .. }
                | MetaOp::Sync
                | MetaOp::FileInfo { .. }
        )
    }

    /// The inode whose server the request goes to: the directory of a name, the inode itself otherwise.
    /// `None` for operations on the session or the whole server.
    pub fn home(&self) -> Option<InodeId> {
        Some(match self {
            MetaOp::SessionOpen { .. } | MetaOp::SessionClose | MetaOp::StatFs | MetaOp::Sync => return None,
            MetaOp::Lookup { parent, .. }
            | MetaOp::Unlink { parent, .. }
            | MetaOp::Rmdir { parent, .. }
            | MetaOp::Link { parent, .. } => *parent,
            MetaOp::Create { entry, .. }
            | MetaOp::Mkdir { entry }
            | MetaOp::Mknod { entry, .. }
            | MetaOp::Symlink { entry, .. } => entry.parent,
            MetaOp::Rename(rename) => rename.from_parent,
            MetaOp::GetAttrs { inodes } => *inodes.first()?,
            MetaOp::ReadDir { dir, .. } | MetaOp::GetParent { dir } | MetaOp::SetPattern { dir, .. } => *dir,
            MetaOp::Commit(commit) => commit.inode,
            MetaOp::PutInline(put) => put.inode,
            MetaOp::GetAttr { inode }
            | MetaOp::ReadLink { inode }
            | MetaOp::GetXattr { inode, .. }
            | MetaOp::ListXattr { inode }
            | MetaOp::EntryInfo { inode }
            | MetaOp::FileInfo { inode }
            | MetaOp::Open { inode }
            | MetaOp::Close { inode }
            | MetaOp::SetAttr { inode, .. }
            | MetaOp::SetXattr { inode, .. }
            | MetaOp::RemoveXattr { inode, .. } => *inode,
        })
    }
}

/// A found or new entry.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct EntryReply {
    /// The inode.
    #[n(0)]
    pub inode: InodeId,
    /// What it is.
    #[n(1)]
    pub kind: FileKind,
    /// Its attributes, if this server has them; else ask the server of the inode's slot.
    #[n(2)]
    pub attr: Option<Attr>,
}

/// What a client needs to know to read and write a file.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct FileReply {
    /// Attributes.
    #[n(0)]
    pub attr: Attr,
    /// Where data is or will be.
    #[n(1)]
    pub layout: Layout,
    /// Content, while it is inline.
    #[n(2)]
    pub inline: Option<InlineContent>,
    /// Largest content that may be kept inline, bytes.
    #[n(3)]
    pub inline_limit: u32,
}

/// Inline content and its version.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct InlineContent {
    /// Grows with every change.
    #[n(0)]
    pub version: u64,
    /// The content.
    #[n(1)]
    pub data: ByteVec,
}

/// One entry of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ListedEntry {
    /// Cookie: a listing that goes on after this entry starts here. Stable while the entry exists; below 2^63.
    #[n(0)]
    pub cookie: u64,
    /// The name.
    #[n(1)]
    pub name: Name,
    /// The inode.
    #[n(2)]
    pub inode: InodeId,
    /// What it is.
    #[n(3)]
    pub kind: FileKind,
    /// Attributes, if asked for and here.
    #[n(4)]
    pub attr: Option<Attr>,
}

/// Part of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Listing {
    /// Entries in cookie order.
    #[n(0)]
    pub entries: Vec<ListedEntry>,
    /// Whether the directory ends here.
    #[n(1)]
    pub end: bool,
}

/// Where an inode and its data are.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct EntryInfo {
    /// Attributes.
    #[n(0)]
    pub attr: Attr,
    /// The metadata target that serves it.
    #[n(1)]
    pub meta_target: TargetId,
    /// Where a file's data is.
    #[n(2)]
    pub layout: Option<Layout>,
    /// Whether a file's content is inline.
    #[n(3)]
    pub inline: bool,
    /// What a directory gives to new files.
    #[n(4)]
    pub pattern: Option<StripePattern>,
    /// The directory above, of a directory.
    #[n(5)]
    pub parent: Option<InodeId>,
}

/// A session as the server sees it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct SessionReply {
    /// Silence for so long ends the session, milliseconds.
    #[n(0)]
    pub timeout_ms: u32,
    /// The server's map version.
    #[n(1)]
    pub map_version: MapVersion,
    /// Whether the server knew the session already.
    #[n(2)]
    pub known: bool,
}

/// Replies. Which one belongs to which operation is said there.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum MetaReply {
    /// Nothing to say but success.
    #[n(0)]
    Done,
    /// A session.
    #[n(1)]
    Session(#[n(0)] SessionReply),
    /// An entry.
    #[n(2)]
    Entry(#[n(0)] EntryReply),
    /// Attributes.
    #[n(3)]
    Attr(#[n(0)] Attr),
    /// Attributes of many.
    #[n(4)]
    Attrs(#[n(0)] Vec<Attr>),
    /// A listing.
    #[n(5)]
    Listing(#[n(0)] Listing),
    /// A link's target or an attribute's value.
    #[n(6)]
    Bytes(#[n(0)] ByteVec),
    /// Names of extended attributes.
    #[n(7)]
    Names(#[n(0)] Vec<ByteVec>),
    /// Where things are.
    #[n(8)]
    EntryInfo(#[n(0)] Box<EntryInfo>),
    /// Numbers of inodes.
    #[n(9)]
    StatFs {
        /// Inodes in use on this server.
        #[n(0)]
        inodes: u64,
    },
    /// An inode.
    #[n(10)]
    Inode(#[n(0)] InodeId),
    /// An open file.
    #[n(11)]
    Opened(#[n(0)] Box<FileReply>),
    /// A file that was made, or found and opened; if its inode is on another server, `file` is absent: open it there.
    #[n(12)]
    Created {
        /// Whether it is new.
        #[n(0)]
        new: bool,
        /// The inode.
        #[n(1)]
        inode: InodeId,
        /// What it is.
        #[n(2)]
        kind: FileKind,
        /// The open file.
        #[n(3)]
        file: Option<Box<FileReply>>,
    },
    /// Inline content was taken.
    #[n(13)]
    Inline {
        /// Attributes afterwards.
        #[n(0)]
        attr: Attr,
        /// The content's version now.
        #[n(1)]
        version: u64,
    },
}
