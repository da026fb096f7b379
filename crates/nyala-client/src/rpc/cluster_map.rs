// SPDX-License-Identifier: Apache-2.0

//! The cluster map as this client knows it.
//!
//! **Failure model.** The map may be old at any moment: servers say so, and it is fetched again. Management may be away:
//! the old map stays in use. The management node that is asked may be gone or not lead: others are asked, also those that
//! only the map names. A map older than ours (a management node that lags) or of another cluster is ignored.

use crate::error::Result;
use crate::rpc::failure::{Again, sort_transport};
use crate::rpc::transport::Rpc;
use nyala_transport::member::{MgmtBook, hinted};
use nyala_transport::{Endpoint, Request};
use nyala_wire::codec::{decode, encode};
use nyala_wire::map::{ClusterMap, Target};
use nyala_wire::mgmt::{MgmtReply, MgmtRequest};
use nyala_wire::{ClusterId, MapVersion, TargetId, WireError, message_type};
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// A map and what is looked up in it all the time.
#[derive(Default)]
pub(crate) struct View {
    pub(crate) map: Arc<ClusterMap>,
    endpoints: HashMap<TargetId, Endpoint>,
    /// Metadata servers that are mirrored, with the targets that they work on.
    mirrored: HashMap<TargetId, TargetId>,
}

impl View {
    fn new(map: ClusterMap) -> View {
        let endpoint = |target| Some(Endpoint { addresses: map.node_of(target)?.addresses.clone() });
        let mut endpoints: HashMap<TargetId, Endpoint> =
            map.targets.iter().filter_map(|t| Some((t.id, endpoint(t.id)?))).collect();
        // A metadata server is asked where it works now.
        let servers = map.metadata_servers().filter_map(|server| Some((server, map.server_node(server)?)));
        endpoints.extend(servers.map(|(server, node)| (server, Endpoint { addresses: node.addresses.clone() })));
        let mirrored = map.groups.iter().filter_map(|group| Some((group.serves?, group.primary()?))).collect();
        View { map: Arc::new(map), endpoints, mirrored }
    }

    /// The target that a metadata server works on.
    pub(crate) fn server_target(&self, server: TargetId) -> Option<&Target> {
        self.map.target(self.mirrored.get(&server).copied().unwrap_or(server))
    }

    pub(crate) fn endpoint(&self, target: TargetId) -> Option<&Endpoint> {
        self.endpoints.get(&target)
    }
}

/// Longest wait for an answer of one management node, beside what it was asked to wait. Shorter than a lease, so that
/// another one is asked in time.
const MGMT_TIMEOUT: Duration = Duration::from_secs(1);
/// How many management nodes may send us on to another in one question.
const MAX_REDIRECTS: u32 = 2;

pub(crate) struct Maps {
    rpc: Arc<dyn Rpc>,
    mgmt: Mutex<MgmtBook>,
    view: RwLock<Arc<View>>,
    refreshing: tokio::sync::Mutex<()>,
    /// A newer map was taken.
    changed: Notify,
    moved: Mutex<BTreeSet<(TargetId, TargetId)>>,
    any_moved: AtomicBool,
}

/// Between which metadata servers slots have moved.
fn moved(before: &ClusterMap, now: &ClusterMap) -> BTreeSet<(TargetId, TargetId)> {
    if before.slots == now.slots {
        return BTreeSet::new();
    }
    let each = now.metadata_servers().flat_map(|to| now.slots_of(to).map(move |slot| (slot, to)));
    each.filter_map(|(slot, to)| Some((before.slot_target(slot)?, to))).filter(|(from, to)| from != to).collect()
}

impl Maps {
    pub(crate) fn new(mgmt: &[SocketAddr], rpc: Arc<dyn Rpc>) -> Maps {
        Maps {
            rpc,
            mgmt: Mutex::new(MgmtBook::new(mgmt.to_vec())),
            view: RwLock::default(),
            refreshing: tokio::sync::Mutex::new(()),
            changed: Notify::new(),
            moved: Mutex::default(),
            any_moved: AtomicBool::new(false),
        }
    }

    pub(crate) fn view(&self) -> Arc<View> {
        self.view.read().clone()
    }

    /// Whether the map has a server or a target under that name.
    pub(super) fn has_server(&self, server: TargetId) -> bool {
        self.view.read().endpoint(server).is_some()
    }

    /// Ends when a newer map than the one of now is taken. Enabled before the map is looked at, it misses none.
    pub(super) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    /// Ends once a mirrored metadata server works elsewhere than a view says; never for one that is not mirrored.
    pub(super) async fn server_moved(&self, view: &View, server: TargetId) {
        if !view.mirrored.contains_key(&server) {
            return std::future::pending().await;
        }
        loop {
            let changed = self.changed();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.view().endpoint(server) != view.endpoint(server) {
                return;
            }
            changed.await;
        }
    }

    /// Metadata servers between which slots have moved since this was asked last: from, to.
    #[inline]
    pub(super) fn take_moves(&self) -> BTreeSet<(TargetId, TargetId)> {
        if !self.any_moved.load(Ordering::Acquire) {
            return BTreeSet::new();
        }
        match self.any_moved.swap(false, Ordering::AcqRel) {
            true => std::mem::take(&mut *self.moved.lock()),
            false => BTreeSet::new(),
        }
    }

    pub(super) fn take(&self, map: ClusterMap) {
        let mut view = self.view.write();
        let ours = view.map.cluster;
        if ours != ClusterId::UNKNOWN && map.cluster != ours {
            tracing::error!(%ours, theirs = %map.cluster, "management serves another cluster now; its map is not taken");
        } else if map.version > view.map.version {
            self.mgmt.lock().learn(&map);
            let moved = moved(&view.map, &map);
            if !moved.is_empty() {
                self.moved.lock().extend(moved);
                self.any_moved.store(true, Ordering::Release);
            }
            *view = Arc::new(View::new(map));
            drop(view);
            self.changed.notify_waiters();
        }
    }

    /// Asks management once: the node that leads, if the one that is asked knows it. Another node next time if this fails.
    pub(crate) async fn ask(&self, request: &MgmtRequest, wait: Duration) -> Result<MgmtReply, Again> {
        for _ in 0..MAX_REDIRECTS {
            let order = self.mgmt.lock().order();
            let address = order.first().copied();
            let address = address.ok_or_else(|| Again::Connection("no management address is configured".to_owned()))?;
            match self.ask_at(address, request, wait).await {
                Ok(MgmtReply::NotLeader { addresses, .. }) => {
                    let mut mgmt = self.mgmt.lock();
                    mgmt.failed(address);
                    match hinted(&addresses) {
                        Some(leader) => mgmt.answered(leader),
                        None => break,
                    }
                }
                Ok(reply) => {
                    self.mgmt.lock().answered(address);
                    return Ok(reply);
                }
                Err(why) => {
                    self.mgmt.lock().failed(address);
                    return Err(why);
                }
            }
        }
        Err(Again::Connection("no management node leads at the moment".to_owned()))
    }

    async fn ask_at(&self, address: SocketAddr, request: &MgmtRequest, wait: Duration) -> Result<MgmtReply, Again> {
        let request = Request::new(message_type::MGMT, encode(request)).with_timeout(MGMT_TIMEOUT + wait);
        let answer = self.rpc.call(&Endpoint::from(address), request).await;
        let frame = answer.map_err(|e| match sort_transport("ask management", e) {
            Ok(again) => again,
            Err(error) => Again::Never(error),
        })?;
        if frame.is_error() {
            let error: WireError = decode(&frame.body).unwrap_or_else(|error| error);
            return Err(Again::Connection(error.to_string()));
        }
        decode(&frame.body).map_err(Again::Server)
    }

    /// Gets a map newer than `have` if management has one.
    pub(crate) async fn refresh(&self, have: MapVersion) -> Result<(), Again> {
        let _one = self.refreshing.lock().await;
        if self.view().map.version > have {
            return Ok(());
        }
        self.watch(Duration::ZERO).await
    }

    /// Whether management, asked now, has nothing newer than `have`. Ids are used once: what the newest map does not
    /// have was removed, for good.
    pub(crate) async fn is_newest(&self, have: MapVersion) -> bool {
        let _one = self.refreshing.lock().await;
        let asked = self.view().map.version == have && self.watch(Duration::ZERO).await.is_ok();
        asked && self.view().map.version == have
    }

    /// One long poll.
    pub(crate) async fn watch(&self, wait: Duration) -> Result<(), Again> {
        let request = MgmtRequest::WatchMap { have: self.view().map.version, wait_ms: wait.as_millis() as u32 };
        if let MgmtReply::Map(map) = self.ask(&request, wait).await? {
            self.rpc.learn(&map);
            self.take(*map);
        }
        Ok(())
    }
}
