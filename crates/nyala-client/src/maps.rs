// SPDX-License-Identifier: Apache-2.0

//! The cluster map as this client knows it.
//!
//! **Failure model.** The map may be old at any moment: servers say so, and it is fetched again. Management may be away:
//! the old map stays in use. A map older than ours (a management node that lags) or of another cluster is ignored.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::retry::{Again, Retry, sort_transport};
use nyala_transport::{Endpoint, Request};
use nyala_wire::codec::{decode, encode};
use nyala_wire::map::{ClusterMap, TargetKind};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::{ClusterId, InodeId, MapVersion, SessionId, TargetId, WireError, message_type};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A map and what is looked up in it all the time.
#[derive(Default)]
pub(crate) struct View {
    pub(crate) map: Arc<ClusterMap>,
    endpoints: HashMap<TargetId, Endpoint>,
}

impl View {
    fn new(map: ClusterMap) -> View {
        let endpoint = |target| Some(Endpoint { addresses: map.node_of(target)?.addresses.clone() });
        let endpoints = map.targets.iter().filter_map(|t| Some((t.id, endpoint(t.id)?))).collect();
        View { map: Arc::new(map), endpoints }
    }

    pub(crate) fn endpoint(&self, target: TargetId) -> Option<&Endpoint> {
        self.endpoints.get(&target)
    }
}

pub(crate) struct Maps {
    mgmt: Vec<Endpoint>,
    /// The management address that worked last.
    preferred: AtomicUsize,
    view: RwLock<Arc<View>>,
    refreshing: tokio::sync::Mutex<()>,
}

impl Maps {
    pub(crate) fn new(mgmt: &[std::net::SocketAddr]) -> Maps {
        Maps {
            mgmt: mgmt.iter().map(|&address| address.into()).collect(),
            preferred: AtomicUsize::new(0),
            view: RwLock::default(),
            refreshing: tokio::sync::Mutex::new(()),
        }
    }

    pub(crate) fn view(&self) -> Arc<View> {
        self.view.read().clone()
    }

    fn take(&self, map: ClusterMap) {
        let mut view = self.view.write();
        let ours = view.map.cluster;
        if ours != ClusterId::UNKNOWN && map.cluster != ours {
            tracing::error!(%ours, theirs = %map.cluster, "management serves another cluster now; its map is not taken");
        } else if map.version > view.map.version {
            *view = Arc::new(View::new(map));
        }
    }

    /// Asks management once; another address next time if this one fails.
    pub(crate) async fn ask(&self, core: &Core, request: &MgmtRequest, wait: Duration) -> Result<MgmtReply, Again> {
        let at = self.preferred.load(Ordering::Relaxed) % self.mgmt.len().max(1);
        let failed = |text: String| {
            self.preferred.store(at + 1, Ordering::Relaxed);
            Again::Connection(text)
        };
        let endpoint = self.mgmt.get(at).ok_or_else(|| failed("no management address is configured".into()))?;
        let request = Request::new(message_type::MGMT, encode(request)).with_timeout(Duration::from_secs(5) + wait);
        let frame = core.rpc.call(endpoint, request).await.map_err(|e| match sort_transport("ask management", e) {
            Ok(Again::Connection(text)) => failed(text),
            Ok(other) => other,
            Err(error) => {
                failed(String::new());
                Again::Never(error)
            }
        })?;
        if frame.is_error() {
            let error: WireError = decode(&frame.body).unwrap_or_else(|error| error);
            return Err(failed(error.to_string()));
        }
        decode(&frame.body).map_err(Again::Server)
    }

    /// Gets a map newer than `have` if management has one.
    pub(crate) async fn refresh(&self, core: &Core, have: MapVersion) -> Result<(), Again> {
        let _one = self.refreshing.lock().await;
        if self.view().map.version > have {
            return Ok(());
        }
        self.watch(core, Duration::ZERO).await
    }

    /// One long poll.
    pub(crate) async fn watch(&self, core: &Core, wait: Duration) -> Result<(), Again> {
        let request = MgmtRequest::WatchMap { have: self.view().map.version, wait_ms: wait.as_millis() as u32 };
        if let MgmtReply::Map(map) = self.ask(core, &request, wait).await? {
            self.take(*map);
        }
        Ok(())
    }

    /// Waits for the first map that has a metadata target.
    pub(crate) async fn first(&self, core: &Core) -> Result<()> {
        let mut retry = Retry::new("get the cluster map");
        loop {
            let why = match self.watch(core, Duration::ZERO).await {
                Ok(()) if !self.view().map.slots.is_empty() => return Ok(()),
                Ok(()) => Again::Connection("no metadata service has registered yet".into()),
                Err(why) => why,
            };
            retry.pause(core, why).await?;
        }
    }

    /// All metadata targets, or all storage targets.
    pub(crate) fn targets(&self, kind: TargetKind) -> Vec<TargetId> {
        self.view().map.targets_of(kind).map(|target| target.id).collect()
    }
}

impl Core {
    /// The session under which an inode's server knows this client.
    pub(crate) fn session_of(&self, inode: InodeId) -> SessionId {
        let target = self.maps.view().map.slot_target(inode.slot());
        target.map_or(self.session_id, |target| self.session(target).id())
    }

    /// Asks management until it answers.
    pub(crate) async fn ask_management(&self, what: &'static str, request: MgmtRequest) -> Result<MgmtReply> {
        let mut retry = Retry::new(what);
        loop {
            match self.maps.ask(self, &request, Duration::ZERO).await {
                Ok(reply) => return Ok(reply),
                Err(why) => retry.pause(self, why).await?,
            }
        }
    }
}

pub(crate) fn odd(what: &'static str) -> Error {
    Error::Protocol { what, detail: "a reply of another kind" }
}
