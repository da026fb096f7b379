// SPDX-License-Identifier: Apache-2.0

//! Fuzz targets of the list of files, and of the file that says which set has taken a directory: `crates/nyala-fuzz` runs them.

use crate::directory::{HEAD_BYTES, Listing};
use nyala_wire::checksum::crc32c;

/// Whether bytes are accepted as a list: as they are, and with a length and a checksum that fit. Panics on a wrong result.
pub fn listing(bytes: &[u8]) -> bool {
    let mut mended = bytes.to_vec();
    if let Some(length) = mended.len().checked_sub(HEAD_BYTES + 4) {
        let covered = HEAD_BYTES + length;
        // Inputs are far below 4 GiB.
        mended[24..HEAD_BYTES].copy_from_slice(&(length as u32).to_le_bytes());
        let crc = crc32c(&mended[..covered]);
        mended[covered..].copy_from_slice(&crc.to_le_bytes());
    }
    let read = |bytes: &[u8]| {
        Listing::decode(bytes).is_some_and(|list| {
            assert_eq!(Listing::decode(&list.encode()).as_ref(), Some(&list));
            true
        })
    };
    read(bytes) | read(&mended)
}

/// Who has taken a directory, as a file there says.
pub fn claim(bytes: &[u8]) -> bool {
    crate::claim::decode(bytes).is_some_and(|set| {
        assert_eq!(crate::claim::encode(set), bytes);
        true
    })
}
