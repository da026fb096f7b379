// SPDX-License-Identifier: Apache-2.0

//! What messages look like. Pure.
//!
//! A message is a head of [`HEAD_BYTES`] (offset, u64; number of the file, u32; 0, u32; little-endian) and, where it carries data, a
//! CRC-32C (u32) of each 4 KiB and the data. Requests without data and the answers to writes are a head and no more.

/// Bytes of the head of a message.
pub const HEAD_BYTES: usize = 16;
/// Bytes that one checksum covers, as in the protocol.
pub const CHECKED_BYTES: usize = nyala_wire::checksum::BLOCK_BYTES;

/// Where a transfer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Number of the file among those of its connection.
    pub file: usize,
    /// First byte.
    pub offset: u64,
}

impl Location {
    /// Writes the head of a message about this place.
    pub fn encode(&self, head: &mut [u8]) {
        head[..8].copy_from_slice(&self.offset.to_le_bytes());
        head[8..12].copy_from_slice(&(self.file as u32).to_le_bytes());
        head[12..HEAD_BYTES].fill(0);
    }

    /// Reads the head of a message, which has at least [`HEAD_BYTES`].
    pub fn decode(head: &[u8]) -> Location {
        let mut offset = [0; 8];
        offset.copy_from_slice(&head[..8]);
        Location { file: number(head, 8) as usize, offset: u64::from_le_bytes(offset) }
    }
}

/// The four bytes at a place, as a number.
pub fn number(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(four)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_these_bytes() {
        let at = Location { file: 3, offset: 1 << 40 };
        let mut head = [9; HEAD_BYTES];
        at.encode(&mut head);
        assert_eq!(Location::decode(&head), at);
        assert_eq!(head, [0, 0, 0, 0, 0, 1, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(number(&head, 4), 256);
    }
}
