// SPDX-License-Identifier: Apache-2.0

//! Becoming and ceasing to be the leader.
//!
//! **Failure model.** Leadership comes and goes with Raft's terms. A new leader answers nobody before everything decided
//! earlier is applied here, and counts every lease from its own beginning.

use crate::MgmtError;
use crate::core::{Core, Refusal};
use crate::directory::{self, Identity};
use crate::liveness::Liveness;
use nyala_cluster::{Command, RegisterNode};
use nyala_transport::member::monotonic_ms;
use nyala_wire::ClusterId;
use nyala_wire::map::{Role, Settings};
use openraft::ServerState;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What a leader makes sure of.
pub(crate) struct Bootstrap {
    pub dir: PathBuf,
    pub identity: Identity,
    pub settings: Settings,
    pub addresses: Vec<SocketAddr>,
    pub incarnation: u64,
}

/// Follows Raft's state for ever; returns when Raft has stopped or the cluster state is not ours.
pub(crate) async fn follow(core: &Core, bootstrap: &Bootstrap) -> MgmtError {
    let mut metrics = core.raft.metrics();
    let mut leads_in = None;
    let mut initialised = bootstrap.identity.initialised;
    loop {
        let (stopped, leads, term) = {
            let now = metrics.borrow_and_update();
            let stopped = now.running_state.as_ref().err().map(ToString::to_string);
            (stopped, now.state == ServerState::Leader, now.current_term)
        };
        if let Some(reason) = stopped {
            return MgmtError::Raft(reason);
        }
        let leads_in_before = leads_in;
        leads_in = leads.then_some(term);
        if leads_in != leads_in_before {
            core.leading.store(false, Ordering::Release);
        }
        if leads && !core.leading.load(Ordering::Acquire) {
            match take_over(core, bootstrap).await {
                Ok(()) => tracing::info!(term, "this management node leads"),
                Err(TakeOver::Later(reason)) => {
                    tracing::debug!(reason, "not leading yet");
                    core.leading.store(false, Ordering::Release);
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
                Err(TakeOver::Never(error)) => return error,
            }
        }
        if !initialised && core.view.state().cluster != ClusterId::UNKNOWN {
            if let Err(error) = directory::set_initialised(&bootstrap.dir, &bootstrap.identity) {
                return error;
            }
            initialised = true;
        }
        if metrics.changed().await.is_err() {
            return MgmtError::Raft("Raft has stopped".to_owned());
        }
    }
}

enum TakeOver {
    Later(String),
    Never(MgmtError),
}

impl From<Refusal> for TakeOver {
    fn from(refusal: Refusal) -> TakeOver {
        match refusal {
            Refusal::NotReady(reason) => TakeOver::Later(reason),
            Refusal::Cluster(error) => TakeOver::Never(MgmtError::Init(error)),
        }
    }
}

async fn take_over(core: &Core, bootstrap: &Bootstrap) -> Result<(), TakeOver> {
    core.raft.ensure_linearizable().await.map_err(|e| TakeOver::Later(e.to_string()))?;
    let Bootstrap { identity, dir, .. } = bootstrap;
    let stored = core.view.state().cluster;
    if stored != ClusterId::UNKNOWN && stored != identity.cluster {
        let dir = dir.clone();
        return Err(TakeOver::Never(MgmtError::ForeignCluster { dir, ours: identity.cluster, theirs: stored }));
    }
    *core.liveness.lock() = Liveness::new(monotonic_ms());
    core.leading.store(true, Ordering::Release);
    core.propose(Command::Init { cluster: identity.cluster, settings: bootstrap.settings.clone() }).await?;
    let register = RegisterNode {
        cluster: identity.cluster,
        role: Role::Mgmt,
        uuid: identity.uuid,
        alias: String::new(),
        addresses: bootstrap.addresses.clone(),
        incarnation: bootstrap.incarnation,
        targets: Vec::new(),
    };
    core.propose(Command::RegisterNode(register)).await?;
    Ok(())
}
