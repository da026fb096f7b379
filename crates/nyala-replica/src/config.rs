// SPDX-License-Identifier: Apache-2.0

//! What can be set about a member.

use crate::share::ShareLimits;

/// Settings of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Granularity of intents and dirty regions, and size of a copy, bytes.
    pub region_bytes: u64,
    /// Runs of regions of a file that are told apart; with more the file counts as one.
    pub max_runs: usize,
    /// Where a file is written in order, regions ahead that get their intents with the one that is written.
    pub ahead: u64,
    /// No region ahead ends behind this, bytes: what no chunk file holds could not be copied.
    pub file_bytes: u64,
    /// A message without an answer is sent again after so long, milliseconds.
    pub resend_ms: u64,
    /// A member that has not answered for so long is to be marked needs-resync, milliseconds.
    pub give_up_ms: u64,
    /// Intents are looked through for some that may go so often, milliseconds.
    pub flush_ms: u64,
    /// Copies under way at once, to each member.
    pub copies: usize,
    /// After so many copies the member puts them on disk, so that a restart does not copy them again.
    pub sync_every: u64,
    /// A resync that failed is tried again after so long, milliseconds.
    pub retry_ms: u64,
    /// A client of which nothing was heard for so long is forgotten, milliseconds.
    pub client_idle_ms: u64,
    /// Limits of resync.
    pub share: ShareLimits,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            region_bytes: 1 << 20,
            max_runs: 1024,
            ahead: 15,
            file_bytes: 1 << 50,
            resend_ms: 200,
            give_up_ms: 1500,
            flush_ms: 2000,
            copies: 4,
            sync_every: 256,
            retry_ms: 2000,
            client_idle_ms: 24 * 3_600_000,
            share: ShareLimits::default(),
        }
    }
}
