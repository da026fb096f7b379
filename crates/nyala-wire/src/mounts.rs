// SPDX-License-Identifier: Apache-2.0

//! Mounts that serve metrics, as management knows them.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// For so long management knows a mount after it was announced, seconds.
pub const MOUNT_KNOWN_S: u64 = 60;

/// A mount whose metrics can be had.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize)]
pub struct MountAt {
    /// Its host and mount point, `host:/mnt`.
    #[n(0)]
    pub name: String,
    /// Where it serves `/metrics`, `ip:port` text. An unspecified address stands for the one that it asks from.
    #[n(1)]
    pub address: String,
}
