// SPDX-License-Identifier: Apache-2.0

//! The management service: Raft around the cluster state, leases, REST API.
//!
//! ```text
//! services, clients ── native protocol ─► service/ ─┐                       ┌► raft/ ─► nyala-store
//! operators ────────── HTTP ────────────► rest/ ────┴► core (leader only) ──┤
//!                                 liveness (clock, probes) ─ leader's state ┘
//! ```
//!
//! Only changes of the cluster state go through Raft. Heartbeats and capacities live in the leader's memory: a new leader
//! hears them again within one heartbeat, and waits a full lease before it holds silence against anybody.
//!
//! **Failure model.** The process is killed at any instruction: a change is answered only once it is on disk
//! ([`raft`]). The directory is missing, damaged, of another cluster, of a newer build, or in use: [`MgmtError`] says
//! which, and nothing is changed. The network repeats or loses requests: all of them are idempotent. Heartbeats are
//! late, or this process stood still: [`nyala_cluster::leader`]. Operators send nonsense: [`rest`] bounds and checks it.

mod audit;
mod bootstrap;
mod checks;
mod clock;
mod cluster_metrics;
mod config;
mod core;
mod counters;
mod directory;
mod error;
mod evacuation;
#[doc(hidden)]
pub mod fuzzing;
mod groups;
mod leadership;
mod liveness;
mod members;
mod metrics;
mod mounts;
mod probe;
mod raft;
mod re_register;
mod recover;
mod remains;
mod rest;
mod run;
mod service;
mod web;

pub use config::{MgmtConfig, RaftTimes};
pub use directory::OpenStore;
pub use error::MgmtError;
pub use recover::{go_on_from_copy, look_at_remains, recover};
pub use remains::{Other, Remains};
pub use rest::{RestError, issue_token};
pub use run::{Mgmt, run};
