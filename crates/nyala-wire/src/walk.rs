// SPDX-License-Identifier: Apache-2.0

//! Walking through everything that a storage target holds: what a check of its disk, and a comparison of mirrored targets, ask for.
//!
//! A piece is 64 blocks of a chunk file, those of one row of checksums (`docs/format-storage.md`). Blocks without a
//! checksum are holes; a piece of holes only is not mentioned, nor is a chunk file without any data.

use crate::ids::ChunkFileId;
use minicbor::{Decode, Encode};

/// Blocks of a piece.
pub const PIECE_BLOCKS: u64 = 64;
/// Bytes of a piece.
pub const PIECE_BYTES: u64 = PIECE_BLOCKS * crate::checksum::BLOCK_BYTES as u64;

/// Where a walk goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct WalkAt {
    /// Chunk file; the order is that of inodes, then of stripe indices.
    #[n(0)]
    pub file: ChunkFileId,
    /// Offset there, bytes.
    #[n(1)]
    pub offset: u64,
}

/// What a target holds in a piece of a chunk file.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct WalkPiece {
    /// Where: the offset is a multiple of [`PIECE_BYTES`].
    #[n(0)]
    pub at: WalkAt,
    /// A bit for each block, the first is the lowest: it has data.
    #[n(1)]
    pub present: u64,
    /// Stored CRC-32C of each block that has data, padded with zeros where the chunk file ends.
    #[n(2)]
    pub checksums: Vec<u32>,
    /// A bit for each block: what the disk has is not what was stored, or cannot be read.
    #[n(3)]
    pub bad: u64,
}

impl WalkPiece {
    /// One without data.
    pub fn empty(at: WalkAt) -> WalkPiece {
        WalkPiece { at, present: 0, checksums: Vec::new(), bad: 0 }
    }

    /// Bytes of its blocks that have data.
    pub fn data_bytes(&self) -> u64 {
        u64::from(self.present.count_ones()) * crate::checksum::BLOCK_BYTES as u64
    }

    /// The checksum of each block; blocks without data have that of zeros, since they read the same.
    pub fn all_checksums(&self) -> [u32; PIECE_BLOCKS as usize] {
        let mut all = [crate::checksum::crc32c_zero_padded(&[]); PIECE_BLOCKS as usize];
        let slots = (0..all.len()).filter(|slot| self.present >> slot & 1 == 1);
        slots.zip(&self.checksums).for_each(|(slot, crc)| all[slot] = *crc);
        all
    }
}

/// Runs of set bits: the first block and how many.
pub fn runs(bits: u64) -> impl Iterator<Item = (u64, u64)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = if at < 64 { bits >> at } else { 0 };
        if rest == 0 {
            return None;
        }
        let first = at + u64::from(rest.trailing_zeros());
        let count = u64::from((bits >> first).trailing_ones());
        at = first + count;
        Some((first, count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_bits() {
        let all = |bits| runs(bits).collect::<Vec<_>>();
        assert_eq!(all(0), []);
        assert_eq!(all(u64::MAX), [(0, 64)]);
        assert_eq!(all(1 << 63 | 0b110), [(1, 2), (63, 1)]);
    }

    #[test]
    fn zeros_and_holes_are_the_same() {
        let zeros = crate::checksum::crc32c_zero_padded(&[]);
        let piece = WalkPiece { present: 0b101, checksums: vec![7, zeros], ..WalkPiece::empty(WalkAt::default()) };
        let less = WalkPiece { present: 1, checksums: vec![7], ..piece.clone() };
        assert_eq!(piece.all_checksums(), less.all_checksums());
        assert_ne!(piece.all_checksums(), WalkPiece::empty(piece.at).all_checksums());
        // What contradicts itself does no harm.
        let odd = WalkPiece { present: 0, ..piece };
        assert_eq!(odd.all_checksums(), WalkPiece::empty(odd.at).all_checksums());
    }
}
