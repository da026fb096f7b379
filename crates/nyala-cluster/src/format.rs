// SPDX-License-Identifier: Apache-2.0

//! The cluster state as bytes: a header of 16 bytes, then the codec's encoding. `docs/format-mgmt.md` shows it.

use crate::{ClusterError, ClusterState};
use nyala_wire::checksum::crc32c_parts;
use nyala_wire::codec;

const MAGIC: [u8; 4] = *b"NYCS";
const HEADER_BYTES: usize = 16;

impl ClusterState {
    /// Newest format of [`ClusterState::encode`] that this build knows; 1 had no states in groups, 2 no
    /// list of removed identities; both are read.
    pub const FORMAT: u16 = 3;

    /// The state as bytes. Equal states give equal bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; HEADER_BYTES];
        codec::encode_into(self, &mut out);
        let len = (out.len() - HEADER_BYTES) as u32;
        out[..4].copy_from_slice(&MAGIC);
        out[4..6].copy_from_slice(&Self::FORMAT.to_le_bytes());
        out[8..12].copy_from_slice(&len.to_le_bytes());
        let crc = crc32c_parts(&[&out[..12], &out[HEADER_BYTES..]]);
        out[12..16].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// A state from its bytes.
    pub fn decode(bytes: &[u8]) -> Result<ClusterState, ClusterError> {
        let damaged = |reason: &str| ClusterError::Damaged { reason: reason.to_owned() };
        let (header, body) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or_else(|| damaged("cut short"))?;
        if header[..4] != MAGIC {
            return Err(damaged("not a cluster state (wrong magic)"));
        }
        let crc = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
        let len = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        if len as usize != body.len() {
            return Err(damaged("the length does not match"));
        }
        if crc32c_parts(&[&header[..12], body]) != crc {
            return Err(damaged("the checksum does not match"));
        }
        let found = u16::from_le_bytes([header[4], header[5]]);
        if found > Self::FORMAT {
            return Err(ClusterError::NewerFormat { found, known: Self::FORMAT });
        }
        codec::decode(body).map_err(|e| damaged(&e.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_1_is_read() {
        // The same without its last fields.
        let mut old = ClusterState::default().encode();
        assert_eq!(old[HEADER_BYTES..HEADER_BYTES + 2], [0x98, 27]);
        assert_eq!((old.remove(HEADER_BYTES), old.pop(), old.pop()), (0x98, Some(0x80), Some(0x80)));
        assert_eq!((old.pop(), old.pop(), old.pop()), (Some(0x80), Some(0), Some(0)));
        assert_eq!((old.pop(), old.pop(), old.pop(), old.pop()), (Some(0x80), Some(0x80), Some(0x80), Some(0x80)));
        assert_eq!((old.pop(), old.pop(), old.pop()), (Some(0), Some(0x80), Some(0x80)));
        assert_eq!((old.pop(), old.pop(), old.pop()), (Some(0), Some(0x80), Some(0)));
        old[HEADER_BYTES] = 0x8c;
        old[4] = 1;
        let len = (old.len() - HEADER_BYTES) as u32;
        old[8..12].copy_from_slice(&len.to_le_bytes());
        let crc = crc32c_parts(&[&old[..12], &old[HEADER_BYTES..]]);
        old[12..16].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(ClusterState::decode(&old), Ok(ClusterState::default()));
    }

    #[test]
    fn damage_and_newer_formats_are_told_apart() {
        let good = ClusterState::default().encode();
        assert_eq!(ClusterState::decode(&good), Ok(ClusterState::default()));
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert!(matches!(ClusterState::decode(&bad), Err(ClusterError::Damaged { .. })), "byte {at}");
            assert!(ClusterState::decode(&good[..at]).is_err(), "cut at {at}");
        }
        let mut newer = good.clone();
        newer[4..6].copy_from_slice(&4_u16.to_le_bytes());
        let crc = crc32c_parts(&[&newer[..12], &newer[HEADER_BYTES..]]);
        newer[12..16].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(ClusterState::decode(&newer), Err(ClusterError::NewerFormat { found: 4, known: 3 }));
    }
}
