// SPDX-License-Identifier: Apache-2.0

//! Fuzz targets of the handshake: `crates/nyala-fuzz` runs them. Each takes any bytes, says whether they were accepted, and
//! panics on a wrong result.

use crate::hello::{Hello, MAGIC, MAX_MESSAGE, PREAMBLE_BYTES, Preamble};
use crate::secret::key_file::{self, KeyFile};

/// The preamble of a handshake message, which comes in clear from anybody: as it is, and with the right first bytes.
pub fn preamble(bytes: &[u8]) -> bool {
    let Some(first) = bytes.first_chunk::<PREAMBLE_BYTES>() else { return false };
    let mut mended = *first;
    mended[..4].copy_from_slice(&MAGIC);
    [*first, mended].iter().any(|bytes| {
        Preamble::decode(bytes).is_ok_and(|preamble| {
            assert!(preamble.length <= MAX_MESSAGE);
            assert_eq!(Preamble::decode(&preamble.encode()), Ok(preamble));
            true
        })
    })
}

/// What a holder of the secret says of itself.
pub fn hello(bytes: &[u8]) -> bool {
    let Ok(hello) = Hello::decode(bytes) else { return false };
    // Bytes that are no text become longer; encoding cuts them off again.
    let encoded = hello.encode();
    assert!(encoded.len() <= MAX_MESSAGE);
    let again = Hello::decode(&encoded).expect("what was decoded can be encoded");
    assert!(hello.software.starts_with(&again.software));
    assert_eq!(Hello { software: hello.software.clone(), ..again }, hello);
    true
}

/// A secret file that lists keys, from whoever may write it: as it is, and with the right first line.
pub fn key_file(bytes: &[u8]) -> bool {
    let mended = [key_file::FIRST_LINE.as_bytes(), b"\n", bytes].concat();
    [bytes, &mended].into_iter().any(|bytes| {
        KeyFile::parse(bytes).is_ok_and(|file| {
            assert!((1..=key_file::MAX_KEYS).contains(&file.keys.len()) && key_file::is_key_file(bytes));
            assert_eq!(KeyFile::parse(file.print().as_bytes()), Ok(file));
            true
        })
    })
}
