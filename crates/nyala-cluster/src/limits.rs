// SPDX-License-Identifier: Apache-2.0

//! Sizes that are the same for every cluster.

use nyala_wire::PoolId;

/// Slots that a new metadata target gets.
pub const SLOTS_PER_TARGET: u16 = 64;
/// Most nodes of a cluster; with [`MAX_ADDRESSES`] it keeps a snapshot of the state within one value of the store.
pub const MAX_NODES: usize = 8192;
/// Most addresses of one node.
pub const MAX_ADDRESSES: usize = 32;
/// Most targets of one node.
pub const MAX_TARGETS_PER_NODE: usize = 256;
/// The storage pool that every cluster has from the start.
pub const DEFAULT_POOL: PoolId = PoolId(1);
/// Most members of a mirror group.
pub const MAX_MEMBERS: usize = 4;
