// SPDX-License-Identifier: Apache-2.0

//! What all shards of the delegations have in common: servers, the clock of uses, and how many delegations there are.
//!
//! Shards are behind locks of their own, so all of this may be read and written at any moment. Nothing here is decided upon
//! together with something else: a delegation is good as long as its server's time says so, whoever looks; uses are
//! ordered, not timed; the number is for limits.

use nyala_wire::TargetId;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A metadata server that was heard of.
#[derive(Debug, Default)]
pub struct KnownServer {
    boot: AtomicU64,
    good_until_ms: AtomicU64,
}

impl KnownServer {
    /// Whether its delegations may be relied on.
    pub fn is_good(&self, now_ms: u64) -> bool {
        now_ms < self.good_until_ms.load(Ordering::Acquire)
    }

    /// The run whose grants count.
    pub fn boot(&self) -> u64 {
        self.boot.load(Ordering::Acquire)
    }
}

/// What all shards have in common.
#[derive(Debug, Default)]
pub struct Shared {
    servers: RwLock<HashMap<TargetId, Arc<KnownServer>>>,
    uses: AtomicU64,
    held: AtomicUsize,
}

impl Shared {
    /// A server, if it was heard of.
    pub fn server(&self, target: TargetId) -> Option<Arc<KnownServer>> {
        self.servers.read().get(&target).cloned()
    }

    fn server_or_new(&self, target: TargetId) -> Arc<KnownServer> {
        self.server(target).unwrap_or_else(|| self.servers.write().entry(target).or_default().clone())
    }

    /// The server answered something sent then: its delegations are good until `good_until_ms`.
    pub fn renew(&self, target: TargetId, good_until_ms: u64) {
        self.server_or_new(target).good_until_ms.fetch_max(good_until_ms, Ordering::AcqRel);
    }

    /// From now on grants of this run of the server count.
    pub fn set_boot(&self, target: TargetId, boot: u64) {
        self.server_or_new(target).boot.store(boot, Ordering::Release);
    }

    /// Servers whose delegations are good no longer.
    pub fn silent(&self, now_ms: u64) -> Vec<TargetId> {
        let servers = self.servers.read();
        servers.iter().filter(|(_, server)| !server.is_good(now_ms)).map(|(target, _)| *target).collect()
    }

    /// Number of delegations.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// One more.
    pub fn added(&self) {
        self.held.fetch_add(1, Ordering::Relaxed);
    }

    /// One less.
    pub fn removed(&self) {
        let before = self.held.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "a delegation is removed that was not counted");
    }

    /// The last use that was counted.
    pub fn last_use(&self) -> u64 {
        self.uses.load(Ordering::Relaxed)
    }

    /// The number of a new use: larger than all before, in every shard.
    pub fn next_use(&self) -> u64 {
        self.uses.fetch_add(1, Ordering::Relaxed) + 1
    }
}
