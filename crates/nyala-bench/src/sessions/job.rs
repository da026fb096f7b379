// SPDX-License-Identifier: Apache-2.0

//! What `nyala bench sessions` is to do.

use crate::ended::Ended;
use crate::host::Host;
use nyala_client::ClientConfig;
use std::ffi::OsString;
use std::time::Duration;

/// What is to be done.
#[derive(Debug)]
pub struct SessionsJob {
    /// The cluster.
    pub config: ClientConfig,
    /// The program, of which processes hold idle sessions.
    pub host: Host,
    /// Flags by which its command line finds the same cluster.
    pub cluster_flags: Vec<OsString>,
    /// Idle sessions.
    pub idle: usize,
    /// Clients that work.
    pub busy: u16,
    /// Time that idle sessions are watched, and longest time of a phase of work.
    pub span: Duration,
    /// Counts the phases that have ended.
    pub ended: Ended,
}

impl SessionsJob {
    /// Work of one client, sessions that are opened, and watched, and work of many clients.
    pub const PHASES: u64 = 4;
}
