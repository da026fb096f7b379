// SPDX-License-Identifier: Apache-2.0

//! The cluster map, kept up to date by a long poll.

use super::client::{MgmtClient, MgmtError};
use nyala_wire::map::ClusterMap;
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::{ClusterId, MapVersion};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long management holds a poll when nothing changes.
const POLL_MS: u32 = 20_000;
/// Pause after a failed poll; connecting has its own backoff.
const PAUSE: Duration = Duration::from_millis(100);
/// After so many failed polls in a row, one line is logged.
const SILENT_FAILURES: u32 = 10;

/// The newest cluster map. Clones share one poll, which ends with the last of them.
#[derive(Clone)]
pub struct MapWatch {
    maps: watch::Receiver<Arc<ClusterMap>>,
    shared: Arc<Shared>,
}

struct Shared {
    maps: watch::Sender<Arc<ClusterMap>>,
    poll: tokio::task::AbortHandle,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.poll.abort();
    }
}

impl MapWatch {
    /// Starts to watch, with an empty map of version 0 until the first one arrives. Needs a tokio runtime.
    pub fn start(client: MgmtClient) -> MapWatch {
        let (sender, maps) = watch::channel(Arc::new(ClusterMap::default()));
        let poll = tokio::spawn(poll(client, sender.clone())).abort_handle();
        MapWatch { maps, shared: Arc::new(Shared { maps: sender, poll }) }
    }

    /// The newest map that has arrived.
    pub fn current(&self) -> Arc<ClusterMap> {
        self.maps.borrow().clone()
    }

    /// Waits for a map that this handle has not returned from `changed` before.
    pub async fn changed(&mut self) -> Arc<ClusterMap> {
        // An error means that the sender is gone, which cannot be while `self.shared` lives.
        let _ = self.maps.changed().await;
        self.maps.borrow_and_update().clone()
    }

    /// Waits for a map that is newer than `version`. `newer_than(MapVersion(0))` waits for the first one.
    pub async fn newer_than(&self, version: MapVersion) -> Arc<ClusterMap> {
        let mut maps = self.maps.clone();
        let newer = maps.wait_for(|map| map.version > version).await.map(|map| map.clone());
        // As above, there is always a sender.
        newer.unwrap_or_else(|_| self.current())
    }

    /// Takes a map that arrived in another way, if it is newer and of the same cluster.
    pub fn offer(&self, map: ClusterMap) {
        take(&self.shared.maps, map);
    }
}

fn take(maps: &watch::Sender<Arc<ClusterMap>>, map: ClusterMap) {
    maps.send_if_modified(|current| {
        if current.cluster != ClusterId::UNKNOWN && map.cluster != current.cluster {
            tracing::error!(ours = %current.cluster, theirs = %map.cluster, "a map of another cluster is ignored");
            return false;
        }
        let newer = map.version > current.version;
        if newer {
            *current = Arc::new(map);
        }
        newer
    });
}

async fn poll(client: MgmtClient, maps: watch::Sender<Arc<ClusterMap>>) {
    let mut failures = 0_u32;
    loop {
        let have = maps.borrow().version;
        match client.call(&MgmtRequest::WatchMap { have, wait_ms: POLL_MS }).await {
            Ok(MgmtReply::Map(map)) => {
                failures = 0;
                take(&maps, *map);
                continue;
            }
            Ok(MgmtReply::Unchanged) => failures = 0,
            Ok(_) => note(&mut failures, &MgmtError::UnexpectedReply),
            Err(error) => note(&mut failures, &error),
        }
        // Also after `Unchanged`: a server that answers it at once must not be asked without pause.
        tokio::time::sleep(PAUSE).await;
    }
}

fn note(failures: &mut u32, error: &MgmtError) {
    *failures = failures.saturating_add(1);
    if *failures == SILENT_FAILURES || !error.is_transient() && *failures == 1 {
        tracing::warn!(%error, "the cluster map cannot be watched; what is known of the cluster may be out of date");
    }
}
