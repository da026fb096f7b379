// SPDX-License-Identifier: Apache-2.0

//! Transactions between metadata services: operations whose parts lie on several servers (mkdir, rmdir, link, unlink
//! and rename across slots). Two-phase commit with presumed abort; `docs/protocol.md` has the recovery table.

use crate::attr::Attr;
use crate::file_kind::FileKind;
use crate::fragments::{CookieRange, Fragment, FragmentEntry};
use crate::ids::{InodeId, MapVersion, SessionId, Slot, TargetId};
use crate::meta::{Caller, Owner, SetAttr};
use crate::name::Name;
use crate::stripe::StripePattern;
use crate::time::Time;
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

/// Names a transaction: its coordinator and a number that the coordinator never uses twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub struct TxId {
    /// The metadata target that coordinates.
    #[n(0)]
    pub coordinator: TargetId,
    /// Number given by it.
    #[n(1)]
    pub number: u64,
}

/// A request between metadata services.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct TxRequest {
    /// The transaction.
    #[n(0)]
    pub tx: TxId,
    /// What to do.
    #[n(1)]
    pub action: TxAction,
}

/// The steps of a transaction.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum TxAction {
    /// Check and lock these parts and remember them durably. Never waits for a lock: `BUSY` instead. Sent again it
    /// gives the same reply; with a later stage number it adds parts. Reply: `Prepared`.
    #[n(0)]
    Prepare {
        /// Time stamp for what changes.
        #[n(0)]
        now: Time,
        /// The parts on this server.
        #[n(1)]
        parts: Vec<TxPart>,
        /// 0, or 1 for the second message of a transaction to the same participant (rename lock first, parts after).
        #[n(2)]
        stage: u8,
        /// Who may not do all of it: the parts are checked for that user. Absent: nobody in particular, or everything is allowed.
        #[n(3)]
        caller: Option<Box<Caller>>,
        /// Inodes of these parts, if any, that have to belong to the caller, since their names are in directories where only owners remove them.
        #[n(4)]
        owned: Option<Vec<InodeId>>,
        /// The coordinator's session with the client that wants it: of directories that are removed it need not give back what it holds, as it forgets them with the answer. Absent: not known.
        #[n(5)]
        session: Option<SessionId>,
    },
    /// Do what was prepared. Reply: `Done`, also when it was done before.
    #[n(1)]
    Commit,
    /// Forget what was prepared. Reply: `Done`.
    #[n(2)]
    Abort,
    /// Asked of the coordinator by a participant in doubt. Reply: `Outcome`.
    #[n(3)]
    Status,
    /// The directory above a directory, for the loop check of a rename. Reply: `Parent`.
    #[n(4)]
    GetParent {
        /// The directory.
        #[n(0)]
        dir: InodeId,
    },
    /// Who waits for whose byte-range locks on this server, for finding deadlocks over several. Not part of a transaction:
    /// its number is 0. Reply: `LockEdges`.
    #[n(5)]
    LockEdges,
    /// Rows of a slot that is to be served by the receiver. Not part of a transaction: its number is 0. Reply: `Done`, also when it was
    /// done before; for the last ones once all of them are on disk.
    #[n(6)]
    MoveRows(#[n(0)] MoveRows),
    /// Entries of a fragment, and how many it has. Not part of a transaction: its number is 0. Reply: `Fragment`.
    #[n(7)]
    LookAtFragment {
        /// The fragment.
        #[n(0)]
        inode: InodeId,
        /// Entries with these cookies; the first ones, if there are more than `most`.
        #[n(1)]
        range: CookieRange,
        /// Most entries.
        #[n(2)]
        most: u32,
    },
    /// A fragment of this directory has grown or shrunk: whether it has the right number of fragments is to be looked at. Not part
    /// of a transaction: its number is 0. Reply: `Done`.
    #[n(8)]
    ConsiderSplit {
        /// The directory.
        #[n(0)]
        dir: InodeId,
    },
}

/// Rows of a slot on its way, in the order of [`MoveRows::number`].
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct MoveRows {
    /// The slot.
    #[n(0)]
    pub slot: Slot,
    /// The attempt, as in [`crate::map::SlotMove::attempt`].
    #[n(1)]
    pub attempt: u64,
    /// The version of the sender's cluster map, which shows that attempt.
    #[n(2)]
    pub map: MapVersion,
    /// Number of the message within its attempt, from 0; with the first one, what earlier attempts brought goes.
    #[n(3)]
    pub number: u64,
    /// Rows as they are now.
    #[n(4)]
    pub rows: Vec<MovedRow>,
    /// Nothing follows: the sender serves the slot no more.
    #[n(5)]
    pub last: bool,
    /// Storage may have more of some of the slot's files than their sizes say.
    #[n(6)]
    pub doubtful: bool,
}

/// A row on its way.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct MovedRow {
    /// Its key.
    #[n(0)]
    pub key: ByteVec,
    /// What it says; absent: there is none any more.
    #[n(1)]
    pub value: Option<ByteVec>,
}

/// Rows of one message take about so many bytes.
pub const MOVE_BYTES: usize = 256 << 10;

/// Most edges in a reply to [`TxAction::LockEdges`]; more are left off.
pub const MAX_LOCK_EDGES: usize = 8192;

/// Whose lock it is, in the whole cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub struct LockOwner {
    /// What the sessions of its client have in common ([`SessionId::client`]); at one server, its session there.
    #[n(0)]
    pub session: SessionId,
    /// The owner within it ([`crate::meta::FileLock::owner`]).
    #[n(1)]
    pub owner: u64,
}

/// One owner waits for another's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub struct LockEdge {
    /// Who waits.
    #[n(0)]
    pub waiter: LockOwner,
    /// Whose lock is in the way.
    #[n(1)]
    pub holder: LockOwner,
    /// Number of the waiting on its server: the same in two replies means that it waited all the while.
    #[n(2)]
    pub wait: u64,
}

/// One part of a transaction, on the server of the inode or directory that it names.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum TxPart {
    /// Make a directory's inode in this slot.
    #[n(0)]
    MakeDir {
        /// The slot.
        #[n(0)]
        slot: Slot,
        /// The directory above.
        #[n(1)]
        parent: InodeId,
        /// Permission bits.
        #[n(2)]
        perm: u16,
        /// Owner.
        #[n(3)]
        owner: Owner,
        /// What it gives to new files; absent: the cluster's default.
        #[n(4)]
        pattern: Option<StripePattern>,
        /// Its access ACL, as `system.posix_acl_access` has it; absent: the permission bits say it all.
        #[n(5)]
        acl: Option<ByteVec>,
        /// Its default ACL, as `system.posix_acl_default` has it.
        #[n(6)]
        default_acl: Option<ByteVec>,
        /// How many directories are above it, as far as placement counts them; absent: not known.
        #[n(7)]
        depth: Option<u8>,
    },
    /// Remove a directory's inode, which must have no entries.
    #[n(1)]
    RemoveDir {
        /// The directory.
        #[n(0)]
        inode: InodeId,
    },
    /// Add (1) or take away (-1) a link of an inode that is not a directory, or just stamp its ctime (0).
    #[n(2)]
    LinkCount {
        /// The inode.
        #[n(0)]
        inode: InodeId,
        /// 1, -1 or 0.
        #[n(1)]
        delta: i8,
    },
    /// Give a directory another directory above it.
    #[n(3)]
    SetParent {
        /// The directory that moves.
        #[n(0)]
        inode: InodeId,
        /// The new directory above.
        #[n(1)]
        parent: InodeId,
    },
    /// Put an entry into a directory, in place of `replaces` if given; anything else that stands there is `BUSY`.
    #[n(4)]
    PutEntry {
        /// The directory.
        #[n(0)]
        dir: InodeId,
        /// The name.
        #[n(1)]
        name: Name,
        /// The inode.
        #[n(2)]
        inode: InodeId,
        /// What it is.
        #[n(3)]
        kind: FileKind,
        /// The inode that stands there now.
        #[n(4)]
        replaces: Option<InodeId>,
    },
    /// What stands under a name: the first part of a rename, which locks the name and tells the coordinator.
    #[n(5)]
    PeekEntry {
        /// The directory.
        #[n(0)]
        dir: InodeId,
        /// The name.
        #[n(1)]
        name: Name,
    },
    /// The cluster-wide lock of renames that move a directory to another directory; held by the server of slot 0.
    #[n(6)]
    RenameLock,
    /// Remove the entry under a name, which must be this inode's; anything else that stands there is `BUSY`.
    #[n(7)]
    RemoveEntry {
        /// The directory.
        #[n(0)]
        dir: InodeId,
        /// The name.
        #[n(1)]
        name: Name,
        /// The inode that stands there now.
        #[n(2)]
        inode: InodeId,
    },
    /// Make a fragment of a directory in this slot, without entries and with an empty range.
    #[n(8)]
    MakeFragment {
        /// The slot.
        #[n(0)]
        slot: Slot,
        /// The directory.
        #[n(1)]
        of: InodeId,
        /// Its permission bits.
        #[n(2)]
        perm: u16,
        /// Its owner.
        #[n(3)]
        owner: Owner,
        /// What it gives to new files; absent: the cluster's default.
        #[n(4)]
        pattern: Option<StripePattern>,
        /// Its default ACL, as `system.posix_acl_default` has it.
        #[n(5)]
        default_acl: Option<ByteVec>,
        /// Where its range is, a cookie.
        #[n(6)]
        at: u64,
        /// The directory's depth, as placement counts it; absent: not known.
        #[n(7)]
        depth: Option<u8>,
    },
    /// Remove a fragment, which must have no entries and an empty range.
    #[n(9)]
    RemoveFragment {
        /// The fragment.
        #[n(0)]
        inode: InodeId,
    },
    /// Entries go out of a fragment, or out of the directory itself; its range ends or begins with them. `BUSY` if they are not
    /// these any more.
    #[n(10)]
    GiveEntries {
        /// The fragment, or the directory.
        #[n(0)]
        inode: InodeId,
        /// The cookies of all of them.
        #[n(1)]
        range: CookieRange,
        /// They go to the fragment behind this one, else to the one before.
        #[n(2)]
        behind: bool,
        /// What the entries are: see `docs/protocol.md`.
        #[n(3)]
        digest: u64,
    },
    /// The entries of a range come into a fragment, or into the directory itself; its range begins or ends where this one ends or begins.
    #[n(11)]
    TakeEntries {
        /// The fragment, or the directory.
        #[n(0)]
        inode: InodeId,
        /// The cookies of all of them.
        #[n(1)]
        range: CookieRange,
        /// The entries.
        #[n(2)]
        entries: Vec<FragmentEntry>,
    },
    /// A directory has these fragments from now on.
    #[n(12)]
    SetFragments {
        /// The directory.
        #[n(0)]
        dir: InodeId,
        /// In the order of their ranges; none: it is whole.
        #[n(1)]
        fragments: Vec<Fragment>,
        /// When the entries of a fragment that goes last changed: those of the directory did then, or later.
        #[n(2)]
        changed: Option<Time>,
    },
    /// Attributes of a split directory are set: all fragments give the same to new entries.
    #[n(13)]
    SetAttr {
        /// The directory or a fragment.
        #[n(0)]
        inode: InodeId,
        /// What is set.
        #[n(1)]
        set: SetAttr,
    },
    /// An access control list of a split directory is set or removed.
    #[n(14)]
    SetAcl {
        /// The directory or a fragment.
        #[n(0)]
        inode: InodeId,
        /// The extended attribute.
        #[n(1)]
        name: ByteVec,
        /// Absent: it is removed.
        #[n(2)]
        value: Option<ByteVec>,
        /// With an access list the setgid bit goes.
        #[n(3)]
        kill_sgid: bool,
    },
    /// What a split directory gives to new files is set.
    #[n(15)]
    SetPattern {
        /// The directory or a fragment.
        #[n(0)]
        inode: InodeId,
        /// The pattern.
        #[n(1)]
        pattern: StripePattern,
    },
}

impl TxPart {
    /// The slot whose server does this part.
    pub fn slot(&self) -> Slot {
        match self {
            TxPart::MakeDir { slot, .. } => *slot,
            TxPart::RemoveDir { inode } | TxPart::LinkCount { inode, .. } | TxPart::SetParent { inode, .. } => {
                inode.slot()
            }
            TxPart::PutEntry { dir, .. } | TxPart::PeekEntry { dir, .. } | TxPart::RemoveEntry { dir, .. } => {
                dir.slot()
            }
            TxPart::RenameLock => Slot(0),
            TxPart::MakeFragment { slot, .. } => *slot,
            TxPart::SetFragments { dir, .. } => dir.slot(),
            TxPart::RemoveFragment { inode }
            | TxPart::GiveEntries { inode, .. }
            | TxPart::TakeEntries { inode, .. }
            | TxPart::SetAttr { inode, .. }
            | TxPart::SetAcl { inode, .. }
            | TxPart::SetPattern { inode, .. } => inode.slot(),
        }
    }
}

/// Replies of metadata services to each other.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum TxReply {
    /// Done.
    #[n(0)]
    Done,
    /// Prepared; one result for each part.
    #[n(1)]
    Prepared(#[n(0)] Vec<PartResult>),
    /// What became of a transaction.
    #[n(2)]
    Outcome(#[n(0)] Outcome),
    /// The directory above.
    #[n(3)]
    Parent(#[n(0)] InodeId),
    /// Who waits for whom.
    #[n(4)]
    LockEdges(#[n(0)] Vec<LockEdge>),
    /// What is in a fragment.
    #[n(5)]
    Fragment {
        /// Number of all its entries.
        #[n(0)]
        count: u64,
        /// The entries that were asked for.
        #[n(1)]
        entries: Vec<FragmentEntry>,
        /// There are no more in the range that was asked about.
        #[n(2)]
        end: bool,
    },
}

/// What became of a transaction, as its coordinator says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Outcome {
    /// Not decided yet: ask again.
    #[n(0)]
    Pending,
    /// Committed.
    #[n(1)]
    Committed,
    /// Aborted, or never heard of.
    #[n(2)]
    Aborted,
}

/// What a participant says about one part.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum PartResult {
    /// Ready.
    #[n(0)]
    Ready,
    /// Ready; the inode as it will be.
    #[n(1)]
    Attr(#[n(0)] Attr),
    /// Ready; what stands under the name now.
    #[n(2)]
    Entry(#[n(0)] Option<(InodeId, FileKind)>),
    /// The same where the name is in a fragment of a directory.
    #[n(3)]
    EntryOf {
        /// What stands under the name now.
        #[n(0)]
        entry: Option<(InodeId, FileKind)>,
        /// The directory.
        #[n(1)]
        dir: InodeId,
    },
}
