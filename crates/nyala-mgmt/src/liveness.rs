// SPDX-License-Identifier: Apache-2.0

//! The tasks around the leader's state ([`nyala_cluster::leader`]): they look at the clock, propose what it wants, and probe
//! whom it names.
//!
//! **Failure model.** That of [`nyala_cluster::leader`]. A proposal that is not decided in time may still be: the leader's state
//! hears of that from [`Core::write`], and names it again.

use crate::core::Core;
use crate::evacuation::evacuate;
use crate::probe;
use nyala_cluster::leader::Probe;
use nyala_cluster::{Command, LeaderState, NodeRecord};
use nyala_transport::member::monotonic_ms;
use nyala_wire::NodeId;
use std::sync::Arc;
use std::time::Duration;

/// Capacity pools are looked at so often.
const POOLS_EVERY_MS: u64 = 1000;

/// When a service whose connection was closed is probed, milliseconds: its listening socket may be closed a little later.
const PROBES_MS: [u64; 6] = [0, 10, 30, 60, 100, 200];

/// Looks at everybody, for ever.
pub(crate) async fn watch_over(core: &Arc<Core>) {
    let mut before_ms = monotonic_ms();
    let mut pools_at_ms = 0;
    loop {
        let pause_ms = LeaderState::look_every_ms(&core.view.state());
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(pause_ms)) => {}
            () = core.look.notified() => {}
        }
        let now_ms = monotonic_ms();
        core.leader.lock().woke(&core.view.state(), now_ms - before_ms, now_ms);
        before_ms = now_ms;
        if core.check_leading().is_err() {
            continue;
        }
        judge(core, now_ms).await;
        let silent = core.leader.lock().probe_silent(&core.view.state(), now_ms);
        for probe in silent {
            let core = core.clone();
            tokio::spawn(async move { try_out(&core, &probe).await });
        }
        if now_ms >= pools_at_ms {
            pools_at_ms = now_ms + POOLS_EVERY_MS;
            sort_into_pools(core).await;
        }
        rebalance(core, now_ms).await;
        evacuate(core).await;
        // Proposals wait for the disk; that is no standstill of ours, heartbeats were taken in meanwhile.
        before_ms = monotonic_ms();
    }
}

async fn judge(core: &Core, now_ms: u64) {
    let state = core.view.state();
    let last_ms = |node: &NodeRecord| {
        let id = u64::from(node.id.0);
        if id == core.me { Some(now_ms) } else { core.contacts.last_ms(id) }
    };
    let verdicts = {
        let mut leader = core.leader.lock();
        leader.hear_management(&state, last_ms);
        leader.verdicts(&state, now_ms)
    };
    for verdict in verdicts {
        if let Command::SetReachability { node, reachability, .. } = &verdict {
            tracing::info!(%node, ?reachability, "a service's reachability changes");
        }
        if let Err(error) = core.propose(verdict).await {
            tracing::warn!(%error, "a reachability could not be recorded; trying again");
        }
    }
    let fenced = core.leader.lock().fenced(&core.view.state());
    for command in fenced {
        if let Err(error) = core.propose(command).await {
            tracing::debug!(%error, "a member that knows of its loss could not be recorded; trying again");
        }
    }
}

/// A connection was closed by the other side; if a service was heard over it, its process may be dead.
pub(crate) fn hung_up(core: &Arc<Core>, connection: u64) {
    let Some(probe) = core.leader.lock().connection_closed(&core.view.state(), connection) else { return };
    let core = core.clone();
    tokio::spawn(async move {
        for pause_ms in PROBES_MS {
            tokio::time::sleep(Duration::from_millis(pause_ms)).await;
            if try_out(&core, &probe).await {
                return;
            }
        }
    });
}

/// Somebody's connection was refused.
pub(crate) fn reported(core: &Arc<Core>, node: NodeId) {
    let Some(probe) = core.leader.lock().reported(&core.view.state(), node, monotonic_ms()) else { return };
    let core = core.clone();
    tokio::spawn(async move { try_out(&core, &probe).await });
}

/// Whether that run is dead; then that is known from now on.
async fn try_out(core: &Core, probe: &Probe) -> bool {
    let Probe { node, incarnation, addresses } = probe;
    if !core.leader.lock().may_be_dead(*node, *incarnation) || !probe::refuses(addresses).await {
        return false;
    }
    let dead = core.leader.lock().refused(*node, *incarnation);
    if dead {
        tracing::info!(%node, "it has closed its connection and its host refuses new ones: the process is dead");
        core.look.notify_one();
    }
    dead
}

async fn sort_into_pools(core: &Core) {
    let moves = core.leader.lock().pools(&core.view.state());
    let Some(moves) = moves else { return };
    if let Err(error) = core.propose(moves).await {
        tracing::warn!(%error, "capacity pools could not be recorded; trying again");
    }
}

/// Has metadata servers that joined get their share.
async fn rebalance(core: &Core, now_ms: u64) {
    let due = core.leader.lock().rebalance(&core.view.state(), now_ms);
    for command in due {
        if let Command::PlanMoves { to, slots } = &command
            && !slots.is_empty()
        {
            tracing::info!(server = %to, slots = slots.len(), "a metadata server joined; it is going to get slots");
        }
        if let Err(error) = core.propose(command).await {
            tracing::warn!(%error, "what is to move between metadata servers could not be recorded; trying again");
        }
    }
}
