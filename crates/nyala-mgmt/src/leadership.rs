// SPDX-License-Identifier: Apache-2.0

//! Becoming and ceasing to be the leader.
//!
//! **Failure model.** Leadership comes and goes with Raft's terms. A new leader answers nobody before everything decided
//! earlier is applied here, and counts every lease from its own beginning.

use crate::MgmtError;
use crate::core::{Core, Refusal};
use crate::directory::{self, Identity};
use nyala_cluster::leader::TakeOver;
use nyala_cluster::{LeaderState, RegisterNode};
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
        if leads && core.leads_in.load(Ordering::Acquire) != term {
            match take_over(core, bootstrap).await {
                Ok(()) => {
                    // Leases of a predecessor may have been renewed until just now, so ours are counted from here.
                    *core.leader.lock() = LeaderState::new(term, monotonic_ms());
                    core.leads_in.store(term, Ordering::Release);
                    tracing::info!(term, "this management node leads");
                }
                Err(NotYet::Later(reason)) => {
                    tracing::debug!(reason, "not leading yet");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
                Err(NotYet::Never(error)) => return error,
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

enum NotYet {
    Later(String),
    Never(MgmtError),
}

impl From<Refusal> for NotYet {
    fn from(refusal: Refusal) -> NotYet {
        match refusal {
            Refusal::Cluster(error) => NotYet::Never(MgmtError::Init(error)),
            other => NotYet::Later(other.to_string()),
        }
    }
}

async fn take_over(core: &Core, bootstrap: &Bootstrap) -> Result<(), NotYet> {
    core.raft.ensure_linearizable().await.map_err(|e| NotYet::Later(e.to_string()))?;
    let Bootstrap { identity, dir, .. } = bootstrap;
    let me = RegisterNode {
        cluster: identity.cluster,
        role: Role::Mgmt,
        uuid: identity.uuid,
        alias: String::new(),
        addresses: bootstrap.addresses.clone(),
        incarnation: bootstrap.incarnation,
        targets: Vec::new(),
    };
    match nyala_cluster::leader::take_over(&core.view.state(), me, &bootstrap.settings) {
        TakeOver::Foreign(theirs) => {
            let dir = dir.clone();
            return Err(NotYet::Never(MgmtError::ForeignCluster { dir, ours: identity.cluster, theirs }));
        }
        TakeOver::Removed => {}
        TakeOver::Propose(commands) => {
            for command in commands {
                core.write(command).await?;
            }
        }
    }
    Ok(())
}
