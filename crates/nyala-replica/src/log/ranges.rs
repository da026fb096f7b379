// SPDX-License-Identifier: Apache-2.0

//! Ranges of keys of the tables, as messages name them, and what is said of their rows.

use minicbor::{Decode, Encode};

/// A member that is being given everything: how far that is.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct CopyState {
    /// Number of the copy.
    #[n(0)]
    pub copy: u64,
    /// It has all rows before this key.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub cursor: Vec<u8>,
}

/// A range of keys whose rows are to be summed up.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct RangeSum {
    /// Number of the question; only its answer counts.
    #[n(0)]
    pub number: u64,
    /// First key.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub from: Vec<u8>,
    /// The key behind the range; empty: to the end.
    #[cbor(n(2), with = "minicbor::bytes")]
    pub to: Vec<u8>,
    /// Rows that are looked at: who has more differs anyway.
    #[n(3)]
    pub most: u32,
}

/// The rows of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Summed {
    /// Number of rows.
    #[n(0)]
    pub rows: u32,
    /// A hash of their keys and values.
    #[n(1)]
    pub hash: u64,
}
