// SPDX-License-Identifier: Apache-2.0

//! What is asked of a drive, and what it says.

use crate::ids::ObjectId;
use bytes::Bytes;
use nyala_kv::Batch;

/// Something for one drive to do. Effects that are handed out together may be done in any order.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Reads `len` bytes of the drive's file of an object; behind its end, and where there is no file, are zeros.
    Read {
        /// The member.
        member: usize,
        /// Whose file.
        object: ObjectId,
        /// From here, bytes.
        offset: u64,
        /// So many bytes.
        len: usize,
        /// Its reply is waited for; else it may be [`Reply::Late`].
        patient: bool,
    },
    /// Writes to the drive's file of an object, which is made if it is missing, and then changes the drive's table as an [`Effect::Apply`] without
    /// `sync`. Both survive the death of the process.
    Write {
        /// The member.
        member: usize,
        /// Whose file.
        object: ObjectId,
        /// At this offset, bytes.
        offset: u64,
        /// The bytes.
        bytes: Bytes,
        /// What changes in the table once they are written; it may be empty.
        then: Batch,
    },
    /// Frees space of the drive's file of an object from `offset` on: `len` bytes, or all that follows; from 0 on without a length, the file.
    Discard {
        /// The member.
        member: usize,
        /// Whose file.
        object: ObjectId,
        /// From here, bytes.
        offset: u64,
        /// So many bytes; `None` to the end.
        len: Option<u64>,
    },
    /// Changes the drive's table, all or nothing, after all changes before. It survives the death of the process; with `sync`, of the machine.
    Apply {
        /// The member.
        member: usize,
        /// The changes.
        batch: Batch,
        /// Wait for the disk, for this and all changes before.
        sync: bool,
    },
    /// Looks keys up in the drive's table.
    Get {
        /// The member.
        member: usize,
        /// The key.
        key: Vec<u8>,
    },
    /// Lists the drive's table from `from` up to before `to`, at most `limit` pairs.
    Scan {
        /// The member.
        member: usize,
        /// First key.
        from: Vec<u8>,
        /// Behind the last key.
        to: Vec<u8>,
        /// Most pairs.
        limit: usize,
    },
    /// Makes all writes and discards so far durable, and all files' names.
    SyncFiles {
        /// The member.
        member: usize,
    },
}

impl Effect {
    /// The member that is asked.
    pub fn member(&self) -> usize {
        match self {
            Effect::Read { member, .. }
            | Effect::Write { member, .. }
            | Effect::Discard { member, .. }
            | Effect::Apply { member, .. }
            | Effect::Get { member, .. }
            | Effect::Scan { member, .. }
            | Effect::SyncFiles { member } => *member,
        }
    }

    /// Whether nothing changes by it, so that a late reply can be done without.
    pub fn is_read(&self) -> bool {
        matches!(self, Effect::Read { .. } | Effect::Get { .. } | Effect::Scan { .. })
    }
}

/// What came of an effect.
#[derive(Clone, Debug)]
pub enum Reply {
    /// It is done.
    Done,
    /// What was read, exactly as many bytes as were asked for.
    Bytes(Vec<u8>),
    /// The value of a key, if it has one.
    Value(Option<Vec<u8>>),
    /// Keys and values, in order.
    Pairs(Vec<(Vec<u8>, Vec<u8>)>),
    /// A read of a file ([`Effect::Read`]) that takes too long; whether it will ever answer is not known.
    Late,
    /// The drive could not.
    Failed,
}
