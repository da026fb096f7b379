// SPDX-License-Identifier: Apache-2.0

//! The network between management nodes is cut, while clients still reach all of them: the harder case, for a leader that
//! was cut off is still asked.

use crate::common::{Running, client, map, register, storage};
use crate::nodes::config;
use nyala_mgmt::MgmtConfig;
use nyala_transport::member::MgmtClient;
use nyala_wire::MapVersion;
use nyala_wire::mgmt::{Heartbeat, MgmtReply, MgmtRequest, MgmtRole};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

struct Three {
    _root: tempfile::TempDir,
    nodes: Vec<(Running, Arc<AtomicBool>)>,
    client: MgmtClient,
}

async fn three() -> Three {
    let root = tempfile::tempdir().unwrap();
    let mut nodes: Vec<(Running, Arc<AtomicBool>)> = Vec::new();
    for place in 1..=3 {
        let join = nodes.iter().map(|(node, _)| node.address).collect();
        let config: MgmtConfig = config(&root.path().join(format!("mgmt{place}")), ([127, 0, 0, 1], 0).into(), join);
        let cut = config.raft.cut.clone();
        nodes.push((Running::start(config), cut));
    }
    let secret = root.path().join("secret");
    let client = client(nodes[0].0.address, &secret);
    let three = Three { _root: root, nodes, client };
    three
        .until(|list| list.len() == 3 && list.iter().all(|node| node.reachable && node.role != MgmtRole::Learner))
        .await;
    three
}

impl Three {
    async fn until(&self, good: impl Fn(&[nyala_wire::mgmt::MgmtNode]) -> bool) {
        let since = Instant::now();
        loop {
            self.client.learn(&map(&self.client).await);
            let MgmtReply::MgmtNodes(list) = crate::common::ask(&self.client, MgmtRequest::MgmtNodes).await.unwrap()
            else {
                panic!()
            };
            if good(&list) {
                return;
            }
            assert!(since.elapsed() < Duration::from_secs(20), "{list:?}");
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The number in `nodes` of the one that leads.
    async fn leader(&self) -> usize {
        let MgmtReply::MgmtNodes(list) = crate::common::ask(&self.client, MgmtRequest::MgmtNodes).await.unwrap() else {
            panic!()
        };
        let leader = list.iter().find(|node| node.role == MgmtRole::Leader).unwrap();
        self.nodes.iter().position(|(node, _)| leader.addresses.contains(&node.address)).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_is_cut_off_decides_and_grants_nothing() {
    let three = three().await;
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let given = register(&three.client, storage(2, &[21], port.local_addr().unwrap())).await;
    let old = three.leader().await;
    let only_old = three.nodes[old].0.client();
    let heartbeat = MgmtRequest::Heartbeat(Heartbeat {
        node: given.node,
        incarnation: 2,
        map_version: MapVersion(1),
        capacities: Vec::new(),
    });
    assert!(matches!(only_old.call(&heartbeat).await, Ok(MgmtReply::Lease { .. })));
    three.nodes[old].1.store(true, Ordering::Release);
    let cut = Instant::now();
    // It is the leader for itself until it hears of another; but it knows that it has no majority any more.
    let mut last_lease = Duration::ZERO;
    let mut refused = 0;
    while cut.elapsed() < Duration::from_secs(3) {
        let connection = three.nodes[old].0.client();
        let sent = cut.elapsed();
        match connection.call_within(&heartbeat, Duration::from_millis(300)).await {
            Ok(MgmtReply::Lease { .. }) => last_lease = sent,
            _ => refused += 1,
        }
        // sleeps: the pace of the heartbeats
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(last_lease < Duration::from_millis(600), "a lease {last_lease:?} after the cut");
    assert!(refused > 3);
    // The others have gone on.
    let new = three.leader().await;
    assert_ne!(new, old);
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    register(&three.client, storage(3, &[31], other.local_addr().unwrap())).await;
    assert!(matches!(three.client.call(&heartbeat).await, Ok(MgmtReply::Lease { .. })));
    // Back again, it follows and has everything.
    three.nodes[old].1.store(false, Ordering::Release);
    three.until(|list| list.iter().all(|node| node.reachable && node.log.is_some())).await;
    let now = three.leader().await;
    assert_eq!(map(&three.nodes[now].0.client()).await.targets.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_that_is_cut_off_is_not_missed() {
    let three = three().await;
    let ports: Vec<_> = (0..20).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let leader = three.leader().await;
    let lost = (leader + 1) % 3;
    let follower = &three.nodes[lost].0;
    let (status, said) = follower.http("GET", "/nodes", Some(&follower.token), "");
    assert_eq!((status, said["code"].as_str()), (503, Some("not_leader")), "{said}");
    three.nodes[lost].1.store(true, Ordering::Release);
    for (number, port) in (10..30_u8).zip(&ports) {
        register(&three.client, storage(number, &[number], port.local_addr().unwrap())).await;
    }
    three.until(|list| list.iter().filter(|node| !node.reachable).count() == 1).await;
    // sleeps: so long it is cut off
    tokio::time::sleep(Duration::from_secs(3)).await;
    three.nodes[lost].1.store(false, Ordering::Release);
    three.until(|list| list.iter().all(|node| node.reachable)).await;
    assert_eq!(map(&three.client).await.targets.len(), 20);
}
