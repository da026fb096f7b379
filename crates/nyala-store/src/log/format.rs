// SPDX-License-Identifier: Apache-2.0

//! The bytes of a log segment: header and records. Pure. `docs/format-store.md` is the same in prose.

use nyala_wire::checksum::crc32c;

/// Bytes of a segment before its first record.
pub(crate) const SEGMENT_HEADER_BYTES: u64 = 4096;
/// Bytes of a record before its payload.
pub(crate) const RECORD_HEAD_BYTES: usize = 32;
/// Records start at multiples of this.
pub(crate) const ALIGN_BYTES: usize = 8;

const SEGMENT_MAGIC: [u8; 8] = *b"NYALALOG";
const SEGMENT_FIELDS_BYTES: usize = 56;
pub(crate) const RECORD_MAGIC: [u8; 4] = *b"NYRC";
/// Version of both layouts.
pub(crate) const LOG_VERSION: u16 = 1;

/// What a record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An encoded batch.
    Batch = 1,
    /// Nothing: written after a last sync, so that the end of a log that was closed in peace vouches for all of it.
    Marker = 2,
}

/// First bytes of every segment file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub store_id: u128,
    /// Number of the segment, from 1; the file's name.
    pub sequence: u64,
    /// Goes into every record's checksum, so that bytes of another segment's life are never taken for records.
    pub salt: u32,
    /// Size that the file was allocated with, bytes.
    pub bytes: u64,
}

impl SegmentHeader {
    /// magic 8 | version 2 | zero 2 | salt 4 | store id 16 | sequence 8 | bytes 8 | zero 4 | crc 4, zeros to 4096.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(SEGMENT_HEADER_BYTES as usize);
        out.extend_from_slice(&SEGMENT_MAGIC);
        out.extend_from_slice(&LOG_VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.salt.to_le_bytes());
        out.extend_from_slice(&self.store_id.to_le_bytes());
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&self.bytes.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        let crc = crc32c(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        debug_assert_eq!(out.len(), SEGMENT_FIELDS_BYTES);
        out.resize(SEGMENT_HEADER_BYTES as usize, 0);
        out
    }

    /// The header, or what is wrong with it.
    pub(crate) fn decode(data: &[u8]) -> Result<SegmentHeader, String> {
        if data.len() < SEGMENT_HEADER_BYTES as usize {
            return Err("the file is shorter than a segment header".into());
        }
        if data[..8] != SEGMENT_MAGIC {
            return Err("not a Nyala log segment (bad magic)".into());
        }
        let version = u16::from_le_bytes(array(data, 8));
        if version != LOG_VERSION {
            return Err(format!("log format version {version}; this program reads version {LOG_VERSION}"));
        }
        if u32::from_le_bytes(array(data, SEGMENT_FIELDS_BYTES - 4)) != crc32c(&data[..SEGMENT_FIELDS_BYTES - 4]) {
            return Err("bad checksum of the segment header".into());
        }
        Ok(SegmentHeader {
            salt: u32::from_le_bytes(array(data, 12)),
            store_id: u128::from_le_bytes(array(data, 16)),
            sequence: u64::from_le_bytes(array(data, 32)),
            bytes: u64::from_le_bytes(array(data, 40)),
        })
    }
}

/// A record as it lies in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub lsn: u64,
    /// The log was on disk up to this record when this one was written.
    pub durable: u64,
    pub kind: Kind,
    pub payload: &'a [u8],
    /// Bytes in the segment, padding included.
    pub stored_bytes: usize,
}

/// Bytes of a record in the log.
pub(crate) fn stored_bytes(payload_bytes: usize) -> usize {
    (RECORD_HEAD_BYTES + payload_bytes).next_multiple_of(ALIGN_BYTES)
}

/// Appends a record: crc 4 | magic 4 | payload length 4 | version 2 | kind 2 | lsn 8 | durable 8 | payload | zeros to 8.
pub(crate) fn encode_record(out: &mut Vec<u8>, salt: u32, lsn: u64, durable: u64, kind: Kind, payload: &[u8]) {
    let start = out.len();
    let end = start + stored_bytes(payload.len());
    let mut head = [0u8; RECORD_HEAD_BYTES];
    head[4..8].copy_from_slice(&RECORD_MAGIC);
    head[8..12].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    head[12..14].copy_from_slice(&LOG_VERSION.to_le_bytes());
    head[14..16].copy_from_slice(&(kind as u16).to_le_bytes());
    head[16..24].copy_from_slice(&lsn.to_le_bytes());
    head[24..32].copy_from_slice(&durable.to_le_bytes());
    out.extend_from_slice(&head);
    out.extend_from_slice(payload);
    out.resize(end, 0);
    let crc = crc32c(&out[start + 4..]) ^ salt;
    out[start..start + 4].copy_from_slice(&crc.to_le_bytes());
}

/// The valid record at the start of `data`, if there is one.
pub(crate) fn decode_record(data: &[u8], salt: u32) -> Option<Record<'_>> {
    let head = data.first_chunk::<RECORD_HEAD_BYTES>()?;
    if head[4..8] != RECORD_MAGIC || u16::from_le_bytes(array(head, 12)) != LOG_VERSION {
        return None;
    }
    let kind = match u16::from_le_bytes(array(head, 14)) {
        1 => Kind::Batch,
        2 => Kind::Marker,
        _ => return None,
    };
    let payload_bytes = u32::from_le_bytes(array(head, 8)) as usize;
    let stored = stored_bytes(payload_bytes);
    let whole = data.get(..stored)?;
    if u32::from_le_bytes(array(head, 0)) != crc32c(&whole[4..]) ^ salt {
        return None;
    }
    Some(Record {
        lsn: u64::from_le_bytes(array(head, 16)),
        durable: u64::from_le_bytes(array(head, 24)),
        kind,
        payload: &whole[RECORD_HEAD_BYTES..RECORD_HEAD_BYTES + payload_bytes],
        stored_bytes: stored,
    })
}

/// `N` bytes of a fixed layout whose length was checked by the caller.
fn array<const N: usize>(data: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&data[at..at + N]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: SegmentHeader = SegmentHeader { store_id: 77, sequence: 3, salt: 9, bytes: 1 << 20 };

    #[test]
    fn header_round_trip_and_every_flip_is_seen() {
        let good = HEADER.encode();
        assert_eq!(SegmentHeader::decode(&good), Ok(HEADER));
        for position in 0..SEGMENT_FIELDS_BYTES {
            let mut bad = good.clone();
            bad[position] ^= 1;
            assert!(SegmentHeader::decode(&bad).is_err(), "flip at {position}");
        }
        assert!(SegmentHeader::decode(&good[..100]).is_err());
    }

    #[test]
    fn record_round_trip_and_every_flip_is_seen() {
        let mut good = Vec::new();
        encode_record(&mut good, 5, 42, 40, Kind::Batch, b"some payload!");
        let record = decode_record(&good, 5).unwrap();
        assert_eq!(
            (record.lsn, record.durable, record.kind, record.payload),
            (42, 40, Kind::Batch, &b"some payload!"[..])
        );
        assert_eq!(record.stored_bytes, good.len());
        for position in 0..good.len() {
            let mut bad = good.clone();
            bad[position] ^= 0x10;
            assert_eq!(decode_record(&bad, 5), None, "flip at {position}");
        }
        for cut in 0..good.len() {
            assert_eq!(decode_record(&good[..cut], 5), None, "cut at {cut}");
        }
        assert_eq!(decode_record(&good, 6), None, "another segment's salt");
    }
}
