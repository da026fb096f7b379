// SPDX-License-Identifier: Apache-2.0

//! The cluster map, kept up to date by a long poll.

use super::client::{MgmtClient, MgmtError};
use super::maps::Maps;
use crate::handshake::PeerInfo;
use nyala_wire::MapVersion;
use nyala_wire::map::ClusterMap;
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::restriction::Restriction;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long management holds a poll when nothing changes.
const POLL_MS: u32 = 10_000;
/// Pause after a failed poll; connecting has its own backoff.
const PAUSE: Duration = Duration::from_millis(100);
/// A newer map that somebody told us of has this long to arrive by the poll; then it is fetched.
const BEHIND: Duration = Duration::from_millis(150);
/// After so many failed polls in a row, one line is logged.
const SILENT_FAILURES: u32 = 10;

/// The newest cluster map. Clones share one poll, which ends with the last of them.
#[derive(Clone)]
pub struct MapWatch {
    maps: watch::Receiver<Arc<ClusterMap>>,
    shared: Arc<Shared>,
}

struct Shared {
    client: MgmtClient,
    maps: Maps,
    /// Newest version that anybody told us of.
    expected: watch::Sender<MapVersion>,
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
        let maps = Maps::default();
        let expected = watch::Sender::new(MapVersion(0));
        let poll = tokio::spawn(poll(client.clone(), maps.clone(), expected.subscribe())).abort_handle();
        MapWatch { maps: maps.subscribe(), shared: Arc::new(Shared { client, maps, expected, poll }) }
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
        self.shared.maps.take(&self.shared.client, map);
    }

    /// What a peer is held to, if to anything: by the rule that fits its key and its address best. Servers are held to nothing.
    pub fn restriction(&self, peer: &PeerInfo) -> Option<Restriction> {
        self.shared.maps.restriction(peer)
    }

    /// Somebody has said that there is a map of this version: if the poll does not bring it soon, it is fetched.
    pub fn heard_of(&self, version: MapVersion) {
        self.shared.expected.send_if_modified(|expected| {
            let newer = version > *expected;
            *expected = version.max(*expected);
            newer
        });
    }
}

async fn poll(client: MgmtClient, maps: Maps, mut expected: watch::Receiver<MapVersion>) {
    let mut failures = 0_u32;
    loop {
        let have = maps.version();
        let [long, short] = [POLL_MS, 0].map(|wait_ms| MgmtRequest::WatchMap { have, wait_ms });
        let answer = tokio::select! {
            answer = client.call(&long) => answer,
            // The node that holds our poll may be gone, and its host with it, so that nothing ends the poll.
            () = behind(&mut expected, have) => client.call(&short).await,
        };
        match answer {
            Ok(MgmtReply::Map(map)) => {
                failures = 0;
                maps.take(&client, *map);
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

/// Waits until a map newer than `have` is expected and has had its time to arrive.
async fn behind(expected: &mut watch::Receiver<MapVersion>, have: MapVersion) {
    if expected.wait_for(|version| *version > have).await.is_err() {
        std::future::pending().await
    }
    tokio::time::sleep(BEHIND).await;
}

fn note(failures: &mut u32, error: &MgmtError) {
    *failures = failures.saturating_add(1);
    if *failures == SILENT_FAILURES || !error.is_transient() && *failures == 1 {
        tracing::warn!(%error, "the cluster map cannot be watched; what is known of the cluster may be out of date");
    }
}
