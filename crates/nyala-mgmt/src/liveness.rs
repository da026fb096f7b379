// SPDX-License-Identifier: Apache-2.0

//! The leader's memory of who was heard when, and the task that acts on it: reachability and capacity pools.
//!
//! **Failure model.** Heartbeats stop (the lease runs out), a process dies while its host lives, or this process itself
//! stands still (paused, starved): then the silence is its own and is held against nobody. A verdict names the run that it
//! is about, so that it cannot hit a successor.
//!
//! A process is taken for dead before its lease has run out if two things come together: its kernel has closed the
//! connection over which its last heartbeat came, in order, and its host refuses new ones ([`crate::probe`]). A packet
//! filter can refuse new connections, and break old ones by a reset, while the process lives and serves; it cannot close one
//! in order. A living process does not close that connection before it has ended its lease itself.

use crate::core::{Core, Refusal};
use crate::probe;
use nyala_cluster::capacity::{TargetUsage, changes};
use nyala_cluster::failure::Watched;
use nyala_cluster::group::fence::{Fence, Grant};
use nyala_cluster::{ClusterState, Command, FailureDetector};
use nyala_transport::member::monotonic_ms;
use nyala_wire::map::{Reachability, Role, TargetKind};
use nyala_wire::mgmt::{Capacity, Heartbeat, TargetCapacity};
use nyala_wire::{NodeId, TargetId};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Reports about one service are looked into so often.
const KNOCK_EVERY_MS: u64 = 50;
/// Capacity pools are looked at so often.
const POOLS_EVERY_MS: u64 = 1000;

/// When a service whose connection was closed is knocked at, milliseconds: its listening socket may be closed a little later.
const KNOCKS_MS: [u64; 6] = [0, 10, 30, 60, 100, 200];

/// The connection over which a run was heard last.
struct Line {
    incarnation: u64,
    connection: u64,
    /// The other side's kernel has closed it.
    closed: bool,
}

/// What the leader heard since it leads.
pub(crate) struct Liveness {
    pub detector: FailureDetector,
    pub capacities: BTreeMap<TargetId, Capacity>,
    /// Who knows which map, and who gets no lease.
    pub fence: Fence,
    /// How each service was heard last.
    lines: BTreeMap<NodeId, Line>,
    /// When each silent node was probed last.
    probed: BTreeMap<NodeId, u64>,
    /// When each was knocked at since somebody reported it.
    knocked: BTreeMap<NodeId, u64>,
    /// Runs that "offline" was proposed against, without a decision.
    undecided: BTreeMap<NodeId, u64>,
}

impl Liveness {
    /// For a leader that begins now.
    pub(crate) fn new(now_ms: u64) -> Liveness {
        let (detector, fence) = (FailureDetector::new(now_ms), Fence::default());
        Liveness {
            detector,
            fence,
            capacities: BTreeMap::new(),
            lines: BTreeMap::new(),
            probed: BTreeMap::new(),
            knocked: BTreeMap::new(),
            undecided: BTreeMap::new(),
        }
    }

    /// A run of a service was heard, with the capacities of its targets.
    pub(crate) fn heard(&mut self, node: NodeId, incarnation: u64, capacities: &[TargetCapacity], now_ms: u64) {
        self.detector.heard(node, incarnation, now_ms);
        self.probed.remove(&node);
        self.capacities.extend(capacities.iter().map(|c| (c.target, c.capacity)));
    }

    /// A heartbeat came over this connection.
    pub(crate) fn heard_over(&mut self, node: NodeId, incarnation: u64, connection: u64) {
        self.lines.insert(node, Line { incarnation, connection, closed: false });
    }

    /// The other side has closed a connection: whose it was, if it was somebody's line.
    fn closed(&mut self, connection: u64) -> Option<NodeId> {
        let (node, line) = self.lines.iter_mut().find(|(_, line)| line.connection == connection)?;
        line.closed = true;
        Some(*node)
    }

    /// Whether this run has closed its line.
    fn has_closed(&self, node: NodeId, incarnation: u64) -> bool {
        self.lines.get(&node).is_some_and(|line| line.incarnation == incarnation && line.closed)
    }

    /// A heartbeat: the lease that it gets, if it gets one.
    pub(crate) fn grant(&mut self, state: &ClusterState, beat: &Heartbeat) -> Option<Grant> {
        self.fence.heartbeat(state, beat.node, beat.incarnation, beat.map_version)
    }

    /// Drops what is about nodes and targets that no longer exist.
    fn forget(&mut self, state: &ClusterState) {
        self.capacities.retain(|target, _| state.target(*target).is_some());
        self.lines.retain(|node, _| state.node(*node).is_some());
        self.probed.retain(|node, _| state.node(*node).is_some());
        self.knocked.retain(|node, _| state.node(*node).is_some());
    }
}

/// Services, which hold leases, and management nodes.
fn watched(state: &ClusterState) -> impl Iterator<Item = Watched> + '_ {
    let watched = state.nodes.iter().filter(|n| n.role != Role::Client);
    watched.map(|n| Watched { node: n.id, incarnation: n.incarnation, reachability: n.reachability })
}

/// Management nodes send no heartbeats: their answers in Raft are theirs, and ours is that we are here.
fn hear_management(core: &Core, state: &ClusterState, liveness: &mut Liveness, now_ms: u64) {
    for node in state.nodes.iter().filter(|n| n.role == Role::Mgmt) {
        let id = u64::from(node.id.0);
        let at_ms = if id == core.me { Some(now_ms) } else { core.contacts.last_ms(id) };
        if let Some(at_ms) = at_ms {
            liveness.detector.heard(node.id, node.incarnation, at_ms);
        }
    }
}

/// Looks at everybody, for ever.
pub(crate) async fn watch_over(core: &Arc<Core>) {
    let mut before_ms = monotonic_ms();
    let mut pools_at_ms = 0;
    loop {
        let lease_ms = u64::from(core.view.state().settings.lease_ms);
        let pause_ms = (lease_ms / 30).clamp(10, 100);
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(pause_ms)) => {}
            () = core.look.notified() => {}
        }
        let now_ms = monotonic_ms();
        let gap_ms = now_ms - before_ms;
        before_ms = now_ms;
        if gap_ms > pause_ms + lease_ms / 6 {
            // Silence that is excused is safe to judge, and a proof of death counts however busy this machine is.
            core.liveness.lock().detector.excuse(gap_ms - pause_ms, now_ms);
        }
        if core.check_leading().is_err() {
            continue;
        }
        judge(core, now_ms, lease_ms).await;
        probe_silent(core, now_ms);
        if now_ms >= pools_at_ms {
            pools_at_ms = now_ms + POOLS_EVERY_MS;
            sort_into_pools(core).await;
        }
        // Proposals wait for the disk; that is no standstill of ours, heartbeats were taken in meanwhile.
        before_ms = monotonic_ms();
    }
}

async fn judge(core: &Core, now_ms: u64, lease_ms: u64) {
    let state = core.view.state();
    let verdicts: Vec<(Watched, Reachability)> = {
        let mut liveness = core.liveness.lock();
        liveness.forget(&state);
        hear_management(core, &state, &mut liveness, now_ms);
        liveness.detector.changes(watched(&state), lease_ms, now_ms).collect()
    };
    let undecided = core.liveness.lock().undecided.clone();
    for (node, incarnation) in undecided {
        if let Err(error) = declare(core, node, incarnation, Reachability::Offline).await {
            tracing::warn!(%node, %error, "its end could not be recorded; trying again");
        }
    }
    for (Watched { node, incarnation, .. }, reachability) in verdicts {
        tracing::info!(%node, ?reachability, "a service's reachability changes");
        if let Err(error) = declare(core, node, incarnation, reachability).await {
            tracing::warn!(%node, %error, "its reachability could not be recorded; trying again");
        }
    }
    let due = core.liveness.lock().fence.due(&core.view.state());
    for command in due {
        if let Err(error) = core.propose(command).await {
            tracing::debug!(%error, "a member that knows of its loss could not be recorded; trying again");
        }
    }
}

/// Records what has become of a run. From before "offline" is proposed until it is decided the run gets no lease.
pub(crate) async fn declare(
    core: &Core,
    node: NodeId,
    incarnation: u64,
    reachability: Reachability,
) -> Result<(), Refusal> {
    let down = reachability == Reachability::Offline;
    if down {
        core.liveness.lock().fence.condemn(node, incarnation);
    }
    let declared = core.propose(Command::SetReachability { node, incarnation, reachability }).await;
    let mut liveness = core.liveness.lock();
    match &declared {
        // It may still be decided: it is proposed until it is, and till then there is no lease.
        Err(Refusal::NotReady(_)) if down => drop(liveness.undecided.insert(node, incarnation)),
        _ => {
            liveness.undecided.remove(&node);
            liveness.fence.resolve(node);
        }
    }
    drop(liveness);
    declared.map(drop)
}

/// A connection was closed by the other side; if a service was heard over it, its process may be dead.
pub(crate) fn hung_up(core: &Arc<Core>, connection: u64) {
    let Some(node) = core.liveness.lock().closed(connection) else { return };
    let state = core.view.state();
    let Some(record) = state.node(node).filter(|n| n.reachability != Reachability::Offline) else { return };
    let (core, incarnation, addresses) = (core.clone(), record.incarnation, record.addresses.clone());
    tokio::spawn(async move {
        for pause_ms in KNOCKS_MS {
            tokio::time::sleep(Duration::from_millis(pause_ms)).await;
            if knock(&core, node, incarnation, &addresses).await {
                return;
            }
        }
    });
}

/// Somebody's connection was refused: knocks there now, not when the service has been silent for long.
pub(crate) fn look_at(core: &Arc<Core>, node: NodeId) {
    let now_ms = monotonic_ms();
    let state = core.view.state();
    let Some(record) = state.node(node).filter(|n| n.role != Role::Mgmt && n.reachability != Reachability::Offline)
    else {
        return;
    };
    let mut liveness = core.liveness.lock();
    if liveness.knocked.get(&node).is_some_and(|at| now_ms < at + KNOCK_EVERY_MS) {
        return;
    }
    liveness.knocked.insert(node, now_ms);
    let (core, incarnation, addresses) = (core.clone(), record.incarnation, record.addresses.clone());
    tokio::spawn(async move { knock(&core, node, incarnation, &addresses).await });
}

/// Whether that run is dead; then that is known from now on.
async fn knock(core: &Arc<Core>, node: NodeId, incarnation: u64, addresses: &[SocketAddr]) -> bool {
    if !core.liveness.lock().has_closed(node, incarnation) || !probe::refuses(addresses).await {
        return false;
    }
    let mut liveness = core.liveness.lock();
    // It may have been heard over another connection meanwhile.
    let dead = liveness.has_closed(node, incarnation);
    if dead {
        tracing::info!(%node, "it has closed its connection and its host refuses new ones: the process is dead");
        liveness.detector.dead(node, incarnation);
        drop(liveness);
        core.look.notify_one();
    }
    dead
}

/// Knocks at those that have missed a heartbeat: one that is dead is known to be so long before its lease ends.
fn probe_silent(core: &Arc<Core>, now_ms: u64) {
    let state = core.view.state();
    let beat_ms = u64::from(state.settings.heartbeat_ms);
    let mut liveness = core.liveness.lock();
    let service = |w: &Watched| state.node(w.node).is_some_and(|n| n.role != Role::Mgmt);
    for w in watched(&state).filter(|w| w.reachability != Reachability::Offline && service(w)) {
        let recently = liveness.probed.get(&w.node).is_some_and(|at| now_ms < at + beat_ms);
        if recently || liveness.detector.silence_ms(&w, now_ms) <= beat_ms + beat_ms / 4 {
            continue;
        }
        liveness.probed.insert(w.node, now_ms);
        let addresses = state.node(w.node).map(|n| n.addresses.clone()).unwrap_or_default();
        let (core, w) = (core.clone(), w);
        tokio::spawn(async move { knock(&core, w.node, w.incarnation, &addresses).await });
    }
}

async fn sort_into_pools(core: &Core) {
    let state = core.view.state();
    let mut by_pool: BTreeMap<(TargetKind, u16), Vec<TargetUsage>> = BTreeMap::new();
    {
        let liveness = core.liveness.lock();
        for t in &state.targets {
            if let Some(capacity) = liveness.capacities.get(&t.id).copied() {
                let usage = TargetUsage { target: t.id, capacity, current: t.capacity_pool };
                by_pool.entry((t.kind, t.pool.0)).or_default().push(usage);
            }
        }
    }
    let moves: Vec<_> = by_pool
        .iter()
        .flat_map(|((kind, _), usage)| {
            let limits = if *kind == TargetKind::Meta { &state.limits.meta } else { &state.limits.storage };
            changes(usage, limits)
        })
        .collect();
    if moves.is_empty() {
        return;
    }
    if let Err(error) = core.propose(Command::SetCapacityPools(moves)).await {
        tracing::warn!(%error, "capacity pools could not be recorded; trying again");
    }
}
