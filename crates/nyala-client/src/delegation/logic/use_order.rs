// SPDX-License-Identifier: Apache-2.0

//! Which delegations go when there are too many. Pure.

use nyala_wire::InodeId;

/// Of `used`, which says of all delegations when each was last used and in which order they are not, those beyond `limit`
/// which `free` says may go, or some of them: spread evenly over all but those used last. Those used longest ago alone
/// would be the next ones where a directory is walked again and again that is larger than the limit: none would ever be
/// found here.
pub fn surplus(mut used: Vec<(u64, InodeId)>, limit: usize, free: impl Fn(InodeId) -> bool) -> Vec<InodeId> {
    let excess = used.len().saturating_sub(limit);
    if excess == 0 {
        return Vec::new();
    }
    used.sort_unstable();
    let old = used.len() - used.len() / 16;
    let spread = used.iter().take(old).step_by((old / excess).max(1));
    spread.map(|(_, inode)| *inode).filter(|inode| free(*inode)).take(excess).collect()
}
