// SPDX-License-Identifier: Apache-2.0

//! What drive sets and the scrub keep in tables.

use nyala_raid::intent::Intent;
use nyala_raid::options::SetOptions;
use nyala_raid::row::Row;
use nyala_raid::superblock::Superblock;
use nyala_raid::walk::Scrub;
use nyala_storage::scrub::logic::damage::Damage;
use nyala_storage::scrub::logic::progress::Progress;
use nyala_wire::checksum::crc32c;
use std::fmt::Debug;

/// What is read is the same when it is written and read again.
fn same<T: PartialEq + Debug>(
    bytes: &[u8],
    decode: impl Fn(&[u8]) -> Option<T>,
    encode: impl Fn(&T) -> Vec<u8>,
) -> bool {
    decode(bytes).is_some_and(|value| {
        assert_eq!(decode(&encode(&value)).as_ref(), Some(&value));
        true
    })
}

/// A superblock: as it is, and with a checksum that fits.
pub fn superblock(bytes: &[u8]) -> bool {
    let mut mended = bytes.to_vec();
    if let Some(covered) = mended.len().checked_sub(4) {
        let crc = crc32c(&mended[..covered]);
        mended[covered..].copy_from_slice(&crc.to_le_bytes());
    }
    same(bytes, Superblock::decode, Superblock::encode) | same(&mended, Superblock::decode, Superblock::encode)
}

/// A stripe's row, what is logged of a write, what an operator has set, and where a scrub is.
pub fn rows(bytes: &[u8]) -> bool {
    const BLOCKS: usize = 16;
    let row = same(bytes, |bytes| Row::decode(bytes, BLOCKS), Row::encode);
    if let (true, Some(row)) = (row, Row::decode(bytes, BLOCKS)) {
        assert!(row.columns.values().all(|column| column.sums.len() == BLOCKS && column.version <= row.version()));
        let mut merged = row.clone();
        merged.merge(&row);
        assert_eq!(merged, row);
    }
    let options = same(bytes, SetOptions::decode, SetOptions::encode);
    row | options | same(bytes, Intent::decode, Intent::encode) | same(bytes, Scrub::decode, Scrub::encode)
}

/// Where a target's scrub is, and a damaged piece that it found.
pub fn scrub(bytes: &[u8]) -> bool {
    let damage = same(bytes, Damage::decode, |damage| damage.encode().to_vec());
    damage | same(bytes, Progress::decode, Progress::encode)
}
