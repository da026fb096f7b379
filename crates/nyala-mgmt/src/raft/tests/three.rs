// SPDX-License-Identifier: Apache-2.0

//! Three management nodes in one process, over the real transport: election, replication, the leader's death, and a
//! snapshot for one that was away too long.

use super::{create_pool, init, store};
use crate::config::RaftTimes;
use crate::raft::log::RaftLog;
use crate::raft::machine::Machine;
use crate::raft::network::Network;
use crate::raft::peers::Peers;
use crate::raft::rpc::Receiver;
use crate::raft::{Raft, config, rpc};
use nyala_transport::{
    Frame, HandshakeConfig, PeerInfo, Pool, PoolOptions, Reply, Role, Secret, Server, ServerOptions, Service,
    ShutdownHandle,
};
use nyala_wire::ClusterId;
use openraft::BasicNode;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::LocalSet;

const CLUSTER: ClusterId = ClusterId([5; 16]);

struct RaftService(Rc<Receiver>);

impl Service for RaftService {
    async fn call(&self, _: &PeerInfo, frame: Frame) -> Reply {
        rpc::serve(&self.0, &frame, true).await
    }
}

struct Node {
    raft: Raft,
    receiver: Rc<Receiver>,
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
    let peers = Arc::new(Peers::new(CLUSTER, id, &[], &[]));
    let pool = Pool::new(handshake.clone(), PoolOptions::default());
    let network = Network::new(pool, machine.view(), peers.clone(), Default::default());
    let raft = Raft::new(id, Arc::new(config), network, log.clone(), machine.clone()).await.unwrap();
    let server = Server::bind(&[address], handshake, ServerOptions::default()).unwrap();
    let (address, stop) = (server.local_addresses()[0], server.shutdown_handle());
    let receiver = Rc::new(Receiver::new(raft.clone(), peers, log, machine.view()));
    let service = Rc::new(RaftService(receiver.clone()));
    tokio::task::spawn_local(async move { server.serve(service).await.unwrap() });
    Node { raft, receiver, machine, address, stop }
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
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nobody leads");
}

async fn all_have(nodes: &BTreeMap<u64, Node>, pools: usize) {
    for _ in 0..1000 {
        if nodes.values().all(|n| n.pools() == pools) {
            return;
        }
        // sleeps: between two looks
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

/// Two nodes are known by one address, as when both advertised loopback: whoever sends there reaches one of them, or itself,
/// and nobody takes an answer of the wrong node for a vote.
#[tokio::test]
async fn nodes_that_are_known_by_one_address_do_not_lead_by_their_own_votes() {
    let test = async {
        let dir = tempfile::tempdir().unwrap();
        let mut nodes = BTreeMap::new();
        for id in 1..=3 {
            nodes.insert(id, node(id, dir.path(), ([127, 0, 0, 1], 0).into()).await);
        }
        // Each finds itself at every address.
        for node in nodes.values() {
            let members: BTreeMap<_, _> = (1..=3).map(|id| (id, BasicNode::new(node.address))).collect();
            node.raft.initialize(members).await.unwrap();
        }
        for _ in 0..30 {
            // sleeps: nobody is to be elected in that time
            tokio::time::sleep(Duration::from_millis(100)).await;
            for (id, node) in &nodes {
                assert_ne!(node.raft.current_leader().await, Some(*id), "it has no vote but its own");
            }
        }
        for (_, node) in nodes {
            node.kill().await;
        }
    };
    LocalSet::new().run_until(test).await;
}

/// A follower comes back with an older copy of its directory while the leader that it confirmed more to goes on.
#[tokio::test]
async fn a_log_that_has_gone_back_ends_its_node_and_nobody_else() {
    let test = async {
        let dir = tempfile::tempdir().unwrap();
        let mut nodes = BTreeMap::new();
        for id in 1..=3 {
            nodes.insert(id, node(id, dir.path(), ([127, 0, 0, 1], 0).into()).await);
        }
        let members: BTreeMap<_, _> = nodes.iter().map(|(id, n)| (*id, BasicNode::new(n.address))).collect();
        nodes[&1].raft.initialize(members).await.unwrap();
        let leads = leader(&nodes).await;
        nodes[&leads].raft.client_write(init()).await.unwrap();
        nodes[&leads].raft.client_write(create_pool(1)).await.unwrap();
        all_have(&nodes, 2).await;
        let lost = *nodes.keys().find(|id| **id != leads).unwrap();
        let address = nodes.remove(&lost).unwrap().kill().await;
        // sleeps: the others notice that it is gone
        tokio::time::sleep(Duration::from_millis(200)).await;
        std::fs::remove_dir_all(dir.path().join(lost.to_string())).unwrap();
        let back = node(lost, dir.path(), address).await;
        let noticed = tokio::time::timeout(Duration::from_secs(10), back.receiver.is_behind()).await;
        assert!(noticed.unwrap() > 0, "it knows up to where");
        nodes[&leads].raft.client_write(create_pool(2)).await.expect("the leader goes on with the other one");
        assert_eq!(leader(&nodes).await, leads);
        back.kill().await;
        for (_, node) in nodes {
            node.kill().await;
        }
    };
    LocalSet::new().run_until(test).await;
}
