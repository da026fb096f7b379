// SPDX-License-Identifier: Apache-2.0

//! Fuzz targets of requests to mirror groups, and of messages within them: `crates/nyala-fuzz` runs them. Each takes any
//! bytes, says whether they were accepted, and panics on a wrong result.

use super::parse::{Asked, ChangeOp, ReadKind, Sent, request, sent};
use crate::chunk_store::MAX_CHUNK_FILE_BYTES;
use bytes::Bytes;
use nyala_replica::Envelope;
use nyala_wire::checksum::crc32c;
use nyala_wire::codec;
use nyala_wire::message_type::{STORAGE, STORAGE_READ, STORAGE_WRITE};
use nyala_wire::mirror::{MAX_BUNDLED, ReplicaHeader, bundle, replica_kind, unbundle};
use nyala_wire::storage::{MAX_IO_BYTES, WriteHeader, block_pieces, blocks_touched, encode_bulk};
use zerocopy::FromBytes;

/// A client's request: its kind (u8), length of the body (u8), body, payload. A write is tried as it is, and with the payload's own
/// length and checksums.
pub fn mirror_request(bytes: &[u8]) -> bool {
    let Some((&[kind, body], rest)) = bytes.split_first_chunk::<2>() else { return false };
    let kind = [STORAGE, STORAGE_READ, STORAGE_WRITE][usize::from(kind % 3)];
    let (body, payload) = rest.split_at(usize::from(body).min(rest.len()));
    let mended = (kind == STORAGE_WRITE).then(|| mended(body, payload)).flatten();
    let accepted = mended.is_some_and(|body| asked(kind, &body, payload));
    accepted | asked(kind, body, payload)
}

fn mended(body: &[u8], payload: &[u8]) -> Option<Vec<u8>> {
    let (header, _) = WriteHeader::read_from_prefix(body).ok()?;
    let mut rest = payload;
    let checksums: Vec<u32> = block_pieces(header.offset.get(), payload.len() as u64)
        .map(|len| {
            let (piece, behind) = rest.split_at(len);
            rest = behind;
            crc32c(piece)
        })
        .collect();
    let (len, checksums_len) = (payload.len() as u32, checksums.len() as u32);
    let header = WriteHeader { flags: 0.into(), len: len.into(), checksums: checksums_len.into(), ..header };
    Some(encode_bulk(&header, &checksums))
}

fn asked(kind: u16, body: &[u8], payload: &[u8]) -> bool {
    let (body, payload) = (Bytes::copy_from_slice(body), Bytes::copy_from_slice(payload));
    let Ok(asked) = request(kind, body.clone(), payload.clone()) else { return false };
    match asked {
        Asked::Sync => {}
        Asked::Read(_, span, read) => {
            assert!(span.start < span.end || span.start == u64::MAX);
            if let ReadKind::Bulk { offset, len, .. } = read {
                assert!(len <= MAX_IO_BYTES && span.start == offset);
            }
        }
        Asked::Change(change, request) => {
            assert!(change.span.start < change.span.end && change.span.start <= MAX_CHUNK_FILE_BYTES);
            assert_eq!((request.kind, &request.body, &request.data), (kind, &body, &payload));
            if let ChangeOp::Write(write) = &request.op {
                let len = write.data.len() as u64;
                assert!(write.compared && write.data == payload && len <= u64::from(MAX_IO_BYTES));
                assert_eq!(change.span.end - change.span.start, len);
                assert_eq!(write.crcs.len() as u64, blocks_touched(write.offset, len));
            }
        }
    }
    true
}

/// A message of another member: length of the body (u8), body, payload. The body's kind is one of five.
pub fn member_message(bytes: &[u8]) -> bool {
    let Some((&body, rest)) = bytes.split_first() else { return false };
    let (body, payload) = rest.split_at(usize::from(body).min(rest.len()));
    let Ok((header, envelope, rest)) = ReplicaHeader::split(body) else { return false };
    assert_eq!(header.wrap(envelope, rest), body);
    let kinds = [replica_kind::NOTHING, replica_kind::REGION, STORAGE, STORAGE_WRITE];
    let kind = kinds.get(usize::from(header.kind.get())).copied().unwrap_or(header.kind.get());
    let Ok(envelope) = codec::decode::<Envelope>(envelope) else { return false };
    let (rest, data) = (Bytes::copy_from_slice(rest), Bytes::copy_from_slice(payload));
    let Ok(sent) = sent(kind, &envelope.body, rest, data) else { return false };
    if let Sent::Region(region) = &sent {
        assert!(region.check().is_ok() && region.data == payload);
    }
    true
}

/// A bundle of messages: length of the body (u8), body, payload. What comes apart is put together again.
pub fn member_bundle(bytes: &[u8]) -> bool {
    let Some((&body, rest)) = bytes.split_first() else { return false };
    let (body, payload) = rest.split_at(usize::from(body).min(rest.len()));
    let Ok(messages) = unbundle(body, payload.len()) else { return false };
    assert!(!messages.is_empty() && messages.len() <= MAX_BUNDLED);
    assert_eq!(messages.iter().map(|(_, range)| range.len()).sum::<usize>(), payload.len());
    let again: Vec<_> = messages.iter().map(|(body, range)| (body.to_vec(), range.len())).collect();
    assert_eq!(bundle(&again), body);
    true
}
