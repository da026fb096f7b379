// SPDX-License-Identifier: Apache-2.0

//! What goes on while management nodes come and go, and what has to be true of it.

use crate::common::{ask, client, service, storage};
use crate::nodes::Nodes;
use nyala_transport::member::{MapWatch, Member, MgmtClient};
use nyala_wire::map::{ClusterMap, Reachability, Role};
use nyala_wire::mgmt::{Heartbeat, MgmtReply, MgmtRequest, Register};
use nyala_wire::{ClusterId, MapVersion, NodeId, TargetId};
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Services that hold leases all the time.
const MEMBERS: u8 = 4;

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// Longest time without a valid lease of any member, milliseconds.
    worst_gap_ms: AtomicU64,
    deaths: AtomicU64,
}

/// The load.
pub struct Load {
    shared: Arc<Shared>,
    members: Vec<Member>,
    beats: Vec<JoinHandle<()>>,
    registrar: JoinHandle<BTreeMap<u64, (NodeId, Vec<TargetId>)>>,
    failer: JoinHandle<()>,
    watcher: JoinHandle<MapVersion>,
    /// Where the members say they listen: processes that are alive.
    _ports: Vec<TcpListener>,
}

/// What the load saw.
#[derive(Debug)]
pub struct Seen {
    pub registrations: usize,
    pub deaths: u64,
    pub worst_gap: Duration,
    pub version: MapVersion,
}

fn numbered(number: u64, address: SocketAddr) -> Register {
    let mut uuid = [0; 16];
    uuid[..8].copy_from_slice(&number.to_le_bytes());
    uuid[15] = 0xee;
    let mut target = uuid;
    target[14] = 1;
    let mut register = storage(1, &[1], address);
    (register.uuid, register.incarnation) = (ClusterId(uuid), number + 1000);
    register.targets[0].uuid = ClusterId(target);
    register
}

impl Load {
    /// Starts it. Whoever takes part is told of one management node only.
    pub async fn start(nodes: &Nodes) -> Load {
        let shared = Arc::new(Shared::default());
        let any = *nodes.running.keys().next().unwrap();
        let (mut members, mut ports, mut beats) = (Vec::new(), Vec::new(), Vec::new());
        for number in 1..=MEMBERS {
            let port = TcpListener::bind("127.0.0.1:0").unwrap();
            let role = if number == 1 { Role::Meta } else { Role::Storage };
            let register = service(role, 200 + number, &[200 + number], port.local_addr().unwrap());
            let client = if number == 1 { nodes.metadata_client_of(any) } else { nodes.client_of(any) };
            let member = Member::join(client, register, Vec::new).await.unwrap();
            beats.push(tokio::spawn(watch_lease(shared.clone(), member.clone())));
            members.push(member);
            ports.push(port);
        }
        let alive: Vec<NodeId> = members.iter().map(Member::node).collect();
        let watch = MapWatch::start(nodes.client_of(any));
        let watcher = tokio::spawn(watch_maps(shared.clone(), watch, alive));
        let address = ports[0].local_addr().unwrap();
        let registrar = tokio::spawn(keep_registering(shared.clone(), nodes.client_of(any), address));
        let failer = tokio::spawn(keep_dying(shared.clone(), nodes.running[&any].address, nodes.secret()));
        Load { shared, members, beats, registrar, failer, watcher, _ports: ports }
    }

    /// Ends it and looks at what has become of everything.
    pub async fn finish(self, nodes: &Nodes) -> Seen {
        self.shared.stop.store(true, Ordering::Release);
        let registered = self.registrar.await.expect("the registrar saw nothing wrong");
        self.failer.await.expect("who dies is noticed");
        let version = self.watcher.await.expect("the maps are in order");
        for beat in self.beats {
            beat.await.unwrap();
        }
        let map = crate::common::map(&nodes.client()).await;
        assert!(map.version >= version);
        let mut ids = BTreeMap::new();
        for (number, (node, targets)) in &registered {
            assert!(map.node(*node).is_some(), "registration {number}: node {node} is lost");
            for target in targets {
                assert_eq!(map.target(*target).map(|t| t.node), Some(*node), "registration {number}");
                assert_eq!(ids.insert(*target, number), None, "given twice");
            }
        }
        for member in self.members {
            assert!(member.lease_valid(), "{}", member.node());
            assert_eq!(map.node(member.node()).unwrap().reachability, Reachability::Online);
            member.goodbye().await.unwrap();
        }
        Seen {
            registrations: registered.len(),
            deaths: self.shared.deaths.load(Ordering::Acquire),
            worst_gap: Duration::from_millis(self.shared.worst_gap_ms.load(Ordering::Acquire)),
            version,
        }
    }
}

async fn watch_lease(shared: Arc<Shared>, member: Member) {
    let mut valid = Instant::now();
    while !shared.stop.load(Ordering::Acquire) {
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(10)).await;
        if member.lease_valid() {
            valid = Instant::now();
        }
        shared.worst_gap_ms.fetch_max(valid.elapsed().as_millis() as u64 / 25 * 25, Ordering::AcqRel);
    }
}

/// New services all the time; what was acknowledged is remembered.
async fn keep_registering(
    shared: Arc<Shared>,
    client: MgmtClient,
    address: SocketAddr,
) -> BTreeMap<u64, (NodeId, Vec<TargetId>)> {
    let mut known = BTreeMap::new();
    for number in 0.. {
        if shared.stop.load(Ordering::Acquire) {
            break;
        }
        // sleeps: the pace of the load
        tokio::time::sleep(Duration::from_millis(40)).await;
        // Each at an address of its own: one that belongs to another service is refused.
        let own = SocketAddr::from(([127, 97, (number >> 8) as u8, number as u8], address.port()));
        let request = MgmtRequest::Register(numbered(number, own));
        // Repeated now and then, as a client does whose answer was lost.
        for _ in 0..=(number % 3) {
            let MgmtReply::Registered(given) = ask(&client, request.clone()).await.unwrap() else { panic!() };
            let ids = (given.node, given.targets.clone());
            assert_eq!(*known.entry(number).or_insert(ids.clone()), ids, "the same question, another answer");
        }
    }
    known
}

/// Services that die: their connection ends, and their port refuses others. Management has to notice each of them.
async fn keep_dying(shared: Arc<Shared>, mgmt: SocketAddr, secret: PathBuf) {
    let watch = MapWatch::start(client(mgmt, &secret));
    for number in 1_u64.. {
        if shared.stop.load(Ordering::Acquire) {
            break;
        }
        // An address and port that nobody else is given either, so that it refuses for sure.
        let dead = SocketAddr::from(([127, 98, (number >> 8) as u8, number as u8], 1));
        let request = MgmtRequest::Register(numbered(number << 32, dead));
        let process = client(mgmt, &secret);
        process.learn(&watch.current());
        let MgmtReply::Registered(given) = ask(&process, request).await.unwrap() else { panic!() };
        let (incarnation, map_version, capacities) = ((number << 32) + 1000, MapVersion(1), Vec::new());
        let beat = Heartbeat { node: given.node, incarnation, map_version, capacities };
        ask(&process, MgmtRequest::Heartbeat(beat)).await.unwrap();
        drop(process);
        let since = Instant::now();
        let mut have = MapVersion(0);
        while watch.current().node(given.node).is_none_or(|n| n.reachability != Reachability::Offline) {
            let late = since.elapsed() > Duration::from_secs(30);
            assert!(!late, "the death of {} is not noticed: {:?}", given.node, watch.current().node(given.node));
            // The state may not change again for long; look again anyway.
            let newer = tokio::time::timeout(Duration::from_millis(200), watch.newer_than(have)).await;
            have = newer.map_or(have, |map| map.version);
        }
        shared.deaths.fetch_add(1, Ordering::AcqRel);
    }
}

/// Maps only get newer, never lose anybody, and never call a service dead that heartbeats.
async fn watch_maps(shared: Arc<Shared>, watch: MapWatch, alive: Vec<NodeId>) -> MapVersion {
    let mut last: Arc<ClusterMap> = watch.newer_than(MapVersion(0)).await;
    while !shared.stop.load(Ordering::Acquire) {
        let newer = tokio::time::timeout(Duration::from_millis(200), watch.newer_than(last.version)).await;
        let Ok(map) = newer else { continue };
        assert!(map.version > last.version);
        for target in &last.targets {
            assert!(map.target(target.id).is_some(), "target {} is gone in version {}", target.id, map.version);
        }
        for node in &alive {
            let reachability = map.node(*node).map(|node| node.reachability);
            assert_ne!(reachability, Some(Reachability::Offline), "{node} is alive (version {})", map.version);
        }
        last = map;
    }
    last.version
}
