// SPDX-License-Identifier: Apache-2.0

//! File locks of applications: `flock`, and byte ranges (`fcntl`, open file descriptions).

use crate::ids::InodeId;
use minicbor::{Decode, Decoder, Encode, decode};

/// What is locked how, for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct FileLock {
    /// Whose lock, within the session: a process's open files, or an open file.
    #[n(0)]
    pub owner: u64,
    /// Process that asks, for `F_GETLK`; a number of its host.
    #[n(1)]
    pub pid: u32,
    /// How.
    #[n(2)]
    pub kind: LockKind,
    /// `flock`: its own name space, always the whole file.
    #[n(3)]
    pub flock: bool,
    /// First byte.
    #[n(4)]
    pub start: u64,
    /// Last byte, included; `u64::MAX` is to the end, wherever that is.
    #[n(5)]
    pub end: u64,
}

/// A question to the client that holds a lock: does it still stand? Answered by [`super::MetaOp::LockChecked`], after the
/// client has given up what ended with a close or an exit before it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct LockCheck {
    /// Number of the question at this server.
    #[n(0)]
    pub number: u64,
    /// The file.
    #[n(1)]
    pub inode: InodeId,
    /// Whose lock, as in [`FileLock::owner`].
    #[n(2)]
    pub owner: u64,
    /// As in [`FileLock::flock`].
    #[n(3)]
    pub flock: bool,
}

/// How something is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode)]
#[cbor(index_only)]
pub enum LockKind {
    /// Shared.
    #[n(0)]
    Read,
    /// Exclusive.
    #[n(1)]
    Write,
    /// Not at all: gives locks up.
    #[n(2)]
    Unlock,
}

impl<'b, C> Decode<'b, C> for LockKind {
    /// Not derived: see [`crate::FileKind`].
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        Ok(match d.u8()? {
            0 => LockKind::Read,
            1 => LockKind::Write,
            2 => LockKind::Unlock,
            _ => return Err(decode::Error::message("unknown kind of lock")),
        })
    }
}
