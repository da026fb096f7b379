// SPDX-License-Identifier: Apache-2.0

//! Ranges of ids.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// Most ranges of ids in one rule, of users and of groups each.
pub const MAX_ID_RANGES: usize = 32;

/// Ids of a client's host, and as what they count in the cluster: the first one as the first one, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct IdRange {
    /// First id on the client's host.
    #[n(0)]
    pub client: u32,
    /// First id in the cluster.
    #[n(1)]
    pub server: u32,
    /// How many, at least one.
    #[n(2)]
    pub count: u32,
}

impl IdRange {
    /// As what an id of the host counts, if the range has it.
    pub(super) fn to_server(self, id: u32) -> Option<u32> {
        let at = id.checked_sub(self.client).filter(|at| *at < self.count)?;
        self.server.checked_add(at)
    }

    /// As what an id of the cluster is shown, if the range has it.
    pub(super) fn to_client(self, id: u32) -> Option<u32> {
        IdRange { client: self.server, server: self.client, count: self.count }.to_server(id)
    }
}

/// Ids that no range has are shown as the anonymous one, so that nobody of the client's host takes them for its own.
pub(super) fn to_client(ranges: &[IdRange], anonymous: u32, id: u32) -> u32 {
    match ranges {
        [] => id,
        ranges => ranges.iter().find_map(|range| range.to_client(id)).unwrap_or(anonymous),
    }
}

/// What is wrong with ranges.
pub(super) fn check(what: &str, ranges: &[IdRange]) -> Result<(), String> {
    if ranges.len() > MAX_ID_RANGES {
        return Err(format!("a rule has at most {MAX_ID_RANGES} ranges of {what} ids"));
    }
    // 2^32 - 1 stands for no id at all.
    let last = |first: u32, count: u32| u64::from(first) + u64::from(count) <= u64::from(u32::MAX);
    if ranges
        .iter()
        .any(|range| range.count == 0 || !last(range.client, range.count) || !last(range.server, range.count))
    {
        return Err(format!("a range of {what} ids has at least one id, and none beyond 4294967294"));
    }
    let meet = |a: (u32, u32), b: (u32, u32)| a.0 < b.0.saturating_add(b.1) && b.0 < a.0.saturating_add(a.1);
    for (at, one) in ranges.iter().enumerate() {
        let with = |other: &IdRange| {
            meet((one.client, one.count), (other.client, other.count))
                || meet((one.server, one.count), (other.server, other.count))
        };
        if ranges[..at].iter().any(with) {
            return Err(format!("ranges of {what} ids overlap; each id of either side is in one range at most"));
        }
    }
    Ok(())
}
