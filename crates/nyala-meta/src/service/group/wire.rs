// SPDX-License-Identifier: Apache-2.0

//! Messages between members as bytes: the body is CBOR, records are the payload, each with its length in front.
//!
//! Failure model: what arrives may be anything, and bytes may flip on the way. Every length is checked against what is there, and the
//! records against their checksum, as they are applied and written by whoever takes them; what is no message is refused, and sent again.

use bytes::{Buf, Bytes};
use minicbor::{Decode, Encode};
use nyala_replica::log::{LogEnvelope, Record};
use nyala_wire::checksum::crc32c;
use nyala_wire::{ErrorCode, TargetId, WireError, codec};

/// The body of a message.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Message {
    /// Sender.
    #[n(0)]
    pub from: TargetId,
    /// Receiver.
    #[n(1)]
    pub to: TargetId,
    /// What it says.
    #[n(2)]
    pub envelope: LogEnvelope,
    /// CRC-32C of the payload.
    #[n(3)]
    pub checksum: u32,
}

/// Body and payload of a message.
pub fn encode(from: TargetId, to: TargetId, envelope: LogEnvelope, records: &[Record]) -> (Vec<u8>, Vec<Bytes>) {
    let payload = join(records);
    let body = codec::encode(&Message { from, to, envelope, checksum: crc32c(&payload) });
    (body, if payload.is_empty() { Vec::new() } else { vec![payload.into()] })
}

/// A message and its records.
pub fn decode(body: &[u8], payload: &[u8]) -> Result<(Message, Vec<Record>), WireError> {
    let message: Message = codec::decode(body)?;
    if message.checksum != crc32c(payload) {
        return Err(ErrorCode::CHECKSUM.with("the records of a mirror group's message were damaged on the way"));
    }
    // One piece of memory for all of them; that of the transport is lent, and has to go back.
    Ok((message, split(Bytes::copy_from_slice(payload))?))
}

/// Records as a payload.
fn join(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(records.iter().map(|record| 4 + record.len()).sum());
    for record in records {
        // why: a batch has at most 64 MiB.
        bytes.extend_from_slice(&(record.len() as u32).to_le_bytes());
        bytes.extend_from_slice(record);
    }
    bytes
}

/// Records of a payload.
fn split(mut bytes: Bytes) -> Result<Vec<Record>, WireError> {
    let cut_off = || ErrorCode::BAD_MESSAGE.with("the records of a mirror group's message are cut off");
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let len = u32::from_le_bytes(*bytes.first_chunk::<4>().ok_or_else(cut_off)?) as usize;
        bytes.advance(4);
        if bytes.len() < len {
            return Err(cut_off());
        }
        records.push(bytes.split_to(len));
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_replica::log::LogBody;
    use nyala_wire::GroupId;

    #[test]
    fn records_come_apart_as_they_were_put_together() {
        let records: Vec<Record> = vec![b"one"[..].into(), b""[..].into(), b"three"[..].into()];
        let bytes = Bytes::from(join(&records));
        assert_eq!(split(bytes.clone()).unwrap(), records);
        assert!(split(bytes.slice(..bytes.len() - 1)).is_err() && split(bytes.slice(..2)).is_err());
        assert!(split(Bytes::new()).unwrap().is_empty());
    }

    #[test]
    fn a_flipped_bit_in_a_record_is_noticed() {
        let envelope = LogEnvelope { group: GroupId(1), epoch: 2, body: LogBody::Misfit };
        let records: Vec<Record> = vec![b"record"[..].into()];
        let (body, payload) = encode(TargetId(1), TargetId(2), envelope, &records);
        assert_eq!(decode(&body, &payload[0]).unwrap().1, records);
        for bit in 0..payload[0].len() * 8 {
            let mut damaged = payload[0].to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&body, &damaged).unwrap_err().code, ErrorCode::CHECKSUM);
        }
    }
}
