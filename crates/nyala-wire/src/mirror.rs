// SPDX-License-Identifier: Apache-2.0

//! Requests to mirror groups, and what members of one send to each other (`docs/replication.md`).
//!
//! A request to a group is a request to storage with a [`GroupHeader`] in front of its body; the frame's group epoch is the
//! one that the sender knows. The target in the inner request is not looked at.

use crate::error::{ErrorCode, WireError};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// In front of a request to a mirror group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct GroupHeader {
    /// Group.
    pub group: U16,
    /// Message type of the request behind this header: `STORAGE`, `STORAGE_WRITE` or `STORAGE_READ`.
    pub kind: U16,
    /// 1: the receiver, a member that is not the primary, passes the request on to the primary, which the sender does not
    /// reach; 0: it does not.
    pub pass_on: U32,
    /// The sender, for telling requests that are sent again: random, for its life.
    pub client: U64,
    /// The sender's number of this request; the same when it is sent again.
    pub number: U64,
    /// The lowest number whose answer the sender still waits for.
    pub lowest: U64,
}

/// In front of a message between members. Behind it: the envelope (CBOR), then what the kind says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ReplicaHeader {
    /// Group.
    pub group: U16,
    /// Sender.
    pub from: U16,
    /// Receiver.
    pub to: U16,
    /// What follows the envelope: message type of a change's request, or one of [`replica_kind`].
    pub kind: U16,
    /// Length of the envelope, bytes.
    pub envelope: U32,
}

/// Kinds of messages between members that no client's request has.
pub mod replica_kind {
    /// Nothing follows.
    pub const NOTHING: u16 = 0;
    /// What a region holds (CBOR); the payload is the data of its blocks that are there.
    pub const REGION: u16 = 1;
    /// No envelope: a `StorageRequest` with `Repair`; the reply is the range as for [`REGION`].
    pub const FETCH: u16 = 2;
}

fn cut_off() -> WireError {
    ErrorCode::BAD_MESSAGE.with("the header of a mirror group's message is cut off")
}

impl GroupHeader {
    /// The header and what is behind it.
    pub fn split(body: &[u8]) -> Result<(GroupHeader, &[u8]), WireError> {
        GroupHeader::read_from_prefix(body).map_err(|_| cut_off())
    }

    /// The body of a request: this header and the inner body.
    pub fn wrap(&self, inner: &[u8]) -> Vec<u8> {
        let mut body = Vec::with_capacity(size_of::<GroupHeader>() + inner.len());
        body.extend_from_slice(self.as_bytes());
        body.extend_from_slice(inner);
        body
    }
}

impl ReplicaHeader {
    /// The header, the envelope and what is behind it.
    pub fn split(body: &[u8]) -> Result<(ReplicaHeader, &[u8], &[u8]), WireError> {
        let (header, rest) = ReplicaHeader::read_from_prefix(body).map_err(|_| cut_off())?;
        let (envelope, rest) = rest.split_at_checked(header.envelope.get() as usize).ok_or_else(cut_off)?;
        Ok((header, envelope, rest))
    }

    /// The body of a message.
    pub fn wrap(&self, envelope: &[u8], rest: &[u8]) -> Vec<u8> {
        let mut body = Vec::with_capacity(size_of::<ReplicaHeader>() + envelope.len() + rest.len());
        body.extend_from_slice(self.as_bytes());
        body.extend_from_slice(envelope);
        body.extend_from_slice(rest);
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_apart_as_they_were_put_together() {
        let header = GroupHeader {
            group: 7.into(),
            kind: 0x201.into(),
            pass_on: 0.into(),
            client: 1.into(),
            number: 2.into(),
            lowest: 2.into(),
        };
        let body = header.wrap(b"inner");
        assert_eq!(GroupHeader::split(&body).unwrap(), (header, &b"inner"[..]));
        assert_eq!((size_of::<GroupHeader>(), size_of::<ReplicaHeader>()), (32, 12));
        assert!(GroupHeader::split(&body[..31]).is_err());
        let header =
            ReplicaHeader { group: 7.into(), from: 1.into(), to: 2.into(), kind: 0.into(), envelope: 3.into() };
        let body = header.wrap(b"env", b"rest");
        assert_eq!(ReplicaHeader::split(&body).unwrap(), (header, &b"env"[..], &b"rest"[..]));
        assert!(ReplicaHeader::split(&body[..14]).is_err());
    }
}
