// SPDX-License-Identifier: Apache-2.0

//! The newest cluster map, and whether anybody is held to anything: in most clusters nobody is, and every request asks.

use super::client::MgmtClient;
use crate::handshake::PeerInfo;
use crate::hello::Role;
use nyala_wire::map::ClusterMap;
use nyala_wire::restriction::{Asker, Restriction, restriction, restricts_anybody};
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

    /// What a peer is held to, if to anything.
    pub(super) fn restriction(&self, peer: &PeerInfo) -> Option<Restriction> {
        if !self.ruled.load(Ordering::Acquire) || peer.role.is_server() {
            return None;
        }
        let operator = peer.role == Role::Cli;
        let asker = Asker { key: &peer.grant.key, operator, address: peer.address.ip() };
        restriction(&self.newest.borrow(), asker)
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
                self.ruled.store(restricts_anybody(&map), Ordering::Release);
                *current = Arc::new(map);
            }
            newer
        });
    }
}
