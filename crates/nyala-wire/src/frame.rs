// SPDX-License-Identifier: Apache-2.0

//! The frame: a fixed 64-byte little-endian header, a small body and an optional payload.
//!
//! **Failure model.** Bytes may arrive cut short, bit-flipped, out of another protocol, or made up by a stranger. The
//! header is covered by its own CRC-32C and says how much follows; lengths are bounded before anybody allocates. The
//! body is covered by a CRC-32C in the header. The payload has **no** checksum in the frame: data blocks carry their
//! own CRC-32C per 4 KiB inside the message, from the writing client to the disk and back, so that a frame checksum
//! would be a second pass over the same bytes that protects a shorter way.
//!
//! | offset | field | |
//! |---|---|---|
//! | 0 | magic | `NYLA` |
//! | 4 | version u16 | [`PROTOCOL_VERSION`] |
//! | 6 | message type u16 | |
//! | 8 | flags u32 | [`flags`] |
//! | 12 | CRC-32C of the body u32 | |
//! | 16 | request id u64 | chosen by the requester, repeated in the reply |
//! | 24 | map version u64 | that the sender holds |
//! | 32 | group epoch u32 | |
//! | 36 | reserved u32 | 0 |
//! | 40 | body length u32 | ≤ [`MAX_BODY`] |
//! | 44 | payload length u32 | ≤ [`MAX_PAYLOAD`] |
//! | 48 | log position u64 | in metadata replies: durable up to here; in traced requests: the trace id; else 0 |
//! | 56 | reserved u32 | 0 |
//! | 60 | CRC-32C of bytes 0..60 u32 | |

use crate::checksum::crc32c;
use bytes::Bytes;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// First four bytes of every frame.
pub const MAGIC: [u8; 4] = *b"NYLA";
/// Version of the frame layout and of the messages in it.
pub const PROTOCOL_VERSION: u16 = 1;
/// Bytes of a header.
pub const HEADER_BYTES: usize = 64;
/// Longest body, bytes.
pub const MAX_BODY: usize = 1 << 20;
/// Longest payload, bytes.
pub const MAX_PAYLOAD: usize = 8 << 20;

/// Bits of [`Header::flags`]. Bits 0–15 belong to the frame, bits 16–31 to the message type.
pub mod flags {
    /// The frame answers the request with the same id.
    pub const REPLY: u32 = 1 << 0;
    /// With [`REPLY`]: the request failed and the body is an encoded error.
    pub const ERROR: u32 = 1 << 1;
    /// Of a request: it is traced, and the header's log position is the trace's id.
    pub const TRACED: u32 = 1 << 2;
}

/// Why a frame was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Not a Nyala frame at all.
    #[error("not a Nyala frame (starts with {0:02x?}); is something else using this port?")]
    BadMagic([u8; 4]),
    /// A frame of a protocol version that this build does not speak.
    #[error("frame of protocol version {found}, this build speaks {PROTOCOL_VERSION}; upgrade the older side")]
    UnknownVersion {
        /// The version in the frame.
        found: u16,
    },
    /// The header does not match its checksum.
    #[error("frame header does not match its checksum (found {found:#010x}, computed {computed:#010x})")]
    BadHeaderChecksum {
        /// In the header.
        found: u32,
        /// Over its first 60 bytes.
        computed: u32,
    },
    /// Body longer than [`MAX_BODY`].
    #[error("body of {0} bytes is longer than {MAX_BODY}")]
    BodyTooLong(u64),
    /// Payload longer than [`MAX_PAYLOAD`].
    #[error("payload of {0} bytes is longer than {MAX_PAYLOAD}")]
    PayloadTooLong(u64),
    /// The body does not match its checksum.
    #[error("frame body does not match its checksum (header {found:#010x}, computed {computed:#010x})")]
    BadBodyChecksum {
        /// In the header.
        found: u32,
        /// Over the body.
        computed: u32,
    },
}

/// What a frame header says; magic, version and the header's checksum are added and checked by the codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// What the body is.
    pub message_type: u16,
    /// See [`flags`].
    pub flags: u32,
    /// CRC-32C of the body.
    pub body_crc: u32,
    /// Chosen by the requester, repeated in the reply.
    pub request_id: u64,
    /// Cluster map version that the sender holds.
    pub map_version: u64,
    /// Epoch of the mirror group that the request is meant for; 0 where there is none.
    pub group_epoch: u32,
    /// Bytes of body.
    pub body_len: u32,
    /// Bytes of payload.
    pub payload_len: u32,
    /// In replies of metadata: the server's run; else 0.
    pub run: u32,
    /// In replies of metadata: durable log position; in requests with [`flags::TRACED`]: the id of the trace; else 0.
    pub log_position: u64,
    /// In replies of metadata: so many records after that position are not on disk, and the reply may rest on them; else 0.
    pub unsynced_records: u32,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawHeader {
    magic: [u8; 4],
    version: U16,
    message_type: U16,
    flags: U32,
    body_crc: U32,
    request_id: U64,
    map_version: U64,
    group_epoch: U32,
    run: U32,
    body_len: U32,
    payload_len: U32,
    log_position: U64,
    unsynced_records: U32,
    header_crc: U32,
}

const _: () = assert!(size_of::<RawHeader>() == HEADER_BYTES);
const CHECKED_BYTES: usize = HEADER_BYTES - 4;

/// Refuses lengths beyond [`MAX_BODY`] and [`MAX_PAYLOAD`].
pub fn check_lengths(body: u64, payload: u64) -> Result<(), FrameError> {
    if body > MAX_BODY as u64 {
        return Err(FrameError::BodyTooLong(body));
    }
    if payload > MAX_PAYLOAD as u64 {
        return Err(FrameError::PayloadTooLong(payload));
    }
    Ok(())
}

impl Header {
    /// The 64 bytes of this header.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut raw = RawHeader {
            magic: MAGIC,
            version: PROTOCOL_VERSION.into(),
            message_type: self.message_type.into(),
            flags: self.flags.into(),
            body_crc: self.body_crc.into(),
            request_id: self.request_id.into(),
            map_version: self.map_version.into(),
            group_epoch: self.group_epoch.into(),
            run: self.run.into(),
            body_len: self.body_len.into(),
            payload_len: self.payload_len.into(),
            log_position: self.log_position.into(),
            unsynced_records: self.unsynced_records.into(),
            header_crc: U32::ZERO,
        };
        raw.header_crc = crc32c(&raw.as_bytes()[..CHECKED_BYTES]).into();
        zerocopy::transmute!(raw)
    }

    /// Reads a header. What comes back has lengths within the limits.
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Header, FrameError> {
        let raw: &RawHeader = zerocopy::transmute_ref!(bytes);
        if raw.magic != MAGIC {
            return Err(FrameError::BadMagic(raw.magic));
        }
        if raw.version.get() != PROTOCOL_VERSION {
            return Err(FrameError::UnknownVersion { found: raw.version.get() });
        }
        let (found, computed) = (raw.header_crc.get(), crc32c(&bytes[..CHECKED_BYTES]));
        if found != computed {
            return Err(FrameError::BadHeaderChecksum { found, computed });
        }
        check_lengths(raw.body_len.get().into(), raw.payload_len.get().into())?;
        Ok(Header {
            message_type: raw.message_type.get(),
            flags: raw.flags.get(),
            body_crc: raw.body_crc.get(),
            request_id: raw.request_id.get(),
            map_version: raw.map_version.get(),
            group_epoch: raw.group_epoch.get(),
            body_len: raw.body_len.get(),
            payload_len: raw.payload_len.get(),
            run: raw.run.get(),
            log_position: raw.log_position.get(),
            unsynced_records: raw.unsynced_records.get(),
        })
    }

    /// Does `body` match this header's checksum? (Its length is the caller's business: it read that many bytes.)
    pub fn check_body(&self, body: &[u8]) -> Result<(), FrameError> {
        let (found, computed) = (self.body_crc, crc32c(body));
        if found == computed { Ok(()) } else { Err(FrameError::BadBodyChecksum { found, computed }) }
    }

    /// Is it an answer?
    pub fn is_reply(&self) -> bool {
        self.flags & flags::REPLY != 0
    }

    /// The id of the trace that the request belongs to.
    pub fn trace(&self) -> Option<u64> {
        (self.flags & (flags::REPLY | flags::TRACED) == flags::TRACED).then_some(self.log_position)
    }

    /// Is it an answer whose body is an encoded error?
    pub fn is_error(&self) -> bool {
        self.flags & (flags::REPLY | flags::ERROR) == flags::REPLY | flags::ERROR
    }
}

/// A whole frame as it was received: header and body are checked, the payload is as it came.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// Checked.
    pub header: Header,
    /// Matches `header.body_crc`.
    pub body: Bytes,
    /// Unchecked by the frame; see the module's failure model.
    pub payload: Bytes,
}

impl Frame {
    /// `header.message_type`.
    pub fn message_type(&self) -> u16 {
        self.header.message_type
    }

    /// Is the body an encoded error?
    pub fn is_error(&self) -> bool {
        self.header.is_error()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_header() -> impl Strategy<Value = Header> {
        let lengths = (0..=MAX_BODY as u32, 0..=MAX_PAYLOAD as u32);
        (any::<(u16, u32, u32, u64, u64, u32, u64, u32, u32)>(), lengths).prop_map(|(f, (body_len, payload_len))| {
            Header {
                message_type: f.0,
                flags: f.1,
                body_crc: f.2,
                request_id: f.3,
                map_version: f.4,
                group_epoch: f.5,
                body_len,
                payload_len,
                log_position: f.6,
                run: f.7,
                unsynced_records: f.8,
            }
        })
    }

    fn reseal(mut bytes: [u8; HEADER_BYTES]) -> [u8; HEADER_BYTES] {
        let crc = crc32c(&bytes[..CHECKED_BYTES]);
        bytes[CHECKED_BYTES..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    #[test]
    fn every_field_sits_at_its_documented_offset() {
        let header = Header {
            message_type: 0x0102,
            flags: 0x0304_0506,
            body_crc: 0x0708_090a,
            request_id: 0x1112_1314_1516_1718,
            map_version: 0x2122_2324_2526_2728,
            group_epoch: 0x3132_3334,
            body_len: 0x000a_0b0c,
            payload_len: 0x000d_0e0f,
            run: 0x3536_3738,
            log_position: 0x4142_4344_4546_4748,
            unsynced_records: 0x5152_5354,
        };
        let bytes = header.encode();
        assert_eq!(&bytes[..4], b"NYLA");
        assert_eq!(&bytes[4..16], &[1, 0, 2, 1, 6, 5, 4, 3, 0x0a, 9, 8, 7]);
        assert_eq!(&bytes[16..24], &0x1112_1314_1516_1718u64.to_le_bytes());
        assert_eq!(&bytes[24..32], &0x2122_2324_2526_2728u64.to_le_bytes());
        assert_eq!(&bytes[32..40], &[0x34, 0x33, 0x32, 0x31, 0x38, 0x37, 0x36, 0x35]);
        assert_eq!(&bytes[40..48], &[0x0c, 0x0b, 0x0a, 0, 0x0f, 0x0e, 0x0d, 0]);
        assert_eq!(&bytes[48..56], &0x4142_4344_4546_4748u64.to_le_bytes());
        assert_eq!(&bytes[56..60], &0x5152_5354u32.to_le_bytes());
        assert_eq!(&bytes[60..], &crc32c(&bytes[..60]).to_le_bytes());
    }

    /// The example of `docs/protocol.md`, whose checksums were computed by another program.
    #[test]
    fn the_documented_frame_is_what_we_write() {
        let header =
            Header { message_type: 1, request_id: 1, body_crc: crc32c(b"hi"), body_len: 2, ..Header::default() };
        let hex: Vec<String> = header.encode().iter().map(|byte| format!("{byte:02x}")).collect();
        let document = include_str!("../../../docs/protocol.md").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(document.contains(&hex.join(" ")), "{}", hex.join(" "));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let good = Header { body_len: 5, ..Header::default() }.encode();
        let with = |at: usize, value: &[u8]| {
            let mut bytes = good;
            bytes[at..at + value.len()].copy_from_slice(value);
            Header::decode(&reseal(bytes))
        };
        assert_eq!(with(0, b"HTTP"), Err(FrameError::BadMagic(*b"HTTP")));
        assert_eq!(with(4, &[2, 0]), Err(FrameError::UnknownVersion { found: 2 }));
        let longer = (MAX_BODY as u32 + 1).to_le_bytes();
        assert_eq!(with(40, &longer), Err(FrameError::BodyTooLong(MAX_BODY as u64 + 1)));
        assert_eq!(with(44, &[0xff; 4]), Err(FrameError::PayloadTooLong(u32::MAX.into())));
        let mut torn = good;
        torn[63] ^= 1;
        assert!(matches!(Header::decode(&torn), Err(FrameError::BadHeaderChecksum { .. })));
    }

    #[test]
    fn a_changed_body_is_refused() {
        let header = Header { body_crc: crc32c(b"body"), ..Header::default() };
        assert_eq!(header.check_body(b"body"), Ok(()));
        assert!(matches!(header.check_body(b"bodx"), Err(FrameError::BadBodyChecksum { .. })));
    }

    #[test]
    fn an_error_is_a_reply() {
        let with = |flags| Header { flags, ..Header::default() };
        assert!(with(flags::REPLY | flags::ERROR).is_error());
        assert!(!with(flags::ERROR).is_error());
        assert!(!with(flags::REPLY).is_error() && with(flags::REPLY).is_reply());
    }

    proptest! {
        #[test]
        fn headers_survive_the_round_trip(header in any_header()) {
            prop_assert_eq!(Header::decode(&header.encode()), Ok(header));
        }

        #[test]
        fn every_flipped_bit_is_refused(header in any_header()) {
            let good = header.encode();
            for bit in 0..HEADER_BYTES * 8 {
                let mut bytes = good;
                bytes[bit / 8] ^= 1 << (bit % 8);
                prop_assert!(Header::decode(&bytes).is_err(), "bit {}", bit);
            }
        }

        #[test]
        fn random_bytes_never_panic(bytes in proptest::array::uniform32(any::<[u8; 2]>()), seal in any::<bool>()) {
            let mut flat = [0; HEADER_BYTES];
            flat.iter_mut().zip(bytes.iter().flatten()).for_each(|(to, from)| *to = *from);
            if seal {
                flat[..6].copy_from_slice(b"NYLA\x01\x00");
                flat = reseal(flat);
            }
            if let Ok(header) = Header::decode(&flat) {
                prop_assert!(header.body_len as usize <= MAX_BODY && header.payload_len as usize <= MAX_PAYLOAD);
            }
        }
    }
}
