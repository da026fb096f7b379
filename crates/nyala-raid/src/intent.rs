// SPDX-License-Identifier: Apache-2.0

//! The log of a set: what is about to happen, in the table of every drive that takes part.
//!
//! Each drive logs its own new blocks of a stripe. Nothing is written in place before the log is on disk on all of them, so what a crash leaves
//! is either complete on all that are there (and is done again: the drives have one version of the stripe, from which a lost one follows), or
//! was not begun (and is dropped: the old version is untouched). No block is logged more than once.

use crate::ids::{ObjectId, StripeId};
use crate::reader::Reader;
use bytes::Bytes;
use std::ops::Range;

/// Version of the encoding.
const FORMAT: u8 = 1;

/// One drive's record of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// A stripe that was not there is written without a log: until the next checkpoint nothing in it has been promised to survive a power cut.
    Fresh {
        /// The stripe.
        stripe: StripeId,
    },
    /// Blocks of a stripe are overwritten.
    Logged {
        /// The stripe.
        stripe: StripeId,
        /// All members that log it.
        members: Vec<usize>,
        /// First block of this drive's strip that changes.
        block: usize,
        /// The new blocks.
        bytes: Bytes,
        /// This drive's row afterwards, encoded.
        row: Vec<u8>,
    },
    /// Stripes are removed.
    Discard {
        /// The object.
        object: ObjectId,
        /// The numbers of its stripes.
        stripes: Range<u64>,
    },
}

impl Intent {
    /// As it lies in a table.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        let mut put = |parts: &[&[u8]]| parts.iter().for_each(|part| out.extend_from_slice(part));
        match self {
            Intent::Fresh { stripe } => {
                put(&[&[1], &stripe.object.0.to_le_bytes(), &stripe.number.to_le_bytes()]);
            }
            Intent::Logged { stripe, members, block, bytes, row } => {
                put(&[&[2], &stripe.object.0.to_le_bytes(), &stripe.number.to_le_bytes()]);
                // At most 128 members, 256 blocks, and rows of some KiB.
                put(&[&[members.len() as u8], &members.iter().map(|member| *member as u8).collect::<Vec<_>>()]);
                put(&[&(*block as u32).to_le_bytes(), &(row.len() as u32).to_le_bytes(), row, bytes]);
            }
            Intent::Discard { object, stripes } => {
                put(&[&[3], &object.0.to_le_bytes(), &stripes.start.to_le_bytes(), &stripes.end.to_le_bytes()]);
            }
        }
        out
    }

    /// From a table.
    pub fn decode(bytes: &[u8]) -> Option<Intent> {
        let mut reader = Reader(bytes);
        if reader.u8()? != FORMAT {
            return None;
        }
        let kind = reader.u8()?;
        let object = ObjectId(reader.u128()?);
        let number = reader.u64()?;
        let stripe = StripeId { object, number };
        let intent = match kind {
            1 => Intent::Fresh { stripe },
            2 => {
                let members = usize::from(reader.u8()?);
                let members = reader.take(members)?.iter().map(|member| usize::from(*member)).collect();
                let (block, row) = (reader.u32()? as usize, reader.u32()? as usize);
                let row = reader.take(row)?.to_vec();
                let bytes = Bytes::copy_from_slice(reader.take(reader.0.len())?);
                Intent::Logged { stripe, members, block, bytes, row }
            }
            3 => Intent::Discard { object, stripes: number..reader.u64()? },
            _ => return None,
        };
        reader.end()?;
        Some(intent)
    }

    /// Whether what was in a stripe before it has no meaning any more.
    pub fn resets(&self, other: StripeId) -> bool {
        match self {
            Intent::Fresh { stripe } => *stripe == other,
            Intent::Logged { .. } => false,
            Intent::Discard { object, stripes } => *object == other.object && stripes.contains(&other.number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRIPE: StripeId = StripeId { object: ObjectId(0x0102), number: 3 };

    #[test]
    fn bytes_are_as_documented() {
        let object = [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let three = [3, 0, 0, 0, 0, 0, 0, 0];
        let logged = Intent::Logged {
            stripe: STRIPE,
            members: vec![0, 4],
            block: 1,
            bytes: vec![8, 9].into(),
            row: vec![7, 6, 5],
        };
        let tail: &[u8] = &[2, 0, 4, 1, 0, 0, 0, 3, 0, 0, 0, 7, 6, 5, 8, 9];
        let cases = [
            (Intent::Fresh { stripe: STRIPE }, [&[1, 1], object.as_slice(), &three].concat()),
            (logged, [&[1, 2], object.as_slice(), &three, tail].concat()),
            (
                Intent::Discard { object: STRIPE.object, stripes: 3..u64::MAX },
                [&[1, 3], object.as_slice(), &three, &[255; 8]].concat(),
            ),
        ];
        for (intent, bytes) in cases {
            assert_eq!(intent.encode(), bytes);
            assert_eq!(Intent::decode(&bytes), Some(intent));
            assert_eq!(Intent::decode(&bytes[..20]), None);
            assert_eq!(Intent::decode(&[&[2], &bytes[1..]].concat()), None);
        }
    }
}
