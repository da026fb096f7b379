// SPDX-License-Identifier: Apache-2.0

//! Objects, stripes and blocks.

use std::ops::Range;

/// Bytes with a checksum of their own, and the unit of every access to a drive.
pub const BLOCK_BYTES: usize = 4096;

/// An array of bytes in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u128);

/// A stripe of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StripeId {
    /// The object.
    pub object: ObjectId,
    /// From 0.
    pub number: u64,
}

/// A part of an object within one stripe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripePart {
    /// The stripe.
    pub stripe: StripeId,
    /// The bytes within its data.
    pub bytes: Range<usize>,
}

/// The blocks that a range of bytes touches.
pub(crate) fn blocks_of(bytes: &Range<usize>) -> Range<usize> {
    if bytes.is_empty() { 0..0 } else { bytes.start / BLOCK_BYTES..bytes.end.div_ceil(BLOCK_BYTES) }
}
