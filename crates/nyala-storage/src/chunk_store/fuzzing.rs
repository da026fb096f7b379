// SPDX-License-Identifier: Apache-2.0

//! Fuzz targets of a storage target's rows, and of regions: `crates/nyala-fuzz` runs them. Each takes any bytes, says
//! whether they were accepted, and panics on a wrong result.

use super::losses::Losses;
use super::region::Region;
use super::rows::{Dead, Intent, Row, fence_key, fence_value, file_key, group_key, parse_fence, parse_key, tag};
use nyala_wire::codec;
use nyala_wire::storage::{BLOCK_BYTES, MAX_IO_BYTES};

/// Keys and values of every kind of row.
pub fn rows(bytes: &[u8]) -> bool {
    let key = parse_key(bytes).map(|(file, group)| {
        let again = match group {
            Some(group) => group_key(bytes[0], file, group).to_vec(),
            None => file_key(bytes[0], file).to_vec(),
        };
        assert_eq!(again, bytes);
    });
    let row = Row::decode(bytes).map(|row| {
        let mut again = Vec::new();
        row.encode(&mut again);
        assert_eq!(again, bytes);
        assert_eq!((0..64).filter(|slot| row.get(*slot).is_some()).count() as u64, row.count());
    });
    let intent = Intent::decode(bytes).map(|intent| assert_eq!(intent.encode(), bytes));
    let dead = Dead::decode(bytes).map(|dead| assert_eq!(Dead::decode(&dead.encode()), Some(dead)));
    let losses = Losses::decode(bytes).map(|losses| assert_eq!(Losses::decode(&losses.encode()), Some(losses)));
    let fence = bytes.split_at_checked(9).and_then(|(key, value)| parse_fence(key, value));
    if let Some((session, number)) = fence {
        let mut key = bytes[..9].to_vec();
        key[0] = tag::FENCE;
        assert_eq!((fence_key(session).to_vec(), fence_value(number).to_vec()), (key, bytes[9..].to_vec()));
    }
    fence.is_some() || [key, row, intent, dead, losses].contains(&Some(()))
}

/// A part of a chunk file out of a message: number of bytes of its data (u32), then its header.
pub fn region(bytes: &[u8]) -> bool {
    static DATA: [u8; 2 * MAX_IO_BYTES as usize] = [7; 2 * MAX_IO_BYTES as usize];
    let Some((len, header)) = bytes.split_first_chunk::<4>() else { return false };
    let Ok(header) = codec::decode(header) else { return false };
    let Some(data) = DATA.get(..u32::from_le_bytes(*len) as usize) else { return false };
    let region = Region { header, data: data.into() };
    if region.check().is_err() {
        return false;
    }
    let (mut at, mut there) = (region.header.start, 0);
    let mut before = None;
    for (offset, bytes, has) in region.runs() {
        assert_eq!(offset, at, "without a gap");
        assert!(bytes > 0 && offset.is_multiple_of(BLOCK_BYTES) && before != Some(has));
        at += bytes;
        there += if has { bytes } else { 0 };
        before = Some(has);
    }
    assert!(at <= region.header.len.min(region.header.end).max(region.header.start));
    assert_eq!(there, region.data.len() as u64);
    true
}
