// SPDX-License-Identifier: Apache-2.0

//! What an operator has set for a set. It lies in the table of every drive, so it counts wherever the set is opened.

use crate::error_counts::ErrorCounts;
use crate::event::ErrorLimit;
use crate::members::Members;
use crate::reader::Reader;

/// Version of the encoding.
const FORMAT: u8 = 1;
/// No rate is set.
const NO_RATE: u64 = u64::MAX;

/// What is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetOptions {
    /// Grows with every change; 0: nothing was ever set.
    pub number: u64,
    /// Bytes a second for rebuild and scrub; 0: as fast as it goes; none: what leaves room for work.
    pub bytes_per_s: Option<u64>,
    /// When a member has made too many errors.
    pub limit: ErrorLimit,
}

impl SetOptions {
    /// As it lies in a table.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        out.extend(self.number.to_le_bytes());
        out.extend(self.bytes_per_s.unwrap_or(NO_RATE).to_le_bytes());
        out.extend(self.limit.errors.to_le_bytes());
        out.extend(self.limit.within_ms.to_le_bytes());
        out
    }

    /// From a table.
    pub fn decode(bytes: &[u8]) -> Option<SetOptions> {
        let mut reader = Reader(bytes);
        if reader.u8()? != FORMAT {
            return None;
        }
        let (number, rate) = (reader.u64()?, reader.u64()?);
        let limit = ErrorLimit { errors: reader.u32()?, within_ms: reader.u64()? };
        reader.end()?;
        Some(SetOptions { number, bytes_per_s: Some(rate).filter(|rate| *rate != NO_RATE), limit })
    }
}

/// Another limit of errors; they are counted from the beginning.
pub fn set_limit(members: &mut Members, limit: ErrorLimit) {
    members.errors = ErrorCounts::new(members.superblock().members.len(), limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_as_documented() {
        let options = SetOptions { number: 2, bytes_per_s: Some(3), limit: ErrorLimit { errors: 4, within_ms: 5 } };
        let mut right = vec![1];
        right.extend([[2, 0, 0, 0, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0, 0, 0]].concat());
        right.extend([4, 0, 0, 0]);
        right.extend([5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!((options.encode(), SetOptions::decode(&right)), (right.clone(), Some(options)));
        assert_eq!(SetOptions::decode(&right[..28]), None);
        right[0] = 2;
        assert_eq!(SetOptions::decode(&right), None);
        assert_eq!(SetOptions::decode(&SetOptions::default().encode()), Some(SetOptions::default()));
    }
}
