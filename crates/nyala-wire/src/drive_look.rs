// SPDX-License-Identifier: Apache-2.0

//! What a drive service says of a drive.

use crate::ids::ClusterId;
use minicbor::{Decode, Encode};

/// How a drive is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct DriveLook {
    /// The directory has a drive; otherwise why it is none.
    #[n(0)]
    pub missing: Option<String>,
    /// The largest epoch that it was held with.
    #[n(1)]
    pub epoch: u64,
    /// What changes when something that was not synced may be lost.
    #[n(2)]
    pub instance: String,
    /// Bytes in all; 0: not known.
    #[n(3)]
    pub total_bytes: u64,
    /// Bytes that are free.
    #[n(4)]
    pub free_bytes: u64,
    /// The directory is there and empty: a drive can be made of it.
    #[n(5)]
    pub empty: bool,
    /// The superblock of its set, as it is in its table; empty without one.
    #[cbor(n(6), with = "minicbor::bytes")]
    pub superblock: Vec<u8>,
    /// The target on its set, as it is in its table; empty without one.
    #[cbor(n(7), with = "minicbor::bytes")]
    pub target: Vec<u8>,
    /// The set that took the directory when it was a spare.
    #[n(8)]
    pub claim: Option<ClusterId>,
    /// The set that it goes with: its deletion was begun.
    #[n(9)]
    pub deleted: Option<ClusterId>,
}
