// SPDX-License-Identifier: Apache-2.0

//! One node on a simulated machine whose power fails at every n-th change of its disk: what was acknowledged is there
//! afterwards, what was not is there whole or not at all, and the node goes on.

use super::{create_pool, init};
use crate::config::RaftTimes;
use crate::raft::log::RaftLog;
use crate::raft::machine::Machine;
use crate::raft::network::Network;
use crate::raft::peers::Peers;
use crate::raft::{Raft, config};
use nyala_cluster::ClusterState;
use nyala_store::testing::Machine as Computer;
use nyala_store::{Options, Store};
use nyala_transport::{HandshakeConfig, Pool, PoolOptions, Role, Secret};
use nyala_wire::ClusterId;
use openraft::BasicNode;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const CHANGES: u64 = 12;

fn network(machine: &Machine) -> Network {
    let secret = Secret::from_bytes(&[b's'; 32]).unwrap();
    let pool = Pool::new(HandshakeConfig::new(secret, 0, Role::Mgmt, 0), PoolOptions::default());
    let peers = Peers::new(ClusterId([5; 16]), 1, &[], &[]);
    Network::new(pool, machine.view(), Arc::new(peers), Default::default())
}

/// Starts the node; `None` if the machine went down meanwhile.
async fn start(computer: &Computer) -> Option<(Raft, Machine)> {
    let options = Options { manual: true, segment_bytes: 16 << 10, ..Options::default() };
    let (store, _) = Store::open_with(computer.disk(), computer.ordered(), options).ok()?;
    let log = RaftLog::new(store);
    let machine = Machine::load(log.clone()).ok()?;
    // Snapshots and purges often, so that crashes hit them too.
    let config = openraft::Config {
        snapshot_policy: openraft::SnapshotPolicy::LogsSinceLast(4),
        max_in_snapshot_log_to_keep: 1,
        purge_batch_size: 1,
        enable_elect: true,
        ..config(&RaftTimes::default()).unwrap()
    };
    let raft = Raft::new(1, Arc::new(config), network(&machine), log, machine.clone()).await.ok()?;
    // Refused when it has been done before.
    let _ = raft.initialize(BTreeMap::from([(1, BasicNode::new(""))])).await;
    let leads = raft.wait(Some(Duration::from_secs(5))).state(openraft::ServerState::Leader, "leads").await;
    leads.is_ok().then_some((raft, machine))
}

/// Makes changes until the machine goes down; how many were acknowledged.
async fn work(raft: &Raft) -> u64 {
    if raft.client_write(init()).await.is_err() {
        return 0;
    }
    for number in 1..=CHANGES {
        match raft.client_write(create_pool(number)).await {
            Ok(response) => assert!(response.data.0.is_ok()),
            Err(_) => return number - 1,
        }
    }
    CHANGES
}

fn pools(state: &ClusterState) -> u64 {
    state.pools.iter().filter(|p| p.alias.starts_with("pool-")).count() as u64
}

#[tokio::test]
async fn acknowledged_changes_survive_a_power_cut_anywhere() {
    let whole = Computer::new(0);
    let (raft, _) = start(&whole).await.unwrap();
    assert_eq!(work(&raft).await, CHANGES);
    raft.shutdown().await.unwrap();
    let points = whole.points();
    assert!(points > 20, "{points}");
    let mut cut = 0;
    for point in (0..points).step_by(3) {
        let computer = Computer::new(point);
        computer.crash_at(point);
        let mut acknowledged = 0;
        if let Some((raft, _)) = start(&computer).await {
            acknowledged = work(&raft).await;
            // It may have stopped by itself already.
            let _ = raft.shutdown().await;
        }
        cut += u64::from(computer.is_down());
        computer.power_cut();
        let (raft, machine) = start(&computer).await.unwrap_or_else(|| panic!("no start after a crash at {point}"));
        raft.ensure_linearizable().await.unwrap();
        let state = machine.view().state();
        let there = pools(&state);
        assert!(there >= acknowledged, "crash at {point}: {acknowledged} acknowledged, {there} there");
        assert!(there <= acknowledged + 1, "crash at {point}: only one was under way");
        let names: Vec<_> = state.pools.iter().skip(1).map(|p| p.alias.clone()).collect();
        assert_eq!(names, (1..=there).map(|n| format!("pool-{n}")).collect::<Vec<_>>());
        assert_eq!(work(&raft).await, CHANGES, "it goes on after a crash at {point}");
        assert_eq!(pools(&machine.view().state()), CHANGES);
        raft.shutdown().await.unwrap();
    }
    assert!(cut > points / 6, "the crashes happened: {cut} of {points}");
}
