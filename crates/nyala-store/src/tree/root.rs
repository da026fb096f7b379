// SPDX-License-Identifier: Apache-2.0

//! The bytes of a header page: where the tree of a commit begins. Pure. `docs/format-store.md` is the same in prose.

use nyala_wire::checksum::crc32c;

use super::cell::Pointer;
use super::page::PAGE_BYTES;
use crate::ordered::CheckpointMeta;

/// Pages at the start of the file: two copies of the header of each of the last two commits.
pub(crate) const HEADER_PAGES: u64 = 4;
const MAGIC: [u8; 8] = *b"NYALATRE";
const VERSION: u16 = 1;
const CRC_AT: usize = PAGE_BYTES - 4;

/// The list of free pages as it lies in the file.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FreeList {
    /// First page; the others follow it.
    pub page: u64,
    /// Length of the encoding with what fills its last page.
    pub bytes: u32,
    /// CRC-32C of these bytes.
    pub crc: u32,
}

impl FreeList {
    /// Pages that it takes.
    pub(crate) fn pages(self) -> u64 {
        u64::from(self.bytes).div_ceil(PAGE_BYTES as u64)
    }
}

/// What a commit leaves.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Root {
    /// Number of the commit; 0 is the making of the file.
    pub commit: u64,
    /// What the checkpoint contains; `None` in a tree that was just made.
    pub meta: Option<CheckpointMeta>,
    /// The root page and its level (0 is a leaf); `None` for an empty tree.
    pub root: Option<(Pointer, u8)>,
    /// What is free once this commit is durable.
    pub free: FreeList,
    /// Pages of the file that were ever used.
    pub end: u64,
}

impl Root {
    /// The first of the two pages that hold the header of this commit.
    pub(crate) fn slot(&self) -> u64 {
        self.commit % 2 * 2
    }

    /// The page.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(PAGE_BYTES);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        let level = self.root.map_or(u8::MAX, |(_, level)| level);
        out.extend_from_slice(&[u8::from(self.meta.is_some()), level]);
        out.extend_from_slice(&(PAGE_BYTES as u32).to_le_bytes());
        out.extend_from_slice(&self.commit.to_le_bytes());
        let meta = self.meta.unwrap_or(CheckpointMeta { store_id: 0, lsn: 0, sequence: 0, offset: 0 });
        out.extend_from_slice(&meta.store_id.to_le_bytes());
        let root = self.root.map_or(Pointer { page: 0, crc: 0 }, |(root, _)| root);
        for field in [meta.lsn, meta.sequence, meta.offset, self.end, root.page, self.free.page] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        for field in [root.crc, self.free.bytes, self.free.crc] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.resize(CRC_AT, 0);
        let crc = crc32c(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }

    /// The header, or what is wrong with the page.
    pub(crate) fn decode(page: &[u8]) -> Result<Root, String> {
        if page.len() != PAGE_BYTES || page[..8] != MAGIC {
            return Err("it is not a header (bad magic)".into());
        }
        if u32::from_le_bytes(array(page, CRC_AT)) != crc32c(&page[..CRC_AT]) {
            return Err("bad checksum of the header".into());
        }
        let version = u16::from_le_bytes(array(page, 8));
        if version != VERSION {
            return Err(format!("table format version {version}; this program reads version {VERSION}"));
        }
        let bytes = u32::from_le_bytes(array(page, 12));
        if bytes as usize != PAGE_BYTES {
            return Err(format!("pages of {bytes} bytes; this program reads pages of {PAGE_BYTES}"));
        }
        let word = |at| u64::from_le_bytes(array(page, at));
        let half = |at| u32::from_le_bytes(array(page, at));
        let store_id = u128::from_le_bytes(array(page, 24));
        let meta = CheckpointMeta { store_id, lsn: word(40), sequence: word(48), offset: word(56) };
        Ok(Root {
            commit: word(16),
            meta: (page[10] != 0).then_some(meta),
            root: (page[11] != u8::MAX).then_some((Pointer { page: word(72), crc: half(88) }, page[11])),
            free: FreeList { page: word(80), bytes: half(92), crc: half(96) },
            end: word(64),
        })
    }
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

    #[test]
    fn round_trip_and_every_flip_is_seen() {
        let meta = CheckpointMeta { store_id: 1 << 100 | 5, lsn: 7, sequence: 2, offset: 4096 };
        let root = Some((Pointer { page: 77, crc: 0xabcd_ef01 }, 3));
        let free = FreeList { page: 12, bytes: 5000, crc: 99 };
        for (meta, root) in [(Some(meta), root), (None, None)] {
            let header = Root { commit: 9, meta, root, free, end: 1234 };
            let good = header.encode();
            assert_eq!((good.len(), Root::decode(&good)), (PAGE_BYTES, Ok(header)));
            for position in 0..good.len() {
                let mut bad = good.clone();
                bad[position] ^= 4;
                assert!(Root::decode(&bad).is_err(), "flip at {position}");
            }
        }
        assert!(Root::decode(&[0; 100]).is_err());
    }
}
