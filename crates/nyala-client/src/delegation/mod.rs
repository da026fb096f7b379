// SPDX-License-Identifier: Apache-2.0

//! What this client may cache, under delegations that metadata servers grant and revoke: the cache, admission of
//! operations to it, revocation, and local changes.

pub mod logic;

pub(crate) mod admission;
mod begin_change;
pub(crate) mod cache;
pub(crate) mod local_change;
pub(crate) mod poll;
pub(crate) mod revocation;
pub(crate) mod shards;
pub(crate) mod surplus;
