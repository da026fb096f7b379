// SPDX-License-Identifier: Apache-2.0

//! Keys and values of a storage target's key-value store. Pure: bytes in, values out. `docs/format-storage.md` has the
//! layout of each.
//!
//! **Failure model.** The store below checks every record and value, so what comes back is what was put in; a value
//! that still does not decode was written by something else, and is reported as damage instead of being guessed at.

use nyala_wire::storage::ChunkFileId;
use nyala_wire::{InodeId, SessionId};

/// Blocks of one row of checksums.
pub(crate) const GROUP_BLOCKS: u64 = 64;

/// Value of an unsynced file's flag once a sync of it has failed; empty before.
pub(super) const SYNC_FAILED: [u8; 1] = [1];

/// First byte of a key.
pub(crate) mod tag {
    /// A row of checksums.
    pub const CHECKSUMS: u8 = b'C';
    /// Blocks of a group of which every copy is damaged, as a row of checksums.
    pub const BAD_BLOCKS: u8 = b'A';
    /// Blocks of a group that were found damaged, as a row of checksums.
    pub const DAMAGED: u8 = b'K';
    /// An intent.
    pub const INTENT: u8 = b'I';
    /// A chunk file with changes that may not be on disk.
    pub const UNSYNCED: u8 = b'U';
    /// A removed chunk file.
    pub const DEAD: u8 = b'D';
    /// The boot id of the kernel under which the target was last opened, and the mount that it was on.
    pub const BOOT: u8 = b'B';
    /// A fenced session.
    pub const FENCE: u8 = b'F';
    /// The length of a chunk file that lies on a drive set.
    pub const LENGTH: u8 = b'E';
    /// How often unsynced changes may have been lost.
    pub const LOSSES: u8 = b'L';
    /// How many blocks hold data, about.
    pub const DATA_COUNT: u8 = b'N';
    /// How many errors the disk has made.
    pub const DISK_ERRORS: u8 = b'H';
    /// Where the scrub is, and what it found damaged (`crate::service`, `scrub`).
    pub const SCRUB: u8 = b'S';
}

/// The group that a block is in, and its place there.
pub(super) fn group_of(block: u64) -> (u32, usize) {
    let group = u32::try_from(block / GROUP_BLOCKS).expect("offsets are bounded, which bounds groups to 32 bits");
    (group, (block % GROUP_BLOCKS) as usize)
}

const FILE_KEY_BYTES: usize = 11;

/// The key of something that a chunk file has one of, and the prefix of everything that it has several of.
pub(crate) fn file_key(tag: u8, file: ChunkFileId) -> [u8; FILE_KEY_BYTES] {
    let mut key = [0; FILE_KEY_BYTES];
    key[0] = tag;
    key[1..9].copy_from_slice(&file.inode.0.to_be_bytes()); // why big-endian: keys are ordered by their bytes
    key[9..].copy_from_slice(&file.index.to_be_bytes()); // why big-endian: keys are ordered by their bytes
    key
}

/// The key of a chunk file's length, where the file system does not keep it.
pub(crate) fn length_key(file: ChunkFileId) -> [u8; FILE_KEY_BYTES] {
    file_key(tag::LENGTH, file)
}

/// The key of a row of checksums or of an intent.
pub(crate) fn group_key(tag: u8, file: ChunkFileId, group: u32) -> [u8; FILE_KEY_BYTES + 4] {
    let mut key = [0; FILE_KEY_BYTES + 4];
    key[..FILE_KEY_BYTES].copy_from_slice(&file_key(tag, file));
    key[FILE_KEY_BYTES..].copy_from_slice(&group.to_be_bytes()); // why big-endian: keys are ordered by their bytes
    key
}

/// The chunk file, and the group if there is one, that a key is about.
pub(crate) fn parse_key(key: &[u8]) -> Option<(ChunkFileId, Option<u32>)> {
    let (head, rest) = key.split_first_chunk::<FILE_KEY_BYTES>()?;
    let inode = head[1..9].iter().fold(0_u64, |n, byte| n << 8 | u64::from(*byte));
    let index = u16::from(head[9]) << 8 | u16::from(head[10]);
    let file = ChunkFileId { inode: InodeId(inode), index };
    match rest {
        [] => Some((file, None)),
        [a, b, c, d] => Some((file, Some([a, b, c, d].iter().fold(0, |n, byte| n << 8 | u32::from(**byte))))),
        _ => None,
    }
}

/// The key of a fenced session.
pub(crate) fn fence_key(session: SessionId) -> [u8; 9] {
    let mut key = [tag::FENCE; 9];
    key[1..].copy_from_slice(&session.0.to_be_bytes()); // why big-endian: as all numbers in keys
    key
}

/// Its value: fences are numbered in the order in which they came.
pub(crate) fn fence_value(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// The session and the number of a fence.
pub(crate) fn parse_fence(key: &[u8], value: &[u8]) -> Option<(SessionId, u64)> {
    let session = key.get(1..).filter(|rest| rest.len() == 8)?;
    let session = session.iter().fold(0_u64, |n, byte| n << 8 | u64::from(*byte));
    Some((SessionId(session), u64::from_le_bytes(value.try_into().ok()?)))
}

/// The checksums of 64 blocks, each present or absent (a hole).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    present: u64,
    crcs: [u32; GROUP_BLOCKS as usize],
}

impl Row {
    /// All blocks absent.
    pub const EMPTY: Row = Row { present: 0, crcs: [0; GROUP_BLOCKS as usize] };

    pub fn get(&self, slot: usize) -> Option<u32> {
        (self.present >> slot & 1 == 1).then(|| self.crcs[slot])
    }

    pub fn set(&mut self, slot: usize, crc: Option<u32>) {
        match crc {
            Some(crc) => {
                self.present |= 1 << slot;
                self.crcs[slot] = crc;
            }
            None => self.present &= !(1 << slot),
        }
    }

    /// Number of present blocks.
    pub fn count(&self) -> u64 {
        u64::from(self.present.count_ones())
    }

    pub fn present(&self) -> u64 {
        self.present
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut bytes = [0; 4 * GROUP_BLOCKS as usize];
        let (places, _) = bytes.as_chunks_mut::<4>();
        if self.present == u64::MAX {
            places.iter_mut().zip(&self.crcs).for_each(|(place, crc)| *place = crc.to_le_bytes());
        } else {
            let crcs = (0..GROUP_BLOCKS as usize).filter_map(|slot| self.get(slot));
            places.iter_mut().zip(crcs).for_each(|(place, crc)| *place = crc.to_le_bytes());
        }
        out.clear();
        out.extend_from_slice(&self.present.to_le_bytes());
        out.extend_from_slice(&bytes[..4 * self.count() as usize]);
    }

    pub fn decode(bytes: &[u8]) -> Option<Row> {
        let (present, crcs) = bytes.split_first_chunk::<8>()?;
        let mut row = Row { present: u64::from_le_bytes(*present), ..Row::EMPTY };
        let (stored, odd) = crcs.as_chunks::<4>();
        if stored.len() != row.count() as usize || !odd.is_empty() {
            return None;
        }
        let mut stored = stored.iter().map(|crc| u32::from_le_bytes(*crc));
        if row.present == u64::MAX {
            row.crcs.iter_mut().zip(stored).for_each(|(crc, stored)| *crc = stored);
            return Some(row);
        }
        for slot in 0..GROUP_BLOCKS as usize {
            if row.present >> slot & 1 == 1 {
                row.crcs[slot] = stored.next()?;
            }
        }
        Some(row)
    }
}

/// What is about to happen to a chunk file; in the log before it happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// The blocks from `first` on get content with these checksums.
    Write { first: u64, crcs: Vec<u32> },
    /// The file is cut to `len` bytes; its last block, if it is present and cut, then has this checksum.
    Truncate { len: u64, tail: Option<u32> },
    /// So many blocks from `first` on become absent.
    Drop { first: u64, count: u64 },
}

impl Intent {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(17);
        match self {
            Intent::Write { first, crcs } => {
                out.push(1);
                out.extend_from_slice(&first.to_le_bytes());
                crcs.iter().for_each(|crc| out.extend_from_slice(&crc.to_le_bytes()));
            }
            Intent::Truncate { len, tail } => {
                out.push(2);
                out.extend_from_slice(&len.to_le_bytes());
                tail.iter().for_each(|crc| out.extend_from_slice(&crc.to_le_bytes()));
            }
            Intent::Drop { first, count } => {
                out.push(3);
                out.extend_from_slice(&first.to_le_bytes());
                out.extend_from_slice(&count.to_le_bytes());
            }
        }
        out
    }

    pub fn decode(bytes: &[u8]) -> Option<Intent> {
        let (kind, rest) = bytes.split_first()?;
        let (first, rest) = rest.split_first_chunk::<8>()?;
        let first = u64::from_le_bytes(*first);
        let (crcs, odd) = rest.as_chunks::<4>();
        let mut crcs = crcs.iter().map(|crc| u32::from_le_bytes(*crc));
        match kind {
            1 if odd.is_empty() => Some(Intent::Write { first, crcs: crcs.collect() }),
            2 if rest.is_empty() || rest.len() == 4 => Some(Intent::Truncate { len: first, tail: crcs.next_back() }),
            3 => Some(Intent::Drop { first, count: u64::from_le_bytes(rest.try_into().ok()?) }),
            _ => None,
        }
    }
}

/// A removed chunk file: its content is still to be removed, or is gone; and when it was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dead {
    pub gone: bool,
    pub unlinked_at_s: u64,
}

impl Dead {
    pub fn encode(self) -> [u8; 9] {
        let mut out = [u8::from(self.gone); 9];
        out[1..].copy_from_slice(&self.unlinked_at_s.to_le_bytes());
        out
    }

    pub fn decode(bytes: &[u8]) -> Option<Dead> {
        let (gone, at) = bytes.split_first()?;
        Some(Dead { gone: *gone == 1, unlinked_at_s: u64::from_le_bytes(at.try_into().ok()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_like_numbers_and_parse() {
        let file = |inode, index| ChunkFileId { inode: InodeId(inode), index };
        let a = group_key(tag::CHECKSUMS, file(255, 1), 255);
        let b = group_key(tag::CHECKSUMS, file(255, 1), 256);
        let c = group_key(tag::CHECKSUMS, file(256, 0), 0);
        assert!(a < b && b < c);
        assert_eq!(parse_key(&b), Some((file(255, 1), Some(256))));
        assert_eq!(parse_key(&file_key(tag::DEAD, file(7, 9))), Some((file(7, 9), None)));
        assert_eq!(parse_key(b"B"), None);
    }

    #[test]
    fn rows_round_trip() {
        let mut row = Row::EMPTY;
        for slot in [0, 1, 31, 63] {
            row.set(slot, Some(slot as u32 * 1_000_003));
        }
        row.set(1, None);
        let mut bytes = Vec::new();
        row.encode(&mut bytes);
        assert_eq!(bytes.len(), 8 + 3 * 4);
        let back = Row::decode(&bytes).unwrap();
        assert_eq!((0..64).map(|s| back.get(s)).collect::<Vec<_>>(), (0..64).map(|s| row.get(s)).collect::<Vec<_>>());
        assert!(Row::decode(&bytes[..bytes.len() - 1]).is_none());
        assert!(Row::decode(&bytes[..5]).is_none());
        (0..64).for_each(|slot| row.set(slot, Some(!(slot as u32))));
        row.encode(&mut bytes);
        assert_eq!((bytes.len(), Row::decode(&bytes)), (8 + 64 * 4, Some(row)));
    }

    #[test]
    fn intents_round_trip() {
        for intent in [
            Intent::Write { first: 9, crcs: vec![1, 2, 3] },
            Intent::Truncate { len: 5, tail: Some(7) },
            Intent::Truncate { len: 5, tail: None },
            Intent::Drop { first: 1, count: 1 << 40 },
        ] {
            assert_eq!(Intent::decode(&intent.encode()), Some(intent));
        }
        assert_eq!(Intent::decode(&[9; 17]), None);
        let dead = Dead { gone: true, unlinked_at_s: 77 };
        assert_eq!(Dead::decode(&dead.encode()), Some(dead));
    }
}
