// SPDX-License-Identifier: Apache-2.0

//! The list of files, byte by byte.

use super::*;

fn list() -> Listing {
    let files = [("log/a", 3, 16 << 20), ("table/tree", 4, 0)];
    let files = files.map(|(name, object, bytes)| (name.to_owned(), Entry { object, bytes })).into();
    Listing { generation: 7, next_object: 5, files, removed: vec![2] }
}

#[test]
fn bytes_as_documented() {
    let mut right = b"NYALADR1".to_vec();
    right.extend([7, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 57, 0, 0, 0]);
    right.extend(b"\x05log/a");
    right.extend([3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
    right.extend(b"\x0atable/tree");
    right.extend([4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    right.extend([0, 2, 0, 0, 0, 0, 0, 0, 0]);
    right[24] = (right.len() - HEAD_BYTES) as u8;
    right.extend(nyala_wire::checksum::crc32c(&right).to_le_bytes());
    assert_eq!(list().encode(), right);
}

#[test]
fn every_flipped_bit_and_every_cut_is_no_list() {
    let good = list().encode();
    let mut padded = good.clone();
    padded.resize(4096, 0);
    assert_eq!(Listing::decode(&padded), Some(list()));
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Listing::decode(&bad), None, "bit {bit}");
    }
    for len in 0..good.len() {
        assert_eq!(Listing::decode(&good[..len]), None, "cut at {len}");
    }
}
