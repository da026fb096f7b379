// SPDX-License-Identifier: Apache-2.0

//! Messages between members as bytes: the body is CBOR, records are the payload, each with its length in front.
//!
//! Failure model: what arrives may be anything. Every length is checked against what is there; what is no message is refused.

use minicbor::{Decode, Encode};
use nyala_replica::log::{LogEnvelope, Record};
use nyala_wire::{ErrorCode, TargetId, WireError};

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
}

/// Records as a payload.
pub fn join(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(records.iter().map(|record| 4 + record.len()).sum());
    for record in records {
        // why: a batch has at most 64 MiB.
        bytes.extend_from_slice(&(record.len() as u32).to_le_bytes());
        bytes.extend_from_slice(record);
    }
    bytes
}

/// Records of a payload.
pub fn split(mut bytes: &[u8]) -> Result<Vec<Record>, WireError> {
    let cut_off = || ErrorCode::BAD_MESSAGE.with("the records of a mirror group's message are cut off");
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let (len, rest) = bytes.split_first_chunk::<4>().ok_or_else(cut_off)?;
        let (record, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize).ok_or_else(cut_off)?;
        records.push(record.into());
        bytes = rest;
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_apart_as_they_were_put_together() {
        let records: Vec<Record> = vec![b"one"[..].into(), b""[..].into(), b"three"[..].into()];
        let bytes = join(&records);
        assert_eq!(split(&bytes).unwrap(), records);
        assert!(split(&bytes[..bytes.len() - 1]).is_err() && split(&bytes[..2]).is_err());
        assert!(split(&[]).unwrap().is_empty());
    }
}
