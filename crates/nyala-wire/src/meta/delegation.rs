// SPDX-License-Identifier: Apache-2.0

//! Delegations: what a client may keep, and how it is told to let go. `docs/protocol.md` has the rules.
//!
//! An inode's delegation covers its attributes, extended attributes and content; a directory's also its entries, present and
//! missing, and its listing. Servers never speak first: a client keeps one [`super::MetaOp::DelegationPoll`] at each server,
//! and revocations are its replies. Replies overtake each other, so grants and revocations carry numbers of one
//! counter: a grant with a lower number than a revocation of the same inode is void.

use crate::attr::Attr;
use crate::codec;
use crate::error::{ErrorCode, WireError};
use crate::ids::InodeId;
use minicbor::{Decode, Decoder, Encode, decode};
use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// What a client may do with an inode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode)]
#[cbor(index_only)]
pub enum DelegationMode {
    /// Keep nothing: every answer is true only when it is given.
    #[default]
    #[n(0)]
    None,
    /// Keep attributes, entries and content, and use them without asking. Many clients may.
    #[n(1)]
    Shared,
    /// Read and write content, keep nothing: what is written is on storage and committed before the write returns. Many
    /// clients may, while none has `Shared` or `Exclusive`.
    #[n(2)]
    Uncached,
    /// Keep everything, written data and the new size included. One client, while nobody has anything else.
    #[n(3)]
    Exclusive,
}

impl<'b, C> Decode<'b, C> for DelegationMode {
    /// Not derived: see [`crate::FileKind`].
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        Ok(match d.u8()? {
            0 => DelegationMode::None,
            1 => DelegationMode::Shared,
            2 => DelegationMode::Uncached,
            3 => DelegationMode::Exclusive,
            _ => return Err(decode::Error::message("unknown delegation mode")),
        })
    }
}

impl DelegationMode {
    /// Whether two clients may have these at once.
    pub fn agrees(self, other: DelegationMode) -> bool {
        use DelegationMode::{None, Shared, Uncached};
        matches!((self, other), (None, _) | (_, None) | (Shared, Shared) | (Uncached, Uncached))
    }

    fn from_bits(bits: u8) -> DelegationMode {
        match bits & 3 {
            0 => DelegationMode::None,
            1 => DelegationMode::Shared,
            2 => DelegationMode::Uncached,
            _ => DelegationMode::Exclusive,
        }
    }
}

/// Delegations that a request asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(transparent)]
pub struct Want(#[n(0)] pub u8);

impl Want {
    /// None: the client keeps nothing.
    pub const NOTHING: Want = Want(0);
    /// Whatever can be had at once.
    pub const DELEGATIONS: Want = Want(1);
    /// The file of the request is going to be written.
    pub const WRITE: Want = Want(2);
    /// [`DelegationMode::Uncached`] is of no use.
    pub const CACHED: Want = Want(4);
    /// The client cannot let go of the whole file before this request is answered: its kernel holds pages locked for it, or
    /// it is a commit, for which the return of a delegation waits.
    pub const PINNED: Want = Want(8);
    /// A new file that comes with an exclusive delegation is open under that: the server does not note that it is open.
    pub const IMPLICIT_OPEN: Want = Want(16);
    /// The file that is looked up is likely to be opened next: its content, if its delegation can be had at once.
    pub const CONTENT: Want = Want(32);

    /// Whether all bits of `other` are set.
    pub fn has(self, other: Want) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both.
    pub const fn and(self, other: Want) -> Want {
        Want(self.0 | other.0)
    }
}

/// Delegations that a reply gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// On every inode whose attributes the reply holds.
    pub inodes: DelegationMode,
    /// `Shared` on the directory that the request names ([`super::MetaOp::routing_inode`]).
    pub dir: bool,
    /// Number of this grant.
    pub seq: u64,
}

/// What the body of a successful reply to a META request begins with; the CBOR reply follows, and then what it says of directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct AnswerHead {
    /// Number of the grants.
    pub seq: U64,
    /// Bits 0 and 1: [`DelegationMode`] of the inodes; bit 2: the directory, shared.
    pub grants: u8,
    /// Zero.
    pub reserved: u8,
    /// Bytes that follow the reply: a CBOR list of [`Attr`], of directories as they are now that the client has delegations on: those that the request
    /// changed, or the one that a look-up brought the delegation on. They are no part of a kept reply.
    pub dirs: U16,
    /// Zero.
    pub reserved_too: [u8; 4],
}

/// Bytes of an [`AnswerHead`].
pub const ANSWER_HEAD_BYTES: usize = size_of::<AnswerHead>();

impl Grants {
    /// The head of a reply's body.
    pub fn head(self) -> AnswerHead {
        let grants = self.inodes as u8 | u8::from(self.dir) << 2;
        AnswerHead { seq: self.seq.into(), grants, reserved: 0, dirs: 0.into(), reserved_too: [0; 4] }
    }

    /// [`Grants::head`] as bytes.
    pub fn head_bytes(self) -> [u8; ANSWER_HEAD_BYTES] {
        zerocopy::transmute!(self.head())
    }

    /// Takes a reply's body apart: what it grants, and the CBOR reply.
    pub fn split(body: &[u8]) -> Result<(Grants, &[u8]), WireError> {
        Grants::split_all(body).map(|(grants, reply, _)| (grants, reply))
    }

    /// The same, and the encoded attributes of directories, often none.
    pub fn split_all(body: &[u8]) -> Result<(Grants, &[u8], &[u8]), WireError> {
        let bad = |what: &str| ErrorCode::BAD_MESSAGE.with(what.to_owned());
        let (head, rest) = AnswerHead::read_from_prefix(body).map_err(|_| bad("the head of a reply is cut off"))?;
        if head.grants & !7 != 0 || head.reserved != 0 || head.reserved_too != [0; 4] {
            return Err(bad("reserved bits in the head of a reply"));
        }
        let grants =
            Grants { inodes: DelegationMode::from_bits(head.grants), dir: head.grants & 4 != 0, seq: head.seq.get() };
        let reply = rest.len().checked_sub(head.dirs.get().into());
        let (reply, dirs) = rest.split_at(reply.ok_or_else(|| bad("a reply that is shorter than its head says"))?);
        Ok((grants, reply, dirs))
    }
}

/// Adds attributes of directories, at most two, to a reply's body, whose head says nothing of any yet.
pub fn add_dirs(body: &mut Vec<u8>, dirs: &[Attr]) {
    let Ok((head, reply)) = AnswerHead::read_from_prefix(body) else { return };
    let before = ANSWER_HEAD_BYTES + reply.len();
    codec::encode_into(&dirs, body);
    match u16::try_from(body.len() - before) {
        Ok(bytes) => {
            let head = AnswerHead { dirs: bytes.into(), ..head };
            body[..ANSWER_HEAD_BYTES].copy_from_slice(head.as_bytes());
        }
        Err(_) => body.truncate(before),
    }
}

/// Let go of a delegation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Revocation {
    /// The inode.
    #[n(0)]
    pub inode: InodeId,
    /// What may be kept: `None`, or `Shared` by a holder of `Exclusive` once all it has written is committed.
    #[n(1)]
    pub keep: DelegationMode,
    /// Number: void for grants with a higher one.
    #[n(2)]
    pub seq: u64,
}

/// A delegation let go, asked or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Returned {
    /// The inode.
    #[n(0)]
    pub inode: InodeId,
    /// What is kept.
    #[n(1)]
    pub keep: DelegationMode,
    /// Number of the revocation, or of the last grant seen: newer grants stay.
    #[n(2)]
    pub seq: u64,
    /// The client opened the file under the delegation without saying so, and still has it open: it now counts as opened by
    /// this session.
    #[n(3)]
    pub open: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        for inodes in
            [DelegationMode::None, DelegationMode::Shared, DelegationMode::Uncached, DelegationMode::Exclusive]
        {
            for dir in [false, true] {
                let grants = Grants { inodes, dir, seq: 1 << 40 };
                let mut body = grants.head().as_bytes().to_vec();
                body.push(9);
                assert_eq!(Grants::split(&body).unwrap(), (grants, &[9][..]));
            }
        }
        assert!(Grants::split(&[0; 15]).is_err());
        assert!(Grants::split(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 9]).is_err(), "less than it says");
        assert!(Grants::split(&[0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]).is_err());
    }

    #[test]
    fn directories_follow_the_reply() {
        let time = crate::Time { seconds: i64::MIN, nanos: 999_999_999 };
        let attr = Attr {
            inode: InodeId(u64::MAX),
            kind: crate::FileKind::Directory,
            perm: 0o7777,
            nlink: u32::MAX,
            uid: u32::MAX,
            gid: u32::MAX,
            rdev: 0,
            size: u64::MAX,
            atime: time,
            mtime: time,
            ctime: time,
            btime: time,
            allocated: Some(u64::MAX),
            no_xattrs: true,
            split: None,
        };
        let grants = Grants { inodes: DelegationMode::Exclusive, dir: true, seq: 7 };
        let mut body = grants.head().as_bytes().to_vec();
        body.extend([1, 2, 3]);
        let dirs = [attr.clone(), attr];
        add_dirs(&mut body, &dirs);
        let (again, reply, rest) = Grants::split_all(&body).unwrap();
        assert_eq!((again, reply, codec::decode::<Vec<Attr>>(rest).unwrap()), (grants, &[1, 2, 3][..], dirs.to_vec()));
    }

    #[test]
    fn who_may_have_what_at_once() {
        use DelegationMode::{Exclusive, None, Shared, Uncached};
        assert!(Shared.agrees(Shared) && Uncached.agrees(Uncached) && Exclusive.agrees(None));
        assert!(!Shared.agrees(Uncached) && !Exclusive.agrees(Exclusive) && !Exclusive.agrees(Shared));
    }
}
