// SPDX-License-Identifier: Apache-2.0

//! Requests to mirror groups, and what members of one send to each other (`docs/replication.md`).
//!
//! A request to a group is a request to storage with a [`GroupHeader`] in front of its body; the frame's group epoch is the
//! one that the sender knows. The target in the inner request is not looked at.

use crate::error::{ErrorCode, WireError};
use std::ops::Range;
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
    /// As [`REGION`], with blocks that the sender could not read. Of its own kind, so that a program that does not know them refuses it.
    pub const REGION_WITH_BAD_BLOCKS: u16 = 3;
}

/// In front of each message of a bundle (`STORAGE_REPLICAS`): its body follows, its payload is that much of the frame's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct BundledHeader {
    /// Length of the body, bytes.
    pub body: U32,
    /// Length of the payload, bytes.
    pub payload: U32,
}

/// Most messages of a bundle.
pub const MAX_BUNDLED: usize = 64;

/// The body of a bundle, from the messages' bodies and the lengths of their payloads.
pub fn bundle(messages: &[(Vec<u8>, usize)]) -> Vec<u8> {
    let len = messages.iter().map(|(body, _)| size_of::<BundledHeader>() + body.len()).sum();
    let mut bundle = Vec::with_capacity(len);
    for (body, payload) in messages {
        let header = BundledHeader { body: (body.len() as u32).into(), payload: (*payload as u32).into() };
        bundle.extend_from_slice(header.as_bytes());
        bundle.extend_from_slice(body);
    }
    bundle
}

/// A message of a bundle: its body, and where its payload is in the frame's.
pub type Bundled<'a> = (&'a [u8], Range<usize>);

/// The messages of a bundle. All of the frame's payload belongs to one of them.
pub fn unbundle(mut bundle: &[u8], payload: usize) -> Result<Vec<Bundled<'_>>, WireError> {
    let (mut messages, mut used) = (Vec::new(), 0_usize);
    while !bundle.is_empty() {
        if messages.len() == MAX_BUNDLED {
            return Err(ErrorCode::BAD_MESSAGE.with(format!("a bundle has at most {MAX_BUNDLED} messages")));
        }
        let (header, rest) = BundledHeader::read_from_prefix(bundle).map_err(|_| cut_off())?;
        let (body, rest) = rest.split_at_checked(header.body.get() as usize).ok_or_else(cut_off)?;
        let end = used.checked_add(header.payload.get() as usize).filter(|end| *end <= payload);
        let end = end.ok_or_else(|| ErrorCode::BAD_MESSAGE.with("a message of a bundle has more payload than came"))?;
        messages.push((body, used..end));
        (used, bundle) = (end, rest);
    }
    if used != payload || messages.is_empty() {
        return Err(ErrorCode::BAD_MESSAGE.with("a bundle has payload that is no message's, or no message"));
    }
    Ok(messages)
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
        self.wrap_into(envelope, rest, &mut body);
        body
    }

    /// The same at the end of `body`.
    pub fn wrap_into(&self, envelope: &[u8], rest: &[u8], body: &mut Vec<u8>) {
        body.extend_from_slice(self.as_bytes());
        body.extend_from_slice(envelope);
        body.extend_from_slice(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_comes_apart_as_it_was_put_together_or_not_at_all() {
        let messages = [(b"one".to_vec(), 4096), (Vec::new(), 0), (b"three".to_vec(), 5)];
        let bytes = bundle(&messages);
        let found = unbundle(&bytes, 4101).unwrap();
        assert_eq!(found, [(&b"one"[..], 0..4096), (b"", 4096..4096), (b"three", 4096..4101)]);
        assert_eq!(&bytes[..11], b"\x03\0\0\0\0\x10\0\0one");
        assert!(unbundle(&bytes, 4100).is_err() && unbundle(&bytes, 4102).is_err() && unbundle(&[], 0).is_err());
        assert!((0..bytes.len()).all(|len| unbundle(&bytes[..len], 4101).is_err()));
        let most = vec![(Vec::new(), 0); MAX_BUNDLED + 1];
        assert!(unbundle(&bundle(&most), 0).is_err() && unbundle(&bundle(&most[1..]), 0).is_ok());
    }

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
