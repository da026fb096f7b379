// SPDX-License-Identifier: Apache-2.0

//! Settings of a client.

use nyala_transport::{Role, Secret, Tracer};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Settings of a client.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Management services.
    pub mgmt: Vec<SocketAddr>,
    /// The cluster's secret.
    pub secret: Secret,
    /// What it connects as: [`Role::Client`], or [`Role::Cli`] for what only operators do. The secret has to have a key for it.
    pub role: Role,
    /// Name of this client for people: `host:mountpoint`.
    pub name: String,
    /// Encrypt all traffic; the same on every node.
    pub encrypt: bool,
    /// Follows requests of this client.
    pub tracer: Option<Arc<Tracer>>,
    /// How long a call is tried again through failures; zero: for ever.
    pub retry_timeout: Duration,
    /// Most bytes written and not yet on a server, for the whole client.
    pub write_buffer_bytes: usize,
    /// Most bytes read ahead and not yet asked for, for the whole client.
    pub read_cache_bytes: usize,
    /// Largest read-ahead window of one stream; 0: no read-ahead.
    pub read_ahead_bytes: usize,
    /// Written data goes out after this time at the latest.
    pub max_dirty_age: Duration,
    /// A closed small file's content goes out after this time at the latest, together with that of others; zero: the close
    /// sends it and waits.
    pub close_delay: Duration,
    /// A file that is to be erasure coded is so long after its last close.
    pub encode_after: Duration,
    /// How often it is looked whether a storage target's disk fails, which this client then helps to empty; never if absent.
    pub evacuate_every: Option<Duration>,
    /// How long what was read or looked up may be used again without a delegation; at most 1 s.
    pub cache_time: Duration,
    /// Keep attributes, names and content as long as servers say that they are true; without, for `cache_time`.
    pub delegations: bool,
    /// Most inodes of which something is kept; see [`ClientConfig::keep_metadata`].
    pub max_kept_inodes: usize,
    /// Most names that are kept, those of listings counted once more.
    pub max_kept_entries: usize,
    /// After so many names of a directory that are not there, asking for all of them is considered.
    pub misses_before_listing: u32,
}

/// About what an inode takes that came with a listing: delegation, attributes, its name, and its place in the listing.
const KEPT_INODE_BYTES: usize = 1_024;

impl ClientConfig {
    /// The default settings: 600 s of retry, 64 MiB of write buffers, 64 MiB of read-ahead, 4 MiB per stream.
    pub fn new(mgmt: Vec<SocketAddr>, secret: Secret, name: impl Into<String>) -> ClientConfig {
        ClientConfig {
            mgmt,
            secret,
            role: Role::Client,
            name: name.into(),
            encrypt: false,
            tracer: None,
            retry_timeout: Duration::from_secs(600),
            write_buffer_bytes: 64 << 20,
            read_cache_bytes: 64 << 20,
            read_ahead_bytes: 4 << 20,
            max_dirty_age: Duration::from_millis(500),
            close_delay: Duration::from_millis(20),
            encode_after: Duration::from_secs(10),
            evacuate_every: None,
            cache_time: Duration::from_secs(1),
            delegations: true,
            max_kept_inodes: 100_000,
            max_kept_entries: 200_000,
            misses_before_listing: 16,
        }
    }

    /// Keeps attributes and names in about so many bytes.
    pub fn keep_metadata(&mut self, bytes: usize) {
        self.max_kept_inodes = (bytes / KEPT_INODE_BYTES).max(1_000);
        self.max_kept_entries = 2 * self.max_kept_inodes;
    }
}
