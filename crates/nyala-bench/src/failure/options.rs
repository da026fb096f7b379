// SPDX-License-Identifier: Apache-2.0

//! What a study of failures is to do.

use crate::ended::Ended;
use crate::host::Host;
use std::path::PathBuf;
use std::time::Duration;

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program.
    pub host: Host,
    /// Time in each state.
    pub span: Duration,
    /// Threads that write, and as many that read.
    pub tasks: u16,
    /// Storage services, with a target each: an even number.
    pub storage: u16,
    /// Directory for the cluster and its data; it must not exist, and is removed afterwards.
    pub work: PathBuf,
    /// Length of each file that a thread works on, bytes.
    pub file_bytes: u64,
    /// First port of the cluster.
    pub base_port: u16,
    /// Counts the states that have ended.
    pub ended: Ended,
}
