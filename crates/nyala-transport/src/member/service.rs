// SPDX-License-Identifier: Apache-2.0

//! A metadata or storage service as a member of the cluster.

use super::client::{MgmtClient, MgmtError};
use super::clock::monotonic_ms;
use super::heartbeat;
use super::lease::Lease;
use super::watch::MapWatch;
use crate::handshake::HandshakeConfig;
use crate::links::Links;
use nyala_wire::error::WireError;
use nyala_wire::map::ClusterMap;
use nyala_wire::mgmt::{MgmtReply, MgmtRequest, Register, Registered, TargetCapacity};
use nyala_wire::{ClusterId, MapVersion, NodeId, TargetId};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::watch;

/// Between attempts to register.
const PAUSE: Duration = Duration::from_millis(200);
/// While management is away, one line is logged every so many attempts.
const ATTEMPTS_PER_LINE: u32 = 50;
/// Longest wait for the answer to a goodbye: a service that stops must not hang.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(1);

/// A registered service that keeps its lease by heartbeats. Clones share it; heartbeats end with the last of them.
#[derive(Clone)]
pub struct Member {
    shared: Arc<Shared>,
}

struct Shared {
    state: Arc<State>,
    heartbeats: tokio::task::AbortHandle,
    links: OnceLock<Links>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.heartbeats.abort();
        self.state.lease.end();
    }
}

/// What the heartbeat task and the handles share.
pub(super) struct State {
    pub client: MgmtClient,
    /// As sent again when management has forgotten us: with the ids that we were given.
    pub register: Register,
    pub cluster: ClusterId,
    pub node: NodeId,
    /// In the order of the registration; 0 for those that management refused, and why.
    pub targets: Vec<TargetId>,
    pub refused: Vec<String>,
    pub watch: MapWatch,
    pub lease: Lease,
    pub expelled: watch::Sender<Option<WireError>>,
    pub capacities: Box<dyn Fn() -> Vec<TargetCapacity> + Send + Sync>,
    /// The newest map that this service acts on; the largest number while nobody says.
    pub acted_on: AtomicU64,
}

impl State {
    /// Whether these are the ids of the targets that management took.
    pub(super) fn has_targets(&self, given: &[TargetId]) -> bool {
        self.targets.iter().filter(|target| target.0 != 0).eq(given)
    }

    /// The map version that heartbeats may report.
    pub(super) fn acted_on(&self) -> MapVersion {
        self.watch.current().version.min(MapVersion(self.acted_on.load(Ordering::Acquire)))
    }
}

impl Member {
    /// Registers and starts the heartbeats. While management is away it tries again for ever; what only an operator can
    /// cure (a wrong secret, another cluster, a taken alias or id) is an error. `capacities` is called before every
    /// heartbeat on the runtime's thread and must not block. Needs a tokio runtime.
    pub async fn join(
        client: MgmtClient,
        mut register: Register,
        capacities: impl Fn() -> Vec<TargetCapacity> + Send + Sync + 'static,
    ) -> Result<Member, MgmtError> {
        let (sent_ms, registered) = register_patiently(&client, &register).await?;
        let Registered { cluster, node, targets, map, refused } = registered;
        register.cluster = cluster;
        for (target, id) in register.targets.iter_mut().zip(&targets) {
            target.id = *id;
        }
        // What was refused is not offered again: without its id it could become another target.
        register.targets.retain(|target| target.id.0 != 0);
        let lease = Lease::default();
        lease.renew(sent_ms, monotonic_ms(), map.settings.lease_ms, map.version);
        let watch = MapWatch::start(client.clone());
        watch.offer(map);
        let expelled = watch::Sender::new(None);
        let capacities = Box::new(capacities);
        let acted_on = AtomicU64::new(u64::MAX);
        let state =
            State { client, register, cluster, node, targets, refused, watch, lease, expelled, capacities, acted_on };
        let state = Arc::new(state);
        tracing::info!(%node, %cluster, "registered with management");
        let heartbeats = tokio::spawn(heartbeat::run(state.clone())).abort_handle();
        Ok(Member { shared: Arc::new(Shared { state, heartbeats, links: OnceLock::new() }) })
    }

    /// The cluster.
    pub fn cluster(&self) -> ClusterId {
        self.shared.state.cluster
    }

    /// This service's id.
    pub fn node(&self) -> NodeId {
        self.shared.state.node
    }

    /// The targets' ids, in the order of the registration; 0 for one that management refuses.
    pub fn targets(&self) -> &[TargetId] {
        &self.shared.state.targets
    }

    /// Why management refuses targets, a sentence for each 0 in [`Member::targets`], in the same order.
    pub fn refused(&self) -> &[String] {
        &self.shared.state.refused
    }

    /// The newest cluster map that has arrived.
    pub fn map(&self) -> Arc<ClusterMap> {
        self.shared.state.watch.current()
    }

    /// The watch of the cluster map.
    pub fn watch(&self) -> &MapWatch {
        &self.shared.state.watch
    }

    /// Whether requests may be served: less than two thirds of the lease have gone by since the last acknowledged
    /// heartbeat was sent.
    pub fn lease_valid(&self) -> bool {
        self.lease_left() > Duration::ZERO
    }

    /// For how long [`Member::lease_valid`] holds without another heartbeat.
    pub fn lease_left(&self) -> Duration {
        Duration::from_millis(self.shared.state.lease.left_ms(monotonic_ms()))
    }

    /// Until when the lease lets this service serve, by [`super::monotonic_ms`], and the map that it must have for that.
    pub fn lease(&self) -> (u64, MapVersion) {
        self.shared.state.lease.until()
    }

    /// Counts the times without a gap for which [`Member::lease_valid`] held, from 1. While it stays the same, management has not
    /// called this service offline. Read after `lease_valid`, it is that of the lease that was seen.
    pub fn lease_period(&self) -> u64 {
        self.shared.state.lease.period()
    }

    /// From now on heartbeats report no newer map than this: everything in this service acts on it.
    pub fn acts_on(&self, version: MapVersion) {
        self.shared.state.acted_on.store(version.0, Ordering::Release);
    }

    /// Begins to watch the ways to the other servers of the map, which are greeted like this. Needs a tokio runtime.
    pub fn watch_links(&self, handshake: HandshakeConfig) {
        let watch = self.watch().clone();
        self.shared.links.get_or_init(|| Links::start(handshake, self.node(), move || watch.current()));
    }

    /// The ways to other servers, if they are watched.
    pub fn links(&self) -> Option<&Links> {
        self.shared.links.get()
    }

    /// Requests to management, on this member's runtime.
    pub fn mgmt(&self) -> &MgmtClient {
        &self.shared.state.client
    }

    /// Waits until management refuses this process for good, for instance because another one serves a copy of its
    /// directory. The lease is over; the service must stop.
    pub async fn expelled(&self) -> WireError {
        let mut expelled = self.shared.state.expelled.subscribe();
        match expelled.wait_for(Option::is_some).await.map(|error| error.clone()) {
            Ok(Some(error)) => error,
            // There is always a sender while `self` lives, and `wait_for` returned only for `Some`.
            _ => std::future::pending().await,
        }
    }

    /// Ends the lease now and tells management, so that nobody waits for it to run out. Call it when no request is
    /// served any more. An error means only that management will notice later.
    pub async fn goodbye(&self) -> Result<(), MgmtError> {
        self.shared.heartbeats.abort();
        let state = &self.shared.state;
        state.lease.end();
        let request = MgmtRequest::Goodbye { node: state.node, incarnation: state.register.incarnation };
        match state.client.call_within(&request, GOODBYE_TIMEOUT).await? {
            MgmtReply::Done => Ok(()),
            _ => Err(MgmtError::UnexpectedReply),
        }
    }
}

async fn register_patiently(client: &MgmtClient, register: &Register) -> Result<(u64, Registered), MgmtError> {
    let mut attempts = 0_u32;
    loop {
        match register_once(client, register).await {
            Err(error) if error.is_transient() => {
                if attempts.is_multiple_of(ATTEMPTS_PER_LINE) {
                    tracing::warn!(%error, "waiting for the management service to register");
                }
                attempts = attempts.wrapping_add(1);
                tokio::time::sleep(PAUSE).await;
            }
            decided => return decided,
        }
    }
}

/// Registers; also returns when the request was sent, which is when the lease begins.
pub(super) async fn register_once(client: &MgmtClient, register: &Register) -> Result<(u64, Registered), MgmtError> {
    let sent_ms = monotonic_ms();
    match client.call(&MgmtRequest::Register(register.clone())).await? {
        MgmtReply::Registered(registered) if registered.targets.len() == register.targets.len() => {
            Ok((sent_ms, *registered))
        }
        _ => Err(MgmtError::UnexpectedReply),
    }
}
