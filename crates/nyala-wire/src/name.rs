// SPDX-License-Identifier: Apache-2.0

//! Names of directory entries: 1 to 255 bytes, no NUL, no slash, neither `.` nor `..`.

use crate::error::{ErrorCode, WireError};
use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};
use std::fmt;

/// A valid name of a directory entry. Bytes, not text: what an application wrote is what it gets back.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Box<[u8]>);

impl Name {
    /// Longest name in bytes, as everywhere on Linux.
    pub const MAX_BYTES: usize = 255;

    /// Checks a name. `ENAMETOOLONG` over 255 bytes, `EINVAL` if empty, `.`/`..`, or holding NUL or a slash.
    pub fn new(bytes: &[u8]) -> Result<Name, WireError> {
        if bytes.len() > Self::MAX_BYTES {
            return Err(ErrorCode::NAME_TOO_LONG.with("a name has at most 255 bytes"));
        }
        // To the end in any case: then many bytes are looked at at once.
        let has_bad = bytes.iter().fold(false, |bad, &byte| bad | (byte == 0) | (byte == b'/'));
        if bytes.is_empty() || bytes == b"." || bytes == b".." || has_bad {
            return Err(ErrorCode::INVALID.with("not a valid name of a directory entry"));
        }
        Ok(Name(bytes.into()))
    }

    /// The bytes of the name.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

impl<C> Encode<C> for Name {
    fn encode<W: encode::Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
        e.bytes(&self.0)?.ok()
    }
}

impl<'b, C> Decode<'b, C> for Name {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        Name::new(d.bytes()?).map_err(|_| decode::Error::message("not a valid name"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_names() {
        assert!(Name::new(&[b'x'; 255]).is_ok());
        assert!(Name::new(b"...").is_ok());
        assert!(Name::new(&[0xff, 0xfe]).is_ok());
        assert_eq!(Name::new(&[b'x'; 256]).unwrap_err().code, ErrorCode::NAME_TOO_LONG);
        for bad in [&b""[..], b".", b"..", b"a/b", b"a\0b"] {
            assert_eq!(Name::new(bad).unwrap_err().code, ErrorCode::INVALID);
        }
    }
}
