// SPDX-License-Identifier: Apache-2.0

//! The operations.

use super::args::{Commit, PutInline, Rename, SetAttr};
use super::delegation::Returned;
use super::lock::FileLock;
use super::new_entry::NewEntry;
use super::repair::Repair;
use super::replay::Replay;
use crate::file_kind::FileKind;
use crate::ids::{InodeId, SessionId, TargetId};
use crate::name::Name;
use crate::stripe::{Layout, StripePattern};
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

/// What to do. Operations from `Create` on change something and carry a sequence number.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum MetaOp {
    /// Open a session; one that is known is kept alive. Reply: `Session`.
    #[n(0)]
    SessionOpen {
        /// Name of the client for people: host and mount point.
        #[n(0)]
        client: String,
    },
    /// End a session: everything that it holds open is closed. Reply: `Done`.
    #[n(1)]
    SessionClose,
    /// Look up a name. Reply: `Entry`; with [`super::Want::CONTENT`], of a regular file, `Opened` if its delegation comes with it.
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
    /// Wait for revocations of delegations; answered after some seconds if there are none. One at a time for each session and
    /// server. Reply: `Revocations`.
    #[n(14)]
    DelegationPoll {
        /// The server's run ([`super::SessionReply::boot`]) whose delegations the client holds: it has let go of those of all
        /// runs before, but for `kept`.
        #[n(0)]
        boot: u64,
        /// Delegations of runs before that the client cannot let go of yet, since what it wrote under them does not reach its targets:
        /// with what it keeps in `keep`, at most [`super::MAX_DELEGATIONS`]. They count as granted by this run. Looked at only in the first
        /// poll that a server hears of a session after it started.
        #[n(1)]
        #[cbor(default)]
        kept: Vec<Returned>,
        /// Files whose inline content the client is moving to storage under a claim of a run before ([`MetaOp::Spill`]), at most
        /// [`super::MAX_DELEGATIONS`]: the claims count as given by this run. Looked at with `kept`.
        #[n(2)]
        #[cbor(default)]
        moving: Vec<InodeId>,
    },
    /// Delegations let go. Reply: `Done`.
    #[n(15)]
    DelegationReturn {
        /// Which.
        #[n(0)]
        delegations: Vec<Returned>,
    },
    /// Delegation a file, to read it or (`Want::WRITE`) to write it; answered when conflicting delegations are back. Reply: `Opened`.
    #[n(16)]
    Acquire {
        /// The file.
        #[n(0)]
        inode: InodeId,
    },
    /// Before a client without an exclusive delegation moves inline content to storage: nobody else does so, nor gets an
    /// exclusive delegation, until this client says that it is done, or its session ends. Reply: `Done`, when nobody else does.
    #[n(19)]
    Spill {
        /// The file.
        #[n(0)]
        inode: InodeId,
        /// It is over, whether it was moved or not.
        #[n(1)]
        done: bool,
    },
    /// The first lock that stands in the way (`F_GETLK`). Reply: `Lock`.
    #[n(17)]
    GetLock {
        /// The file.
        #[n(0)]
        inode: InodeId,
        /// The lock to be had.
        #[n(1)]
        lock: FileLock,
    },
    /// Wait for a lock: answered when it may be free, or after some seconds; then `SetLock` is tried (again). EDEADLK if
    /// it would never be. With `Unlock` it ends the owner's waits within the range at once: who waited was interrupted, and
    /// closes no circle any more. Reply: `Done`.
    #[n(18)]
    LockWait {
        /// The file.
        #[n(0)]
        inode: InodeId,
        /// The lock to be had.
        #[n(1)]
        lock: FileLock,
    },
    /// Have the holders of the locks that stand in the way asked whether these still stand: answered when all have, or
    /// after a second. Then `SetLock` or `GetLock` says what holds. Reply: `Done`.
    #[n(20)]
    LockConfirm {
        /// The file.
        #[n(0)]
        inode: InodeId,
        /// The lock to be had.
        #[n(1)]
        lock: FileLock,
    },
    /// Answers [`super::LockCheck`]s: what had ended is given up. Reply: `Done`.
    #[n(21)]
    LockChecked {
        /// Their numbers, at most [`super::MAX_LOCK_CHECKS`].
        #[n(0)]
        numbers: Vec<u64>,
    },
    /// Up to which log position this server still has what it answered in one of its runs. Reply: `Position`.
    #[n(22)]
    Survived {
        /// The run, as in the header of its replies.
        #[n(0)]
        run: u32,
    },
    /// Changes that an earlier run of this server acknowledged and may not have now. Reply: `Done`, or `Replayed` to the last one.
    #[n(23)]
    Replay(#[n(0)] Replay),
    /// Which fragments a directory is split into. Reply: `Fragments`.
    #[n(24)]
    Fragments(#[n(0)] InodeId),
    /// Make an empty directory whole again, so that it can be removed. Reply: `Done` once it is; `NOT_EMPTY`.
    #[n(25)]
    MergeDir(#[n(0)] InodeId),
    /// What the client may do with a file's chunks, whichever of its users asks. Reply: `StorageGrant`.
    #[n(26)]
    StorageGrant(#[n(0)] InodeId),
    /// Where a file's data could be moved to: a layout of this pattern, with the file's chunk size. Reply: `Layout`.
    #[n(27)]
    MoveTargets {
        /// The file.
        #[n(0)]
        inode: InodeId,
        /// How it is to be spread, and over which pool.
        #[n(1)]
        pattern: StripePattern,
        /// Targets or mirror groups that it is not to be on.
        #[n(2)]
        avoid: Vec<TargetId>,
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
        /// Of a regular file: instead of its directory's; a server that does not know it takes the directory's.
        #[n(3)]
        pattern: Option<StripePattern>,
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
        /// An access list is set by somebody outside the inode's group: its setgid bit goes.
        #[n(5)]
        kill_sgid: bool,
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
    /// Take or give up a lock; EAGAIN if another one stands in the way. Reply: `Done`.
    #[n(48)]
    SetLock {
        /// The file.
        #[n(0)]
        inode: InodeId,
        /// The lock.
        #[n(1)]
        lock: FileLock,
    },
    /// Make a regular file without a name and open it (`O_TMPFILE`); the entry's name does not count. Reply: `Created`.
    #[n(49)]
    Tmpfile {
        /// Where it could have a name.
        #[n(0)]
        entry: NewEntry,
    },
    /// New inline content of at most [`MAX_PUTS`](super::MAX_PUTS) files of one server, each of which is taken or refused
    /// for itself. Reply: `Inlines`.
    #[n(50)]
    PutInlines {
        /// The contents, of different files.
        #[n(0)]
        puts: Vec<PutInline>,
    },
    /// Repair what a check found; from the command line only. Reply: `Done`.
    #[n(51)]
    Repair(#[n(0)] Repair),
    /// What another session of this client has open and locked here, in slots that came from its server, goes to this one. Reply: `Done`.
    #[n(52)]
    SessionAdopt(#[n(0)] SessionId),
    /// A file's data was copied and is on disk there: this is its layout now, and the chunk files of the one before go. From the
    /// holder of its exclusive delegation only; AGAIN while another session has it open. On disk when it is answered. Reply: `Done`.
    #[n(53)]
    MoveData {
        /// The file.
        #[n(0)]
        inode: InodeId,
        /// Where its data is.
        #[n(1)]
        layout: Layout,
    },
}
