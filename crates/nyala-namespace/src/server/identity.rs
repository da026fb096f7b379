// SPDX-License-Identifier: Apache-2.0

//! Who a metadata server is.

use nyala_wire::TargetId;

/// Who a server is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The metadata target that it serves.
    pub target: TargetId,
    /// Number of this run: larger than that of every run before.
    pub boot: u64,
    /// Entropy.
    pub seed: u64,
    /// A directory with more entries is split; 0: none is.
    pub split_above: u64,
}
