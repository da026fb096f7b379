// SPDX-License-Identifier: Apache-2.0

//! The replies.

use super::delegation::Revocation;
use super::lock::{FileLock, LockCheck};
use crate::attr::Attr;
use crate::cbor::Plain;
use crate::error::WireError;
use crate::file_kind::FileKind;
use crate::fragments::Fragment;
use crate::ids::{InodeId, MapVersion, TargetId};
use crate::name::Name;
use crate::storage_grants::StorageGrant;
use crate::stripe::{Layout, StripePattern};
use bytes::Bytes;
use minicbor::bytes::ByteVec;
use minicbor::encode::Write;
use minicbor::{Decode, Encode, Encoder, encode};

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
#[derive(Clone, Debug, PartialEq, Decode)]
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
    /// Storage may have bytes behind the file's end, or beside its inline content, that nobody committed: whoever is about to
    /// leave a gap, or moves the content, and holds others off, cuts chunk files first.
    #[n(4)]
    pub leftovers: Option<bool>,
}

impl<C> Encode<C> for FileReply {
    /// As derived code does it, in one piece.
    fn encode<W: Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
        const ITEMS: usize = Attr::PLAIN_ITEMS + Layout::PLAIN_ITEMS + 6;
        let mut plain = Plain::<{ Plain::<0>::max_bytes(ITEMS) }>::default();
        plain.array(if self.leftovers.is_some() { 5 } else { 4 });
        self.attr.write(&mut plain);
        self.layout.write(&mut plain, e)?;
        match &self.inline {
            None => {
                plain.null();
            }
            Some(InlineContent { version, data }) => {
                plain.array(2).number(*version).bytes(data.len());
                if !data.is_empty() {
                    plain.flush(e)?;
                    e.writer_mut().write_all(data).map_err(encode::Error::write)?;
                }
            }
        }
        plain.number(self.inline_limit);
        if let Some(leftovers) = self.leftovers {
            plain.flag(leftovers);
        }
        plain.write(e)
    }
}

/// Inline content and its version.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct InlineContent {
    /// Grows with every change.
    #[n(0)]
    pub version: u64,
    /// The content.
    #[n(1)]
    #[cbor(with = "super::content")]
    pub data: Bytes,
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
    /// The fragment ends here: the directory goes on with this cookie, in another one.
    #[n(2)]
    pub next: Option<u64>,
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
    /// Of a directory that is split: what it consists of besides itself.
    #[n(6)]
    pub fragments: Option<Vec<Fragment>>,
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
    /// The server's run. Delegations of an earlier one are to be let go (what was written under them committed), which the
    /// next `DelegationPoll` confirms; other clients wait for that.
    #[n(3)]
    pub boot: u64,
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
    /// What there is to know to use a file.
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
    /// Delegations to let go, and locks to be looked after.
    #[n(14)]
    Revocations {
        /// The server's run.
        #[n(0)]
        boot: u64,
        /// Which delegations.
        #[n(1)]
        list: Vec<Revocation>,
        /// Which locks, at most [`super::MAX_LOCK_CHECKS`].
        #[n(2)]
        #[cbor(default)]
        checks: Vec<LockCheck>,
    },
    /// The name does not exist; said instead of ENOENT to a `Lookup` that wants delegations, as it may come with one.
    #[n(15)]
    NoEntry,
    /// The lock in the way, if there is one.
    #[n(16)]
    Lock(#[n(0)] Option<FileLock>),
    /// What became of each content, in the order of the request.
    #[n(17)]
    Inlines(#[n(0)] Vec<PutOutcome>),
    /// A position of the server's log.
    #[n(18)]
    Position(#[n(0)] u64),
    /// The sequence numbers of replayed changes that could not be done again.
    #[n(19)]
    Replayed {
        /// In ascending order.
        #[n(0)]
        lost: Vec<u64>,
    },
    /// Of what a split directory consists besides itself, in the order of their ranges; none: it is not split.
    #[n(20)]
    Fragments(#[n(0)] Vec<Fragment>),
    /// To `StorageGrant`.
    #[n(21)]
    StorageGrant(#[n(0)] StorageGrant),
    /// Where a file's data could be.
    #[n(22)]
    Layout(#[n(0)] Layout),
}

/// What became of one content of many.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum PutOutcome {
    /// It was taken.
    #[n(0)]
    Taken {
        /// Attributes afterwards.
        #[n(0)]
        attr: Attr,
        /// The content's version now.
        #[n(1)]
        version: u64,
    },
    /// It was not.
    #[n(1)]
    Refused(#[n(0)] WireError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec;
    use crate::stripe::Pattern;
    use crate::time::Time;
    use proptest::prelude::*;

    /// The same with derived code.
    #[derive(Encode)]
    struct Derived<'a> {
        #[n(0)]
        attr: &'a Attr,
        #[n(1)]
        layout: &'a Layout,
        #[n(2)]
        inline: &'a Option<InlineContent>,
        #[n(3)]
        inline_limit: u32,
        #[n(4)]
        leftovers: Option<bool>,
    }

    proptest! {
        #[test]
        fn a_file_is_the_same_bytes_as_with_derived_code(
            numbers: [u32; 8],
            shift in 0..32_u32,
            targets in proptest::collection::vec(any::<u16>(), 1..20),
            content in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..400)),
            leftovers: Option<bool>,
        ) {
            let [a, b, c, d, e, f, g, h] = numbers.map(|number| number >> shift);
            let time = |seconds: u32| Time { seconds: i64::from(seconds) - i64::from(h), nanos: g };
            let attr = Attr {
                inode: InodeId(u64::from(a) << shift),
                kind: FileKind::File,
                perm: b as u16,
                nlink: c,
                uid: d,
                gid: e,
                rdev: f,
                size: u64::from(g) << shift,
                atime: time(a),
                mtime: time(b),
                ctime: time(c),
                btime: time(d),
                allocated: (a % 2 == 0).then_some(u64::from(b)),
                no_xattrs: c % 2 == 0,
                split: (d % 2 == 0).then_some(e % 2 == 0),
            };
            let targets = targets.into_iter().map(TargetId).collect();
            let layout = Layout { pattern: Pattern::Mirror, chunk_bytes: a.max(1), targets, moves: b, code: None };
            let inline = content.map(|data| InlineContent { version: u64::from(f), data: data.into() });
            let file = FileReply { attr, layout, inline, inline_limit: g, leftovers };
            let FileReply { attr, layout, inline, inline_limit, leftovers } = &file;
            let derived = Derived { attr, layout, inline, inline_limit: *inline_limit, leftovers: *leftovers };
            let bytes = codec::encode(&file);
            prop_assert_eq!(&bytes, &codec::encode(&derived));
            prop_assert_eq!(codec::decode::<FileReply>(&bytes).unwrap(), file);
        }
    }
}
