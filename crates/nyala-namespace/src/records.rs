// SPDX-License-Identifier: Apache-2.0

//! Values of the metadata tables: CBOR with numbered fields, so that later versions may add fields.

use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};
use nyala_wire::fragments::{COOKIE_END, CookieRange, Fragment};
use nyala_wire::meta_tx::{PartResult, TxPart};
use nyala_wire::{
    Attr, FileKind, InodeId, Layout, MapVersion, Name, Pattern, SessionId, StripePattern, TargetId, Time,
};

/// An inode. Encoded as an array of the fields in this order, without those at the end that are absent.
#[derive(Clone, Debug, PartialEq)]
pub struct InodeRecord {
    /// What it is.
    pub kind: FileKind,
    /// Permission bits.
    pub perm: u16,
    /// Number of links; a directory has two and one more for each directory in it.
    pub nlink: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Size in bytes.
    pub size: u64,
    /// Last access.
    pub atime: Time,
    /// Last change of content.
    pub mtime: Time,
    /// Last change of attributes.
    pub ctime: Time,
    /// Birth.
    pub btime: Time,
    /// Device number.
    pub rdev: Option<u32>,
    /// What only a directory has.
    pub dir: Option<DirPart>,
    /// What only a regular file has.
    pub file: Option<FilePart>,
    /// Bytes of the names of all extended attributes, each with one more; absent if there is none.
    pub xattr_bytes: Option<u32>,
}

/// What only a directory has. Encoded as an array of the fields in this order, without those at the end that are absent.
#[derive(Clone, Debug, PartialEq)]
pub struct DirPart {
    /// The directory above; the root is its own.
    pub parent: InodeId,
    /// Number of entries.
    pub entries: u64,
    /// What it gives to new files; absent: the cluster's default.
    pub pattern: Option<StripePattern>,
    /// Of a directory that is split, its fragments in the order of their ranges; the rest is its own.
    pub fragments: Option<Vec<Fragment>>,
    /// Of a fragment, the cookies that it has; its parent is the directory of which it is a fragment.
    pub range: Option<CookieRange>,
    /// How many directories were above it when it was made, no more than [`SPREAD_LEVELS`]; a fragment has its directory's. Absent: none, or it
    /// is older than this field.
    pub depth: Option<u8>,
}

/// So many levels of directories from the root on spread what is made in them over all metadata servers; below, a directory is made near
/// the one that it is in ([`DirPart::keeps_near`]).
pub const SPREAD_LEVELS: u8 = 3;

/// And only so many in each: what has more directories than this is not a small tree but many of something.
pub const NEAR_DIRECTORIES: u32 = 8;

impl DirPart {
    /// Of a new directory.
    pub fn new(parent: InodeId, pattern: Option<StripePattern>) -> DirPart {
        DirPart { parent, entries: 0, pattern, fragments: None, range: None, depth: None }
    }

    /// The depth of a directory that is made in it.
    pub fn depth_below(&self) -> u8 {
        self.depth.unwrap_or(0).saturating_add(1).min(SPREAD_LEVELS)
    }

    /// Whether the next directory in it, which has so many links, is made on the same server, by one record instead of a transaction.
    pub fn keeps_near(&self, nlink: u32) -> bool {
        self.depth >= Some(SPREAD_LEVELS) && nlink.saturating_sub(2) < NEAR_DIRECTORIES
    }

    /// The fragments besides the directory itself.
    pub fn fragments(&self) -> &[Fragment] {
        self.fragments.as_deref().unwrap_or_default()
    }

    /// The cookies of the entries that are here and in no other fragment.
    pub fn own_range(&self) -> CookieRange {
        let from = self.fragments().last().map_or(0, |last| last.upto);
        self.range.unwrap_or(CookieRange { from, upto: COOKIE_END })
    }

    /// Whether it is split, or a fragment.
    pub fn is_split(&self) -> bool {
        self.fragments.is_some() || self.range.is_some()
    }

    /// The directory whose entries are here; `inode`: the record's own.
    pub fn directory(&self, inode: InodeId) -> InodeId {
        if self.range.is_some() { self.parent } else { inode }
    }
}

/// What only a regular file has. Encoded in the same way.
#[derive(Clone, Debug, PartialEq)]
pub struct FilePart {
    /// Where data is, or will be once it is no longer inline.
    pub layout: Layout,
    /// Version of the inline content; absent once the file is striped.
    pub inline_version: Option<u64>,
    /// Largest inline content, bytes.
    pub inline_limit: u32,
    /// Bytes that it takes on storage; absent: as many as its size.
    pub allocated: Option<u64>,
    /// It never had a name, and may get one.
    pub unnamed: Option<bool>,
    /// The last bytes of inline content, if they are here and not in its row ([`crate::ns::inline`]).
    pub tail: Option<ByteVec>,
}

impl InodeRecord {
    /// An empty directory of root's.
    pub fn root_directory(dir: DirPart, now: Time) -> InodeRecord {
        InodeRecord {
            kind: FileKind::Directory,
            perm: 0o755,
            nlink: 2,
            uid: 0,
            gid: 0,
            size: 0,
            atime: now,
            mtime: now,
            ctime: now,
            btime: now,
            rdev: None,
            dir: Some(dir),
            file: None,
            xattr_bytes: None,
        }
    }

    /// The record's attributes as they cross the wire. A directory's size is the number of its entries: clients that see none need not ask for names.
    pub fn attr(&self, inode: InodeId) -> Attr {
        Attr {
            inode,
            kind: self.kind,
            perm: self.perm,
            nlink: self.nlink,
            uid: self.uid,
            gid: self.gid,
            rdev: self.rdev.unwrap_or(0),
            size: self.dir.as_ref().map_or(self.size, |dir| dir.entries),
            atime: self.atime,
            mtime: self.mtime,
            ctime: self.ctime,
            btime: self.btime,
            allocated: self.file.as_ref().and_then(|file| file.allocated),
            no_xattrs: self.xattr_bytes.is_none(),
            split: self.dir.as_ref().is_some_and(DirPart::is_split).then_some(true),
        }
    }

    /// Something changed. Clients' clocks differ: ctime never goes back.
    pub fn stamp(&mut self, now: Time) {
        self.ctime = self.ctime.max(now);
    }

    /// Content changed: a file's, or a directory's entries.
    pub fn stamp_content(&mut self, now: Time) {
        self.stamp(now);
        self.mtime = self.ctime;
    }

    /// Data was written up to `end`: a file that grows takes as much more. What it takes beyond its size already, it grows
    /// into.
    pub fn grow(&mut self, end: u64) {
        let allocated = self.allocated();
        if end > self.size {
            let more = if allocated < self.size { allocated + (end - self.size) } else { allocated.max(end) };
            self.size = end;
            self.set_allocated(more);
        }
    }

    /// The file is cut, or extended by a hole. What was reserved beyond the end goes.
    pub fn resize(&mut self, size: u64) {
        let allocated = self.allocated();
        self.size = size;
        self.set_allocated(allocated.min(size));
    }

    /// What the file takes on storage is known.
    pub fn set_allocated(&mut self, bytes: u64) {
        let size = self.size;
        if let Some(file) = &mut self.file {
            file.allocated = Some(bytes).filter(|bytes| *bytes != size);
        }
    }

    fn allocated(&self) -> u64 {
        self.file.as_ref().and_then(|file| file.allocated).unwrap_or(self.size)
    }
}

/// A directory entry. One with inode 0 holds a place for others whose names have the same hash, and is not listed.
///
/// Invariant: entries whose names have the same hash stand at consecutive cookies, the first place is never free while
/// a later one is taken, and its entry says that others follow. So one read tells that a name does not exist.
#[derive(Clone, Debug, PartialEq, Encode)]
pub struct EntryRecord {
    /// The name.
    #[n(0)]
    pub name: Name,
    /// The inode.
    #[n(1)]
    pub inode: InodeId,
    /// What it is.
    #[n(2)]
    pub kind: FileKind,
    /// Set in the first of several with the same hash: others may follow.
    #[n(3)]
    pub followed: Option<bool>,
}

/// The same where the name is somebody else's: what is written is not copied first.
#[derive(Encode)]
pub(crate) struct EntryRow<'a> {
    #[n(0)]
    pub(crate) name: &'a Name,
    #[n(1)]
    pub(crate) inode: InodeId,
    #[n(2)]
    pub(crate) kind: FileKind,
    #[n(3)]
    pub(crate) followed: Option<bool>,
}

impl EntryRecord {
    /// Whether a name stands here, not just a place kept.
    pub fn is_taken(&self) -> bool {
        self.inode.0 != 0
    }

    /// Whether others with the same hash may follow.
    pub fn is_followed(&self) -> bool {
        self.followed == Some(true)
    }
}

/// A client's session.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct SessionRecord {
    /// The client's name for people.
    #[n(0)]
    pub client: String,
    /// Its client caches under delegations, so that it has to confirm them after a restart of the server.
    #[n(1)]
    pub caches: Option<bool>,
    /// Its client opened it at another server, from which a slot came with what it has open and locked there. It is asked for nothing
    /// here, and ends unless its client takes that over ([`crate::ns::adopt`]).
    #[n(2)]
    pub guest: Option<bool>,
}

/// A slot that came from another server, or is about to.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct TakenRecord {
    /// The attempt that brought it ([`nyala_wire::map::SlotMove::attempt`]).
    #[n(0)]
    pub attempt: u64,
    /// The version of a cluster map that shows that attempt.
    #[n(1)]
    pub map: MapVersion,
    /// Number of the next message of rows.
    #[n(2)]
    pub next: u64,
    /// Inodes among its rows, until they count as this server's.
    #[n(3)]
    pub inodes: u64,
    /// All of it is here.
    #[n(4)]
    pub whole: bool,
    /// It has been served here.
    #[n(5)]
    pub served: bool,
    /// Storage may have more of some of its files than their sizes say.
    #[n(6)]
    pub doubtful: bool,
}

/// The kept reply to a changing request.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct ReplyRecord {
    /// Sequence number of the request.
    #[n(0)]
    pub sequence: u64,
    /// The encoded reply.
    #[n(1)]
    pub body: ByteVec,
}

/// Chunk files of a file that is gone.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct GarbageRecord {
    /// Where they are.
    #[n(0)]
    pub targets: Vec<TargetId>,
    /// The numbers are those of mirror groups.
    #[n(1)]
    pub mirrored: Option<bool>,
    /// How often the data had been moved ([`Layout::moves`]); absent: never.
    #[n(2)]
    pub moves: Option<u32>,
}

impl GarbageRecord {
    /// Of a layout's chunk files.
    pub fn of(layout: Layout) -> GarbageRecord {
        let mirrored = (layout.pattern == Pattern::Mirror).then_some(true);
        GarbageRecord { targets: layout.targets, mirrored, moves: (layout.moves > 0).then_some(layout.moves) }
    }

    /// The layout whose chunk files they are; of the chunk size it knows nothing.
    pub fn layout(&self) -> Layout {
        let pattern = if self.mirrored == Some(true) { Pattern::Mirror } else { Pattern::Raid0 };
        Layout { pattern, chunk_bytes: 1, targets: self.targets.clone(), moves: self.moves.unwrap_or(0), code: None }
    }
}

/// A truncation that storage has not yet confirmed.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct TruncateRecord {
    /// Where data is.
    #[n(0)]
    pub layout: Layout,
    /// The new size.
    #[n(1)]
    pub size: u64,
    /// Whose request it is: with its sequence number, what tells it from an earlier truncation that its client was told is over.
    #[n(2)]
    pub session: Option<SessionId>,
    /// That number.
    #[n(3)]
    pub sequence: Option<u64>,
}

/// What a participant promised to do if the coordinator says so.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct PreparedRecord {
    /// The parts, and what was answered about each.
    #[n(0)]
    pub parts: Vec<(TxPart, PartResult)>,
    /// Last stage received.
    #[n(1)]
    pub stage: u8,
    /// Time stamp for what changes.
    #[n(2)]
    pub now: Time,
}

/// A transaction that is decided but not confirmed by all.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct CommittedRecord {
    /// Who has not confirmed yet.
    #[n(0)]
    pub participants: Vec<TargetId>,
    /// The client's request that it is for.
    #[n(1)]
    pub session: SessionId,
    /// That request's sequence number.
    #[n(2)]
    pub sequence: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::Pattern;

    fn file() -> InodeRecord {
        let zero = Time::default();
        let layout = Layout {
            pattern: Pattern::Raid0,
            chunk_bytes: 1 << 16,
            targets: vec![TargetId(101)],
            moves: 0,
            code: None,
        };
        let part =
            FilePart { layout, inline_version: None, inline_limit: 0, allocated: None, unnamed: None, tail: None };
        InodeRecord {
            kind: FileKind::File,
            perm: 0o644,
            nlink: 1,
            uid: 0,
            gid: 0,
            size: 0,
            atime: zero,
            mtime: zero,
            ctime: zero,
            btime: zero,
            rdev: None,
            dir: None,
            file: Some(part),
            xattr_bytes: None,
        }
    }

    #[test]
    fn what_a_file_takes_follows_its_size() {
        let mut record = file();
        let mut step = |change: &dyn Fn(&mut InodeRecord), expected: (u64, Option<u64>)| {
            change(&mut record);
            assert_eq!((record.size, record.attr(InodeId(2)).allocated), expected);
        };
        step(&|r| r.grow(100), (100, None));
        step(&|r| r.grow(50), (100, None));
        step(&|r| r.resize(1000), (1000, Some(100)));
        step(&|r| r.grow(1010), (1010, Some(110)));
        step(&|r| r.resize(500), (500, Some(110)));
        step(&|r| r.resize(90), (90, None));
        step(&|r| r.set_allocated(4096), (90, Some(4096)));
        step(&|r| r.grow(4000), (4000, Some(4096)));
        step(&|r| r.grow(5000), (5000, None));
        step(&|r| r.set_allocated(8192), (5000, Some(8192)));
        step(&|r| r.resize(6000), (6000, None));
        step(&|r| r.set_allocated(0), (6000, Some(0)));
        step(&|r| r.grow(u64::MAX >> 1), (u64::MAX >> 1, Some((u64::MAX >> 1) - 6000)));
    }
}
