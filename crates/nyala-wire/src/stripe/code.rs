// SPDX-License-Identifier: Apache-2.0

//! Erasure codes of files: how many chunk files have data, and how many have parity over them.
//!
//! Stripe number `s` of an encoded file is the chunks `s * data` to `s * data + data - 1`, one in each of the first `data` chunk files, at
//! `s * chunk_bytes` of it. The other chunk files have the parity of these at the same place (`nyala_parity`'s N+M). Where a data chunk is shorter than the
//! stripe's first, or is not there, it counts as filled up with zeros; parity is as long as the first.

use crate::error::{ErrorCode, WireError};
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// An erasure code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode, Serialize, Deserialize)]
pub struct ErasureCode {
    /// Chunk files with data: [`ErasureCode::MIN_DATA`] to [`ErasureCode::MAX_DATA`].
    #[n(0)]
    pub data: u8,
    /// Chunk files with parity, and how many of all may be lost: 1 to [`ErasureCode::MAX_PARITY`].
    #[n(1)]
    pub parity: u8,
}

impl ErasureCode {
    /// Fewest chunk files with data.
    pub const MIN_DATA: u8 = 2;
    /// Most of them.
    pub const MAX_DATA: u8 = 16;
    /// Most chunk files with parity.
    pub const MAX_PARITY: u8 = 4;

    /// All its chunk files.
    pub fn width(self) -> u16 {
        u16::from(self.data) + u16::from(self.parity)
    }

    /// Refuses what no file may have.
    pub fn check(self) -> Result<(), WireError> {
        let fits =
            (Self::MIN_DATA..=Self::MAX_DATA).contains(&self.data) && (1..=Self::MAX_PARITY).contains(&self.parity);
        match fits {
            true => Ok(()),
            false => Err(ErrorCode::INVALID.with("an erasure code has 2 to 16 parts of data and 1 to 4 of parity")),
        }
    }

    /// As a number of 16 bits; 0 is none.
    pub(super) fn number(code: Option<ErasureCode>) -> u64 {
        code.map_or(0, |code| u64::from(code.data) | u64::from(code.parity) << 8)
    }

    /// The way back; `None` if that is no code.
    pub(super) fn from_number(number: u64) -> Option<Option<ErasureCode>> {
        if number == 0 {
            return Some(None);
        }
        let code = ErasureCode { data: number as u8, parity: u8::try_from(number >> 8).ok()? };
        code.check().is_ok().then_some(Some(code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_codes_are_codes() {
        for data in 0..=20 {
            for parity in 0..=6 {
                let code = ErasureCode { data, parity };
                let is_one = (2..=16).contains(&data) && (1..=4).contains(&parity);
                assert_eq!(code.check().is_ok(), is_one, "{code:?}");
                let back = ErasureCode::from_number(ErasureCode::number(Some(code)));
                assert_eq!(back == Some(Some(code)), is_one, "{code:?}");
            }
        }
        assert_eq!((ErasureCode::from_number(0), ErasureCode::from_number(1 << 16)), (Some(None), None));
    }
}
