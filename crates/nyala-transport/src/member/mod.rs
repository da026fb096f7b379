// SPDX-License-Identifier: Apache-2.0

//! How everybody talks to the management service: [`MgmtClient`] for single requests, [`MapWatch`] for the cluster map,
//! [`Member`] for a metadata or storage service that registers and holds a lease, [`Bootstrap`] for its start.
//!
//! **Failure model.** Any management node can be down, restarting, unreachable, or not the leader: the others are asked,
//! and all requests may be repeated because all of them are idempotent. The nodes that are known may all be gone one day:
//! every map says which there are now, and those are asked too. Replies may be lost or late: a lease is
//! counted from when its heartbeat was *sent*. The machine may sleep: leases run on a clock that goes on meanwhile.
//! Management may have forgotten us (restored from a backup): we register again. It may have given our place to another
//! process that serves a copy of our directory: then our lease is over for good, see [`Member::expelled`]. A map from
//! another cluster, or an older one, is never taken.

mod book;
mod bootstrap;
mod capacity;
mod client;
pub(crate) mod clock;
mod heartbeat;
mod lease;
mod maps;
mod service;
mod watch;

#[cfg(test)]
mod tests;

pub use book::{MgmtBook, hinted};
pub use bootstrap::{Bootstrap, BootstrapError, Identity, Joined, ServiceRole};
pub use capacity::capacity;
pub use client::{MgmtClient, MgmtError};
pub use clock::{monotonic_ms, monotonic_us};
pub use service::Member;
pub use watch::MapWatch;
