// SPDX-License-Identifier: Apache-2.0

//! The newest cluster map, and whether any key has rules: most clusters have none, and every request asks.

use super::client::MgmtClient;
use nyala_wire::key_rules::KeyRule;
use nyala_wire::map::ClusterMap;
use nyala_wire::{ClusterId, MapVersion};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

/// An empty map of version 0 until the first one is taken. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Maps {
    newest: watch::Sender<Arc<ClusterMap>>,
    ruled: Arc<AtomicBool>,
}

impl Maps {
    /// Hears of every new map.
    pub(super) fn subscribe(&self) -> watch::Receiver<Arc<ClusterMap>> {
        self.newest.subscribe()
    }

    /// The newest map's version.
    pub(super) fn version(&self) -> MapVersion {
        self.newest.borrow().version
    }

    /// What clients of this key are held to, if to anything.
    pub(super) fn key_rule(&self, key: &str) -> Option<KeyRule> {
        match self.ruled.load(Ordering::Acquire) {
            true => self.newest.borrow().key_rule(key).cloned(),
            false => None,
        }
    }

    /// Takes a map if it is newer and of the same cluster.
    pub(super) fn take(&self, client: &MgmtClient, map: ClusterMap) {
        self.newest.send_if_modified(|current| {
            if current.cluster != ClusterId::UNKNOWN && map.cluster != current.cluster {
                tracing::error!(ours = %current.cluster, theirs = %map.cluster, "a map of another cluster is ignored");
                return false;
            }
            let newer = map.version > current.version;
            if newer {
                client.learn(&map);
                self.ruled.store(!map.key_rules.is_empty(), Ordering::Release);
                *current = Arc::new(map);
            }
            newer
        });
    }
}
