// SPDX-License-Identifier: Apache-2.0

//! The native protocol against a running service: ids, restarts, reachability and its timing.

use crate::common::*;
use nyala_transport::member::{MapWatch, Member};
use nyala_transport::{Connection, HandshakeConfig, Request, Role, Secret};
use nyala_wire::map::{Reachability, Role as NodeRole, SlotRange};
use nyala_wire::mgmt::{Heartbeat, MgmtReply, MgmtRequest, ServiceStats};
use nyala_wire::{ErrorCode, MapVersion, NodeId, Slot, TargetId, codec, message_type};
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

/// A port where somebody listens and never answers: a process that hangs.
fn hanging() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A port where nobody listens: a process that is dead.
fn dead() -> SocketAddr {
    hanging().1
}

/// Waits for `reachability` of `node`; how long it took since `since`.
async fn becomes(watch: &MapWatch, node: NodeId, reachability: Reachability, since: Instant) -> Duration {
    let mut have = MapVersion(0);
    let waiting = async {
        loop {
            let map = watch.newer_than(have).await;
            if map.node(node).is_some_and(|n| n.reachability == reachability) {
                return since.elapsed();
            }
            have = map.version;
        }
    };
    let what = || panic!("node {node} never became {reachability:?}");
    tokio::time::timeout(Duration::from_secs(15), waiting).await.unwrap_or_else(|_| what())
}

#[tokio::test]
async fn members_join_and_keep_their_ids_over_a_restart_of_management() {
    let dir = tempfile::tempdir().unwrap();
    let mgmt = Running::start(config(dir.path()));
    let (_meta_port, meta_at) = hanging();
    let (_storage_port, storage_at) = hanging();
    let meta =
        Member::join(mgmt.metadata_client(), service(NodeRole::Meta, 1, &[11], meta_at), Vec::new).await.unwrap();
    let stored = Member::join(mgmt.client(), storage(2, &[21, 22], storage_at), Vec::new).await.unwrap();
    assert_eq!((meta.cluster(), meta.targets(), stored.targets().len()), (CLUSTER, &[TargetId(1)][..], 2));
    assert_eq!(stored.map().slots, [SlotRange { first: Slot(0), count: 64, target: TargetId(1) }]);
    assert_eq!(stored.map().node(NodeId(1)).unwrap().role, NodeRole::Mgmt, "management is in the map itself");
    let before = map(&mgmt.client()).await;

    let address = mgmt.address;
    mgmt.stop();
    let mgmt = Running::start(nyala_mgmt::MgmtConfig { listen: vec![address], ..config(dir.path()) });
    let after = map(&mgmt.client()).await;
    assert_eq!((&after.targets, &after.slots, after.nodes.len()), (&before.targets, &before.slots, 3));
    assert!(after.version >= before.version);
    let renewed = Instant::now();
    while !(meta.lease_valid() && stored.lease_valid()) {
        assert!(renewed.elapsed() < Duration::from_secs(10), "leases are renewed");
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // The same directories again: the same ids.
    assert_eq!(register(&mgmt.client(), storage(2, &[21, 22], storage_at)).await.targets, stored.targets());
    stored.goodbye().await.unwrap();
    let gone = map(&mgmt.client()).await;
    assert_eq!(gone.node(stored.node()).unwrap().reachability, Reachability::Offline, "at once");
}

#[tokio::test]
async fn silence_leads_to_offline_after_the_lease_and_not_before() {
    let dir = tempfile::tempdir().unwrap();
    let mgmt = Running::start(config(dir.path()));
    let (_port, address) = hanging();
    let watch = MapWatch::start(mgmt.client());
    let mut run = storage(2, &[21], address);
    let node = register(&mgmt.client(), run.clone()).await.node;
    let since = Instant::now();
    let late = becomes(&watch, node, Reachability::ProbablyOffline, since).await;
    let down = becomes(&watch, node, Reachability::Offline, since).await;
    assert!(late >= Duration::from_millis(400), "half a lease of 900 ms: {late:?}");
    assert!(down >= Duration::from_millis(850), "the lease of 900 ms: {down:?}");
    assert!(down < Duration::from_millis(6000), "{down:?}");
    let map = watch.current();
    assert_eq!(map.target(TargetId(101)).unwrap().reachability, Reachability::Offline);
    // A heartbeat brings it back.
    let beat = |incarnation| {
        MgmtRequest::Heartbeat(Heartbeat { node, incarnation, map_version: map.version, capacities: Vec::new() })
    };
    assert!(matches!(ask(&mgmt.client(), beat(2)).await, Ok(MgmtReply::Lease { lease_ms: 900, .. })));
    becomes(&watch, node, Reachability::Online, since).await;
    // Another run takes over; the earlier one is refused and cannot register again.
    run.incarnation = 77;
    register(&mgmt.client(), run.clone()).await;
    let code = |outcome| match outcome {
        Err(nyala_transport::member::MgmtError::Refused(error)) => error.code,
        other => panic!("{other:?}"),
    };
    assert_eq!(code(ask(&mgmt.client(), beat(2)).await), ErrorCode::STALE);
    run.incarnation = 2;
    assert_eq!(code(ask(&mgmt.client(), MgmtRequest::Register(run)).await), ErrorCode::NOT_PERMITTED);
    let nobody = Heartbeat { node: NodeId(99), incarnation: 1, map_version: map.version, capacities: Vec::new() };
    assert_eq!(code(ask(&mgmt.client(), MgmtRequest::Heartbeat(nobody)).await), ErrorCode::NOT_FOUND);
}

/// A packet filter can refuse new connections for a service that lives; that service has its lease to the end.
#[tokio::test]
async fn a_refusal_alone_takes_nobodys_lease_away() {
    let dir = tempfile::tempdir().unwrap();
    let mgmt = Running::start(config(dir.path()));
    let watch = MapWatch::start(mgmt.client());
    // Nothing listens at its address, and it is there all the same.
    let client = mgmt.client();
    let node = register(&client, storage(2, &[21], dead())).await.node;
    let beat =
        MgmtRequest::Heartbeat(Heartbeat { node, incarnation: 2, map_version: MapVersion(1), capacities: Vec::new() });
    let report = mgmt.client();
    let since = Instant::now();
    while since.elapsed() < Duration::from_millis(600) {
        assert!(matches!(ask(&client, beat.clone()).await, Ok(MgmtReply::Lease { .. })));
        ask(&report, MgmtRequest::Refused { node }).await.unwrap();
        // sleeps: the pace of the heartbeats
        tokio::time::sleep(Duration::from_millis(60)).await;
        let now = map(&report).await;
        assert_eq!(now.node(node).unwrap().reachability, Reachability::Online);
    }
    // Silent from here on, with its connection open: its lease of 900 ms is waited out.
    let since = Instant::now();
    ask(&report, MgmtRequest::Refused { node }).await.unwrap();
    let down = becomes(&watch, node, Reachability::Offline, since).await;
    assert!(down >= Duration::from_millis(750), "{down:?}");
    drop(client);
}

#[tokio::test]
async fn a_process_that_is_gone_is_known_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    config.settings.lease_ms = 20_000;
    config.settings.session_timeout_ms = 30_000;
    let mgmt = Running::start(config);
    let watch = MapWatch::start(mgmt.client());
    let client = mgmt.client();
    let node = register(&client, storage(2, &[21], dead())).await.node;
    let beat = Heartbeat { node, incarnation: 2, map_version: MapVersion(1), capacities: Vec::new() };
    assert!(matches!(ask(&client, MgmtRequest::Heartbeat(beat)).await, Ok(MgmtReply::Lease { .. })));
    // Its end closes its connection.
    drop(client);
    let down = becomes(&watch, node, Reachability::Offline, Instant::now()).await;
    assert!(down < Duration::from_secs(8), "long before the lease of 20 s: {down:?}");
}

#[tokio::test]
async fn a_new_leader_waits_a_full_lease() {
    let dir = tempfile::tempdir().unwrap();
    let (_port, address) = hanging();
    let mgmt = Running::start(config(dir.path()));
    let node = register(&mgmt.client(), storage(2, &[21], address)).await.node;
    mgmt.stop();
    // sleeps: so long management is away
    std::thread::sleep(Duration::from_millis(1200));
    let mgmt = Running::start(config(dir.path()));
    let watch = MapWatch::start(mgmt.client());
    watch.newer_than(MapVersion(0)).await;
    let since = Instant::now();
    let at = watch.current().node(node).unwrap().reachability;
    assert_eq!(at, Reachability::Online, "what the predecessor found stands");
    let down = becomes(&watch, node, Reachability::Offline, since).await;
    assert!(down >= Duration::from_millis(700), "counted from the new leader's beginning: {down:?}");
}

#[tokio::test]
async fn capacities_decide_the_pool_and_can_be_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let mgmt = Running::start(config(dir.path()));
    let (_port, address) = hanging();
    let mut small = storage(2, &[21, 22], address);
    small.targets[0].capacity.free_bytes = (1 << 40) / 50;
    register(&mgmt.client(), small).await;
    let watch = MapWatch::start(mgmt.client());
    let since = Instant::now();
    loop {
        let map = watch.newer_than(MapVersion(0)).await;
        let pool = |id| map.target(TargetId(id)).unwrap().capacity_pool;
        if pool(101) == nyala_wire::map::CapacityPool::Low {
            assert_eq!(pool(102), nyala_wire::map::CapacityPool::Normal);
            break;
        }
        assert!(since.elapsed() < Duration::from_secs(10));
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    match ask(&mgmt.client(), MgmtRequest::Capacities).await.unwrap() {
        MgmtReply::Capacities(all) => assert_eq!(all.len(), 2),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn strangers_messages_are_answered_with_errors() {
    let dir = tempfile::tempdir().unwrap();
    let mgmt = Running::start(config(dir.path()));
    map(&mgmt.client()).await;
    let secret = Secret::load(&secret_file(dir.path())).unwrap();
    let config = HandshakeConfig::new(secret, 0, Role::Client, 0);
    let connection = Connection::connect(mgmt.address, &config).await.unwrap();
    let call = async |kind, body: Vec<u8>| connection.call(Request::new(kind, body)).await.unwrap();
    assert!(!call(message_type::PING, Vec::new()).await.is_error());
    let stats: ServiceStats = codec::decode(&call(message_type::STATS, Vec::new()).await.body).unwrap();
    assert!(stats.counters.iter().any(|(name, n)| name == "mgmt.map_watches" && *n > 0), "{stats:?}");
    let error = async |kind, body: Vec<u8>| {
        let frame = call(kind, body).await;
        assert!(frame.is_error());
        codec::decode::<nyala_wire::WireError>(&frame.body).unwrap().code
    };
    assert_eq!(error(message_type::MGMT, vec![0xff; 40]).await, ErrorCode::BAD_MESSAGE);
    assert_eq!(error(message_type::META, Vec::new()).await, ErrorCode::UNKNOWN_MESSAGE);
    assert_eq!(error(message_type::MGMT_RAFT, Vec::new()).await, ErrorCode::UNAUTHORIZED);
}
