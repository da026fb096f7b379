// SPDX-License-Identifier: Apache-2.0

//! Three management nodes in one process, over the real transport: election, replication, the leader's death, and a
//! snapshot for one that was away too long.

use super::{create_pool, init, store};
use crate::config::RaftTimes;
use crate::raft::log::RaftLog;
use crate::raft::machine::Machine;
use crate::raft::network::Network;
use crate::raft::{Raft, config, rpc};
use nyala_transport::{
    Frame, HandshakeConfig, PeerInfo, Pool, PoolOptions, Reply, Role, Secret, Server, ServerOptions, Service,
    ShutdownHandle,
};
use openraft::BasicNode;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::LocalSet;

struct RaftService(Raft);

impl Service for RaftService {
    async fn call(&self, _: &PeerInfo, frame: Frame) -> Reply {
        rpc::serve(&self.0, &frame, true).await
    }
}

struct Node {
    raft: Raft,
    machine: Machine,
    address: SocketAddr,
    stop: ShutdownHandle,
}

async fn node(id: u64, dir: &Path, address: SocketAddr) -> Node {
    let handshake = HandshakeConfig::new(Secret::from_bytes(&[b's'; 32]).unwrap(), 0, Role::Mgmt, 0);
    let log = RaftLog::new(store(&dir.join(id.to_string())));
    let machine = Machine::load(log.clone()).unwrap();
    let config = openraft::Config {
        heartbeat_interval: 50,
        election_timeout_min: 300,
        election_timeout_max: 600,
        snapshot_policy: openraft::SnapshotPolicy::LogsSinceLast(10),
        max_in_snapshot_log_to_keep: 0,
        purge_batch_size: 1,
        // Pieces smaller than the snapshot, so that it takes several.
        snapshot_max_chunk_size: 100,
        enable_elect: true,
        ..config(&RaftTimes::default()).unwrap()
    };
    let network =
        Network::new(Pool::new(handshake.clone(), PoolOptions::default()), machine.view(), Default::default());
    let raft = Raft::new(id, Arc::new(config), network, log, machine.clone()).await.unwrap();
    let server = Server::bind(&[address], handshake, ServerOptions::default()).unwrap();
    let (address, stop) = (server.local_addresses()[0], server.shutdown_handle());
    let service = Rc::new(RaftService(raft.clone()));
    tokio::task::spawn_local(async move { server.serve(service).await.unwrap() });
    Node { raft, machine, address, stop }
}

impl Node {
    async fn kill(self) -> SocketAddr {
        self.stop.stop();
        self.raft.shutdown().await.unwrap();
        self.address
    }

    fn pools(&self) -> usize {
        self.machine.view().state().pools.len()
    }
}

async fn leader(nodes: &BTreeMap<u64, Node>) -> u64 {
    for _ in 0..1000 {
        for (id, node) in nodes {
            if node.raft.current_leader().await == Some(*id) && node.raft.ensure_linearizable().await.is_ok() {
                return *id;
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nobody leads");
}

async fn all_have(nodes: &BTreeMap<u64, Node>, pools: usize) {
    for _ in 0..1000 {
        if nodes.values().all(|n| n.pools() == pools) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let got: Vec<_> = nodes.values().map(Node::pools).collect();
    panic!("{got:?} of {pools} pools");
}

#[tokio::test]
async fn three_nodes_agree_through_the_death_of_their_leader() {
    let test = async {
        let dir = tempfile::tempdir().unwrap();
        let mut nodes = BTreeMap::new();
        for id in 1..=3 {
            nodes.insert(id, node(id, dir.path(), ([127, 0, 0, 1], 0).into()).await);
        }
        let members: BTreeMap<_, _> = nodes.iter().map(|(id, n)| (*id, BasicNode::new(n.address))).collect();
        nodes[&1].raft.initialize(members).await.unwrap();
        let first = leader(&nodes).await;
        nodes[&first].raft.client_write(init()).await.unwrap();
        nodes[&first].raft.client_write(create_pool(1)).await.unwrap();
        all_have(&nodes, 2).await;

        let address = nodes.remove(&first).unwrap().kill().await;
        let second = leader(&nodes).await;
        assert_ne!(second, first);
        for number in 2..=40 {
            nodes[&second].raft.client_write(create_pool(number)).await.unwrap();
        }
        all_have(&nodes, 41).await;
        let purged = nodes[&second].raft.wait(Some(Duration::from_secs(10)));
        purged.metrics(|m| m.purged.is_some_and(|at| at.index > 10), "the log that it missed is gone").await.unwrap();

        nodes.insert(first, node(first, dir.path(), address).await);
        all_have(&nodes, 41).await;
        let states: Vec<_> = nodes.values().map(|n| n.machine.view().state()).collect();
        assert!(states.windows(2).all(|pair| pair[0] == pair[1]));
        for (_, node) in nodes {
            node.kill().await;
        }
    };
    LocalSet::new().run_until(test).await;
}
