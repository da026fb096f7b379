// SPDX-License-Identifier: Apache-2.0

//! From one node to three, to five, and back to three, under load; the leader itself among those that go.

use crate::common::{CLUSTER, ask};
use crate::load::Load;
use crate::nodes::Nodes;
use nyala_transport::member::MgmtError;
use nyala_wire::mgmt::{JoinMgmt, MgmtReply, MgmtRequest, MgmtRole};
use nyala_wire::{ClusterId, ErrorCode, NodeId};

/// Asks as somebody else than a client.
async fn ask_as(role: nyala_transport::Role, nodes: &Nodes, request: MgmtRequest) -> Result<MgmtReply, MgmtError> {
    let secret = nyala_transport::Secret::load(&nodes.secret()).unwrap();
    let handshake = nyala_transport::HandshakeConfig::new(secret, 0, role, 0);
    let client = nyala_transport::member::MgmtClient::new(nodes.client().addresses(), handshake);
    ask(&client, request).await
}

async fn remove(nodes: &Nodes, node: NodeId) -> Result<MgmtReply, MgmtError> {
    // From an operator, as `nyala mgmt remove` is.
    ask_as(nyala_transport::Role::Cli, nodes, MgmtRequest::RemoveMgmt { node }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_three_five_three() {
    let mut nodes = Nodes::one();
    let load = Load::start(&nodes).await;
    for place in 2..=3 {
        nodes.start(place);
    }
    nodes.await_voters(3).await;
    // Two at once.
    nodes.start(4);
    nodes.start(5);
    let list = nodes.await_voters(5).await;
    assert_eq!(list.iter().filter(|node| node.role == MgmtRole::Leader).count(), 1);
    // Five lose two and go on.
    let leader = nodes.leader().await;
    let other = *nodes.running.keys().find(|place| **place != leader).unwrap();
    nodes.kill(leader);
    nodes.kill(other);
    assert_ne!(nodes.leader().await, leader);
    nodes.start(leader);
    nodes.start(other);
    nodes.await_voters(5).await;
    // A follower goes, then the leader.
    let list = nodes.list().await;
    let follower = list.iter().find(|node| node.role == MgmtRole::Follower).unwrap();
    assert!(matches!(remove(&nodes, follower.node).await, Ok(MgmtReply::Done)));
    let gone = nodes.running.remove(&nodes.place_of(follower)).unwrap();
    let why = tokio::task::spawn_blocking(|| gone.ends()).await.unwrap();
    // By its peers, or by the leader when it registers, whoever is asked first.
    assert!(why.contains("was removed"), "{why}");
    let list = nodes.await_voters(4).await;
    let leader = list.iter().find(|node| node.role == MgmtRole::Leader).unwrap();
    assert!(matches!(remove(&nodes, leader.node).await, Ok(MgmtReply::Done)));
    let place = nodes.place_of(leader);
    let gone = nodes.running.remove(&place).unwrap();
    let why = tokio::task::spawn_blocking(|| gone.ends()).await.unwrap();
    assert!(why.contains("was removed"), "{why}");
    nodes.await_voters(3).await;
    // Its directory is no way back.
    nodes.start(place);
    let again = nodes.running.remove(&place).unwrap();
    let why = tokio::task::spawn_blocking(|| again.ends()).await.unwrap();
    assert!(why.contains("was removed"), "{why}");
    assert!(matches!(remove(&nodes, leader.node).await, Ok(MgmtReply::Done)), "removed already");
    let seen = load.finish(&nodes).await;
    println!("{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn removals_that_could_not_be_completed_are_refused() {
    let mut nodes = Nodes::one();
    let code = |answer| match answer {
        Err(MgmtError::Refused(error)) => error.code,
        other => panic!("{other:?}"),
    };
    let only = nodes.list().await[0].node;
    assert_eq!(code(remove(&nodes, only).await), ErrorCode::INVALID);
    nodes.start(2);
    nodes.start(3);
    let list = nodes.await_voters(3).await;
    let leader = nodes.leader().await;
    let dead = *nodes.running.keys().find(|place| **place != leader).unwrap();
    let alive = *nodes.running.keys().find(|place| **place != leader && **place != dead).unwrap();
    nodes.kill(dead);
    // sleeps: the others notice that it is gone
    tokio::time::sleep(std::time::Duration::from_millis(1200)).await;
    let id = |place| list.iter().find(|node| nodes.place_of(node) == place).unwrap().node;
    // What would remain is the leader and a dead one.
    let client = nodes.client();
    let refused = client.call(&MgmtRequest::RemoveMgmt { node: id(alive) }).await;
    assert!(matches!(refused, Err(MgmtError::Refused(ref e)) if e.code == ErrorCode::UNAUTHORIZED), "{refused:?}");
    let refused = tokio::time::timeout(std::time::Duration::from_secs(2), remove(&nodes, id(alive))).await;
    assert!(refused.is_err(), "refused again and again: {refused:?}");
    assert!(matches!(remove(&nodes, id(dead)).await, Ok(MgmtReply::Done)), "the dead one can go");
    nodes.await_voters(2).await;
}

/// A registration that is decided after the removal of who sent it makes a node that nobody is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registration_that_came_too_late_is_taken_back() {
    let nodes = Nodes::with(3).await;
    let uuid = ClusterId([7; 16]);
    let join = async |cluster, node| {
        let addresses = vec!["127.0.0.9:9".to_owned()];
        let request = JoinMgmt { cluster, uuid, addresses, incarnation: 1, node: NodeId(node) };
        ask_as(nyala_transport::Role::Mgmt, &nodes, MgmtRequest::JoinMgmt(request)).await
    };
    assert!(matches!(join(ClusterId::UNKNOWN, 0).await, Ok(MgmtReply::MgmtJoined { .. })));
    assert_eq!(nodes.list().await.len(), 4);
    match join(CLUSTER, 999).await {
        Err(MgmtError::Refused(error)) => assert_eq!(error.code, ErrorCode::REMOVED),
        other => panic!("{other:?}"),
    }
    assert_eq!(nodes.list().await.len(), 3);
}
