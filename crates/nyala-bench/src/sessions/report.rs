// SPDX-License-Identifier: Apache-2.0

//! What `nyala bench sessions` found.

use crate::report::Setting;
use crate::report::aim::Aim;
use nyala_wire::map::Role;
use serde::Serialize;

/// One server and what the idle sessions cost it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Server {
    /// Its role.
    pub role: Role,
    /// Its name.
    pub name: String,
    /// Resident memory before, bytes.
    pub before_bytes: u64,
    /// Resident memory with all sessions, bytes.
    pub with_bytes: u64,
    /// Memory for each session, bytes.
    pub per_session_bytes: f64,
    /// CPU while the sessions did nothing, percent of one CPU.
    pub idle_cpu_percent: f64,
}

/// The same work by one client and by many.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Work {
    /// What one operation is.
    pub step: &'static str,
    /// Clients.
    pub clients: usize,
    /// Tasks at once, of all clients together.
    pub tasks: usize,
    /// Operations done.
    pub ops: u64,
    /// In a second.
    pub per_s: f64,
    /// 99 of 100 took at most this, microseconds.
    pub p99_us: f64,
    /// CPU of all servers together for each, microseconds.
    pub servers_us: f64,
}

/// Everything that it found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// `sessions`.
    pub bench: &'static str,
    /// The machine and the cluster.
    pub setting: Setting,
    /// Idle sessions.
    pub idle: usize,
    /// Idle sessions that were lost before the end.
    pub lost: usize,
    /// Requests of idle sessions that were sent again, since their connection was lost.
    pub again: usize,
    /// What they cost.
    pub servers: Vec<Server>,
    /// What was worked.
    pub work: Vec<Work>,
    /// The design's aims.
    pub aims: Vec<Aim>,
}
