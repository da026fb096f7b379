// SPDX-License-Identifier: Apache-2.0

//! What clients ask of a mirror group, and what members send each other, taken apart and checked.
//!
//! **Failure model.** Senders may be wrong or hostile, and data arrives damaged: lengths and checksums are compared here, before
//! anything is ordered. What passes can fail at a member only because of that member.

use crate::chunk_store::{ChunkWorker, MAX_CHUNK_FILE_BYTES, Region, WriteOp};
use crate::service::request::{self, ReadOp};
use bytes::Bytes;
use nyala_replica::{Body, Change, FENCES, Span};
use nyala_wire::mirror::replica_kind;
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId, MAX_IO_BYTES, Stamp, StorageOp, StorageRequest};
use nyala_wire::{ErrorCode, SessionId, WireError, codec, message_type};
use std::sync::Arc;

/// A change as it came: what to do, and the bytes in which it is sent on.
pub(super) struct ChangeRequest {
    pub kind: u16,
    pub body: Bytes,
    pub data: Bytes,
    /// For whom; 0 for a server's own change.
    pub session: SessionId,
    pub op: ChangeOp,
}

/// A write as one of the server's own: the session was looked at when the request came in, and what was let in is done on all
/// members.
pub(super) fn own(write: &WriteOp) -> WriteOp {
    WriteOp { session: ChunkWorker::OWN, stamp: Stamp::default(), ..write.clone() }
}

/// What a change does.
pub(super) enum ChangeOp {
    Write(WriteOp),
    Other(ChunkFileId, StorageOp),
}

impl ChangeOp {
    /// Whether it is bound to the session for which it is done, so that a fence must refuse it.
    pub fn is_bound(&self) -> bool {
        match self {
            ChangeOp::Write(_) => true,
            ChangeOp::Other(_, op) => op.is_change(),
        }
    }
}

/// What a buffer of the member's holds.
#[derive(Clone)]
pub(super) enum Payload {
    Change(Arc<ChangeRequest>),
    Region(Region),
}

/// What came beside a message.
pub(super) enum Sent {
    Nothing,
    Change(ChangeRequest),
    Region(Region),
}

/// What a read wants.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReadKind {
    Bulk { offset: u64, len: u32, verify: bool },
    Stat,
    Seek { offset: u64, hole: bool },
}

/// What a client wants of a group.
pub(super) enum Asked {
    Change(Change, ChangeRequest),
    Read(ChunkFileId, Span, ReadKind),
    Sync,
}

fn bad(what: &str) -> WireError {
    ErrorCode::BAD_MESSAGE.with(what)
}

fn span(offset: u64, len: u64) -> Result<Span, WireError> {
    let end = offset.checked_add(len).filter(|end| *end <= MAX_CHUNK_FILE_BYTES);
    let end = end.ok_or_else(|| ErrorCode::FILE_TOO_BIG.with("a chunk file cannot be that long"))?;
    Ok(Span { start: offset, end })
}

fn to_the_end(start: u64) -> Span {
    Span { start: start.min(MAX_CHUNK_FILE_BYTES), end: u64::MAX }
}

/// A client's request.
pub(super) fn request(kind: u16, body: Bytes, data: Bytes) -> Result<Asked, WireError> {
    if kind == message_type::STORAGE_READ {
        return read(&body);
    }
    if kind == message_type::STORAGE {
        let StorageRequest { file, op, .. } = codec::decode(&body)?;
        match op {
            StorageOp::Sync => return Ok(Asked::Sync),
            StorageOp::Stat => return Ok(Asked::Read(file, to_the_end(0), ReadKind::Stat)),
            StorageOp::Seek { offset, hole } => {
                return Ok(Asked::Read(file, to_the_end(offset), ReadKind::Seek { offset, hole }));
            }
            _ => {}
        }
    }
    let change = change(kind, body, data)?;
    Ok(Asked::Change(touched(&change.op)?, change))
}

fn read(body: &[u8]) -> Result<Asked, WireError> {
    let (_, ReadOp { file, offset, len, verify }) = request::read(body)?;
    let kind = ReadKind::Bulk { offset, len, verify };
    // Behind the largest chunk file there is nothing, which is no error.
    let span = Span { start: offset, end: offset.saturating_add(len.max(1).into()) };
    Ok(Asked::Read(file, span, kind))
}

/// A change, from a client or from the primary.
fn change(kind: u16, body: Bytes, data: Bytes) -> Result<ChangeRequest, WireError> {
    let (session, op) = match kind {
        message_type::STORAGE_WRITE => {
            let write = write(&body, data.clone())?;
            (write.session, ChangeOp::Write(write))
        }
        message_type::STORAGE => {
            let StorageRequest { file, op, session, .. } = codec::decode(&body)?;
            (session, ChangeOp::Other(file, op))
        }
        other => {
            return Err(ErrorCode::UNKNOWN_MESSAGE.with(format!("a mirror group has no message type {other:#06x}")));
        }
    };
    Ok(ChangeRequest { kind, body, data, session, op })
}

fn write(body: &[u8], data: Bytes) -> Result<WriteOp, WireError> {
    let (_, mut op) = request::write(body, data)?;
    if op.data.is_empty() {
        return Err(bad("a write to a mirror group has at least 1 byte"));
    }
    // What is ordered must not fail on one member only.
    op.compare();
    if !op.compared
        && let Some(piece) = op.first_damaged()
    {
        return Err(ErrorCode::DAMAGED.with(format!("block {piece} of the data arrived damaged; send it again")));
    }
    // Repeated requests are found by their numbers in the group.
    Ok(WriteOp { stamp: Stamp::default(), ..op })
}

/// The bytes that a change touches.
fn touched(op: &ChangeOp) -> Result<Change, WireError> {
    let (ChangeOp::Write(WriteOp { file, .. }) | ChangeOp::Other(file, _)) = op;
    if file.inode == FENCES.inode {
        return Err(bad("no file has inode number 0"));
    }
    let (file, span) = match op {
        ChangeOp::Write(op) => (op.file, span(op.offset, op.data.len() as u64)?),
        ChangeOp::Other(file, op) => (
            *file,
            match op {
                StorageOp::Truncate { len } => to_the_end(*len),
                StorageOp::Punch { offset, len } => {
                    let start = (*offset).min(MAX_CHUNK_FILE_BYTES);
                    Span { start, end: start.saturating_add((*len).max(1)).min(2 * MAX_CHUNK_FILE_BYTES) }
                }
                StorageOp::Allocate { offset, len } => span(*offset, (*len).max(1))?,
                StorageOp::Repair { offset, len, .. } => {
                    if !offset.is_multiple_of(BLOCK_BYTES) || *len > MAX_IO_BYTES || *len == 0 {
                        return Err(bad("a repair has at most 4 MiB and begins with a block"));
                    }
                    span(*offset, (*len).into())?
                }
                StorageOp::Unlink => to_the_end(0),
                _ => return Err(ErrorCode::NOT_SUPPORTED.with("a mirror group does not do that")),
            },
        ),
    };
    Ok(Change { file, span })
}

/// What came beside a message of a member.
pub(super) fn sent(kind: u16, body: &Body, rest: Bytes, data: Bytes) -> Result<Sent, WireError> {
    let sent = match kind {
        replica_kind::NOTHING => Sent::Nothing,
        replica_kind::REGION | replica_kind::REGION_WITH_BAD_BLOCKS => Sent::Region(region(&rest, data)?),
        kind => Sent::Change(change(kind, rest, data)?),
    };
    let fits = match body {
        Body::Forward { .. } => matches!(sent, Sent::Change(_)),
        Body::Copy { .. } => matches!(sent, Sent::Region(_)),
        _ => matches!(sent, Sent::Nothing),
    };
    if fits { Ok(sent) } else { Err(bad("a message between members comes with something else")) }
}

/// A region out of a message.
pub(super) fn region(header: &[u8], data: Bytes) -> Result<Region, WireError> {
    let region = Region { header: codec::decode(header)?, data };
    region.check()?;
    Ok(region)
}
