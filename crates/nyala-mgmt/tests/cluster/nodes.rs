// SPDX-License-Identifier: Apache-2.0

//! Management nodes as processes: this test program again, told by variables what to be.

use crate::common::{CLUSTER, ask, client, client_as, secret_file};
use nyala_mgmt::{Mgmt, MgmtConfig, RaftTimes};
use nyala_transport::member::MgmtClient;
use nyala_wire::NodeId;
use nyala_wire::map::Settings;
use nyala_wire::mgmt::{MgmtNode, MgmtReply, MgmtRequest, MgmtRole};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const DIR: &str = "NYALA_TEST_MGMT_DIR";
const LISTEN: &str = "NYALA_TEST_MGMT_LISTEN";
const JOIN: &str = "NYALA_TEST_MGMT_JOIN";

/// What a node of these tests is told. The secret is beside its directory.
pub fn config(dir: &Path, listen: SocketAddr, join: Vec<SocketAddr>) -> MgmtConfig {
    MgmtConfig {
        listen: vec![listen],
        rest_listen: ([127, 0, 0, 1], 0).into(),
        cluster: CLUSTER,
        join,
        settings: Settings { heartbeat_ms: 500, lease_ms: 3000, ..Settings::default() },
        raft: RaftTimes { snapshot_every: 50, ..RaftTimes::default() },
        ..MgmtConfig::new(dir, secret_file(dir.parent().unwrap()))
    }
}

/// Serves until it is killed; says where it listens, and why it ends.
pub fn run_as_victim() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let variable = |name| std::env::var(name).unwrap();
    let join = variable(JOIN).split_whitespace().map(|address| address.parse().unwrap()).collect();
    let mgmt = Mgmt::open(config(Path::new(&dir), variable(LISTEN).parse().unwrap(), join)).unwrap();
    println!("\nlistening {}", mgmt.addresses()[0]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ended = runtime.block_on(mgmt.run(std::future::pending()));
    println!("\nended {}", ended.unwrap_err());
}

pub struct Node {
    child: Child,
    lines: Box<dyn Iterator<Item = String> + Send>,
    pub address: SocketAddr,
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Node {
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits until it ends by itself; why.
    pub fn ends(mut self) -> String {
        self.lines.find_map(|line| line.strip_prefix("ended ").map(str::to_owned)).expect("it says why")
    }
}

/// A cluster's management: places, and the nodes that run there.
pub struct Nodes {
    root: tempfile::TempDir,
    pub running: BTreeMap<usize, Node>,
    addresses: BTreeMap<usize, SocketAddr>,
}

impl Nodes {
    /// One node, which makes the cluster.
    pub fn one() -> Nodes {
        let mut nodes =
            Nodes { root: tempfile::tempdir().unwrap(), running: BTreeMap::new(), addresses: BTreeMap::new() };
        nodes.start(1);
        nodes
    }

    /// So many nodes, all with a vote.
    pub async fn with(count: usize) -> Nodes {
        let mut nodes = Nodes::one();
        for place in 2..=count {
            nodes.start(place);
        }
        nodes.await_voters(count).await;
        nodes
    }

    pub fn dir(&self, place: usize) -> PathBuf {
        self.root.path().join(format!("mgmt{place}"))
    }

    pub fn secret(&self) -> PathBuf {
        secret_file(self.root.path())
    }

    /// Starts the node of a place: for the first time, or again at its address.
    pub fn start(&mut self, place: usize) {
        // Addresses of their own, so that no connection of others takes a port between two runs.
        let pid = std::process::id();
        let any = SocketAddr::from(([127, 100 + (place as u8), (pid >> 8) as u8, (pid as u8).max(1)], 0));
        let listen = self.addresses.get(&place).copied().unwrap_or(any);
        let others = self.addresses.iter().filter(|(other, _)| **other != place);
        let join: Vec<String> = others.map(|(_, address)| address.to_string()).collect();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "victim", "--nocapture"])
            .env(DIR, self.dir(place))
            .env(LISTEN, listen.to_string())
            .env(JOIN, join.join(" "))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.find_map(|line| line.strip_prefix("listening ").map(str::to_owned));
        let address = address.expect("it starts").parse().unwrap();
        self.addresses.insert(place, address);
        self.running.insert(place, Node { child, lines: Box::new(lines), address });
    }

    /// kill -9.
    pub fn kill(&mut self, place: usize) {
        drop(self.running.remove(&place));
    }

    /// A client that is told of one node only.
    pub fn client_of(&self, place: usize) -> MgmtClient {
        client(self.addresses[&place], &self.secret())
    }

    /// The same of a metadata service.
    pub fn metadata_client_of(&self, place: usize) -> MgmtClient {
        client_as(nyala_transport::Role::Meta, self.addresses[&place], &self.secret())
    }

    /// A client that is told of all nodes that run.
    pub fn client(&self) -> MgmtClient {
        let first = self.client_of(*self.running.keys().next().unwrap());
        let all = self.running.values().map(|node| nyala_wire::map::Node {
            id: NodeId(0),
            alias: String::new(),
            role: nyala_wire::map::Role::Mgmt,
            addresses: vec![node.address],
            reachability: nyala_wire::map::Reachability::Online,
        });
        first.learn(&nyala_wire::map::ClusterMap { nodes: all.collect(), ..Default::default() });
        first
    }

    pub async fn list(&self) -> Vec<MgmtNode> {
        match ask(&self.client(), MgmtRequest::MgmtNodes).await.unwrap() {
            MgmtReply::MgmtNodes(nodes) => nodes,
            other => panic!("{other:?}"),
        }
    }

    /// The place of the node that leads.
    pub async fn leader(&self) -> usize {
        let list = self.list().await;
        let leader = list.iter().find(|node| node.role == MgmtRole::Leader).expect("who answers knows that it leads");
        self.place_of(leader)
    }

    pub fn place_of(&self, node: &MgmtNode) -> usize {
        *self.addresses.iter().find(|(_, address)| node.addresses.contains(address)).unwrap().0
    }

    /// Waits until there are so many nodes with a vote, all of them reachable, and no other nodes.
    pub async fn await_voters(&self, count: usize) -> Vec<MgmtNode> {
        let since = Instant::now();
        loop {
            let list = self.list().await;
            let good = |node: &MgmtNode| node.role != MgmtRole::Learner && node.reachable;
            if list.len() == count && list.iter().all(good) {
                return list;
            }
            assert!(since.elapsed() < Duration::from_secs(30), "{list:?}");
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
