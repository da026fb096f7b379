// SPDX-License-Identifier: Apache-2.0

//! Frames, and the bodies of all messages that `nyala-wire` defines.

use nyala_wire::check::{ScanReply, ScanRequest};
use nyala_wire::drive::{DriveReply, DriveRequest};
use nyala_wire::fences::{FencesReply, FencesRequest};
use nyala_wire::frame::{HEADER_BYTES, Header, MAX_BODY, MAX_PAYLOAD};
use nyala_wire::locate::{LocateReply, LocateRequest};
use nyala_wire::meta::{EntryInfo, Grants, MetaReply, MetaRequest};
use nyala_wire::meta_tx::{TxReply, TxRequest};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest, ServiceStats};
use nyala_wire::mirror::{GroupHeader, ReplicaHeader};
use nyala_wire::raid::{RaidRequest, RaidState};
use nyala_wire::scrub::{ScrubRequest, ScrubState};
use nyala_wire::storage::{
    BLOCK_BYTES, MAX_IO_BYTES, ReadHeader, ReadReplyHeader, StorageReply, StorageRequest, WriteHeader,
    WriteReplyHeader, block_pieces, blocks_touched, decode_bulk,
};
use nyala_wire::subtree_proofs::{InodeProof, Proven};
use nyala_wire::trace::{TraceReply, TraceRequest};
use nyala_wire::{Attr, ClusterId, InodeId, StripePattern, TargetId, WireError};
use nyala_wire::{checksum::crc32c, fuzzing::round_trip, map::ClusterMap, relay::RelayRequest};
use std::fmt::Display;
use std::str::FromStr;

/// A frame's header, and the checksum of the body behind it.
pub fn frame(bytes: &[u8]) -> bool {
    let (head, body) = bytes.split_at(bytes.len().min(HEADER_BYTES));
    let mut header = [0; HEADER_BYTES];
    header[..head.len()].copy_from_slice(head);
    let mut mended = header;
    mended[..6].copy_from_slice(b"NYLA\x01\x00");
    let crc = crc32c(&mended[..HEADER_BYTES - 4]);
    mended[HEADER_BYTES - 4..].copy_from_slice(&crc.to_le_bytes());
    [header, mended].iter().any(|bytes| {
        Header::decode(bytes).is_ok_and(|header| {
            assert!(header.body_len as usize <= MAX_BODY && header.payload_len as usize <= MAX_PAYLOAD);
            assert_eq!(Header::decode(&header.encode()), Ok(header));
            assert!(!header.is_error() || header.is_reply());
            let of_body = Header { body_crc: crc32c(body), ..header };
            assert!(of_body.check_body(body).is_ok());
            assert_eq!(header.check_body(body).is_ok(), header.body_crc == of_body.body_crc);
            true
        })
    })
}

/// Requests to metadata and its replies, with and without what is in front of a reply.
pub fn meta(bytes: &[u8]) -> bool {
    let reply = Grants::split_all(bytes).is_ok_and(|(grants, reply, dirs)| {
        let same = [&grants.head_bytes()[..], reply].concat() == bytes;
        assert_eq!(same, dirs.is_empty());
        round_trip::<MetaReply>(reply) | round_trip::<Vec<Attr>>(dirs)
    });
    round_trip::<MetaRequest>(bytes) | round_trip::<MetaReply>(bytes) | reply
}

/// What metadata servers, storage servers, checks and management ask metadata servers.
pub fn meta_tx(bytes: &[u8]) -> bool {
    round_trip::<TxRequest>(bytes)
        | round_trip::<TxReply>(bytes)
        | round_trip::<FencesRequest>(bytes)
        | round_trip::<FencesReply>(bytes)
        | round_trip::<ScanRequest>(bytes)
        | round_trip::<ScanReply>(bytes)
        | round_trip::<LocateRequest>(bytes)
        | round_trip::<LocateReply>(bytes)
}

/// Requests to storage and its replies, bulk data apart, proofs, which metadata servers get too, and grants.
pub fn storage(bytes: &[u8]) -> bool {
    round_trip::<StorageRequest>(bytes)
        | round_trip::<StorageReply>(bytes)
        | round_trip::<RaidRequest>(bytes)
        | round_trip::<RaidState>(bytes)
        | round_trip::<DriveRequest>(bytes)
        | round_trip::<DriveReply>(bytes)
        | round_trip::<ScrubRequest>(bytes)
        | round_trip::<ScrubState>(bytes)
        | round_trip::<Vec<InodeProof>>(bytes)
        | round_trip::<Proven>(bytes)
        | round_trip::<Vec<nyala_wire::storage_grants::StorageGrant>>(bytes)
}

/// Requests to management and its replies, statistics and errors.
pub fn mgmt(bytes: &[u8]) -> bool {
    round_trip::<MgmtRequest>(bytes)
        | round_trip::<MgmtReply>(bytes)
        | round_trip::<ServiceStats>(bytes)
        | round_trip::<TraceRequest>(bytes)
        | round_trip::<TraceReply>(bytes)
        | round_trip::<WireError>(bytes)
}

/// The cluster map, what goes through a mount for those who may not ask for it, requests for a relay, and tests of links.
pub fn map(bytes: &[u8]) -> bool {
    round_trip::<ClusterMap>(bytes)
        | round_trip::<(EntryInfo, ClusterMap)>(bytes)
        | round_trip::<StripePattern>(bytes)
        | round_trip::<RelayRequest>(bytes)
        | crate::operators::any(bytes)
}

/// Bodies of bulk data and of requests to mirror groups; and the arithmetic of blocks for any offset and length.
pub fn layouts(bytes: &[u8]) -> bool {
    let write = decode_bulk::<WriteHeader>(bytes).ok().map(|(header, checksums)| {
        let (offset, len) = (header.offset.get(), u64::from(header.len.get()));
        blocks(offset, len.min(u64::from(MAX_IO_BYTES)));
        size_of::<WriteHeader>() + size_of_val(checksums)
    });
    let read = decode_bulk::<ReadHeader>(bytes).ok().map(|(_, sums)| size_of::<ReadHeader>() + size_of_val(sums));
    let reply = decode_bulk::<ReadReplyHeader>(bytes).ok();
    let reply = reply.map(|(_, sums)| size_of::<ReadReplyHeader>() + size_of_val(sums));
    let written = decode_bulk::<WriteReplyHeader>(bytes).ok().map(|(header, sums)| {
        assert_eq!(header.verifier().header().losses, header.losses);
        size_of::<WriteReplyHeader>() + size_of_val(sums)
    });
    let bulk = [write, read, reply, written];
    assert!(bulk.iter().flatten().all(|taken| *taken == bytes.len()), "nothing is left over");
    let group = GroupHeader::split(bytes).ok();
    assert!(group.is_none_or(|(header, inner)| header.wrap(inner) == bytes));
    let replica = ReplicaHeader::split(bytes).ok();
    assert!(replica.is_none_or(|(header, envelope, rest)| header.wrap(envelope, rest) == bytes));
    bulk.iter().any(Option::is_some) || group.is_some() || replica.is_some()
}

fn blocks(offset: u64, len: u64) {
    let pieces: Vec<u64> = block_pieces(offset, len).map(|piece| piece as u64).collect();
    assert!(pieces.iter().all(|piece| (1..=BLOCK_BYTES).contains(piece)));
    if offset.checked_add(len).is_some() {
        assert_eq!(pieces.iter().sum::<u64>(), len);
        assert_eq!(pieces.len() as u64, blocks_touched(offset, len));
    }
}

/// Ids in text, as in paths of the REST API, flags and files.
pub fn ids(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    text_id::<InodeId>(text) | text_id::<ClusterId>(text) | text_id::<TargetId>(text)
}

fn text_id<T: FromStr + Display + PartialEq>(text: &str) -> bool {
    text.parse::<T>().is_ok_and(|id| {
        assert!(id.to_string().parse::<T>().is_ok_and(|again| again == id), "{text:?}");
        true
    })
}
