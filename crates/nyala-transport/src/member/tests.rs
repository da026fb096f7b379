// SPDX-License-Identifier: Apache-2.0

//! Members and watches against a management service that does exactly what a test tells it.

mod bootstrap;
mod leaders;
mod lease;

use super::*;
use crate::handshake::{HandshakeConfig, PeerInfo};
use crate::hello::Role;
use crate::request::Reply;
use crate::secret::Secret;
use crate::server::{Server, ServerOptions, Service, ShutdownHandle};
use nyala_wire::error::WireError;
use nyala_wire::frame::Frame;
use nyala_wire::map::{ClusterMap, Node, Reachability, Settings};
use nyala_wire::mgmt::{Heartbeat, MgmtReply, MgmtRequest, Register, RegisterTarget, Registered};
use nyala_wire::{ClusterId, ErrorCode, MapVersion, NodeId, TargetId, codec};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::LocalSet;

const CLUSTER: ClusterId = ClusterId([7; 16]);

#[derive(Default)]
struct Fake {
    version: u64,
    cluster: Option<ClusterId>,
    registrations: Vec<Register>,
    heartbeats: u64,
    goodbyes: u64,
    refuse_registration: Option<WireError>,
    refuse_heartbeat: Option<WireError>,
    target_id: u16,
    /// Another one leads, or nobody does.
    follows: Option<Vec<String>>,
    /// Long polls are never answered.
    swallows_polls: bool,
    /// Management nodes in the map.
    members: Vec<SocketAddr>,
}

struct FakeMgmt(Rc<RefCell<Fake>>);

impl Fake {
    fn map(&self) -> ClusterMap {
        let settings = Settings { heartbeat_ms: 30, lease_ms: 300, ..Settings::default() };
        let cluster = self.cluster.unwrap_or(CLUSTER);
        let nodes = self.members.iter().zip(1..).map(|(address, id)| Node {
            id: NodeId(id),
            alias: format!("mgmt{id}"),
            role: nyala_wire::map::Role::Mgmt,
            addresses: vec![*address],
            reachability: Reachability::Online,
        });
        let nodes = nodes.collect();
        ClusterMap { version: MapVersion(self.version), cluster, nodes, settings, ..ClusterMap::default() }
    }

    fn answer(&mut self, request: MgmtRequest) -> Result<MgmtReply, WireError> {
        if let Some(addresses) = self.follows.clone() {
            return Ok(MgmtReply::NotLeader { leader: None, addresses });
        }
        match request {
            MgmtRequest::WatchMap { have, .. } if have.0 >= self.version => Ok(MgmtReply::Unchanged),
            MgmtRequest::Register(register) => {
                self.registrations.push(register);
                if let Some(error) = self.refuse_registration.clone() {
                    return Err(error);
                }
                let (targets, map) = (vec![TargetId(self.target_id)], self.map());
                let registered = Registered { cluster: CLUSTER, node: NodeId(3), targets, map, refused: Vec::new() };
                Ok(MgmtReply::Registered(Box::new(registered)))
            }
            MgmtRequest::Heartbeat(Heartbeat { node, .. }) => {
                assert_eq!(node, NodeId(3));
                self.heartbeats += 1;
                match self.refuse_heartbeat.take() {
                    Some(error) => Err(error),
                    None => Ok(MgmtReply::Lease { lease_ms: 300, map_version: MapVersion(self.version) }),
                }
            }
            MgmtRequest::Goodbye { .. } => {
                self.goodbyes += 1;
                Ok(MgmtReply::Done)
            }
            MgmtRequest::WatchMap { .. } => Ok(MgmtReply::Map(Box::new(self.map()))),
            _ => Err(ErrorCode::NOT_SUPPORTED.with("not asked by members")),
        }
    }
}

impl Service for FakeMgmt {
    async fn call(&self, _: &PeerInfo, frame: Frame) -> Reply {
        let request = codec::decode(&frame.body).unwrap();
        while let MgmtRequest::WatchMap { have, wait_ms: 1.. } = request {
            let decided = self.0.borrow().version > have.0 || self.0.borrow().follows.is_some();
            if decided && !self.0.borrow().swallows_polls {
                break;
            }
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let answer = self.0.borrow_mut().answer(request);
        let mut reply =
            answer.map_or_else(|e| Reply::error(codec::encode(&e)), |reply| Reply::ok(codec::encode(&reply)));
        reply.map_version = self.0.borrow().version;
        reply
    }
}

fn handshake(role: Role) -> HandshakeConfig {
    HandshakeConfig::new(Secret::from_bytes(&[b's'; 32]).unwrap(), 0, role, 0)
}

fn fake() -> Rc<RefCell<Fake>> {
    Rc::new(RefCell::new(Fake { version: 1, target_id: 101, ..Fake::default() }))
}

/// Serves the fake on `address` (port 0: any) and says where and how to stop it.
fn serve(fake: &Rc<RefCell<Fake>>, address: SocketAddr) -> (SocketAddr, ShutdownHandle) {
    let server = Server::bind(&[address], handshake(Role::Mgmt), ServerOptions::default()).unwrap();
    let (at, stop) = (server.local_addresses()[0], server.shutdown_handle());
    let service = Rc::new(FakeMgmt(fake.clone()));
    tokio::task::spawn_local(async move { server.serve(service).await.unwrap() });
    (at, stop)
}

fn any_port() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn register() -> Register {
    let target = RegisterTarget {
        uuid: ClusterId([2; 16]),
        id: TargetId(0),
        alias: String::new(),
        kind: nyala_wire::map::TargetKind::Storage,
        capacity: Default::default(),
        losses: 0,
        spare: false,
    };
    Register {
        cluster: ClusterId::UNKNOWN,
        role: nyala_wire::map::Role::Storage,
        uuid: ClusterId([1; 16]),
        alias: String::new(),
        addresses: vec!["127.0.0.1:8003".into()],
        incarnation: 5,
        targets: vec![target],
    }
}

async fn join(addresses: Vec<SocketAddr>) -> Result<Member, MgmtError> {
    Member::join(MgmtClient::new(addresses, handshake(Role::Storage)), register(), Vec::new).await
}

/// Polls until `done`, at most 10 s.
async fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if done() {
            return;
        }
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never came true: {what}");
}

#[tokio::test]
async fn the_lease_ends_without_management_and_comes_back_with_it() {
    let test = async {
        let fake = fake();
        let (address, stop) = serve(&fake, any_port());
        let member = join(vec![address]).await.unwrap();
        assert_eq!((member.node(), member.targets(), member.cluster()), (NodeId(3), &[TargetId(101)][..], CLUSTER));
        assert!(member.lease_valid() && member.lease_left() <= Duration::from_millis(200));
        until("heartbeats", || fake.borrow().heartbeats > 3).await;
        assert!(member.lease_valid(), "renewed");
        stop.stop();
        until("the lease runs out", || !member.lease_valid()).await;
        fake.borrow_mut().version = 2;
        let (_, _stop) = serve(&fake, address);
        until("the lease comes back", || member.lease_valid()).await;
        assert_eq!(member.watch().newer_than(MapVersion(1)).await.version, MapVersion(2));
        assert_eq!(fake.borrow().registrations.len(), 1, "a restart of management needs no registration");
        member.goodbye().await.unwrap();
        assert!(!member.lease_valid());
        let heartbeats = fake.borrow().heartbeats;
        // sleeps: nothing is to happen in that time
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!((fake.borrow().goodbyes, fake.borrow().heartbeats), (1, heartbeats));
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn a_member_that_was_forgotten_registers_again_with_its_ids() {
    let test = async {
        let fake = fake();
        let (address, _stop) = serve(&fake, any_port());
        let member = join(vec![address]).await.unwrap();
        fake.borrow_mut().refuse_heartbeat = Some(ErrorCode::STALE.with("who are you?"));
        until("a second registration", || fake.borrow().registrations.len() == 2).await;
        let again = fake.borrow().registrations[1].clone();
        assert_eq!((again.cluster, again.targets[0].id, again.incarnation), (CLUSTER, TargetId(101), 5));
        assert!(member.lease_valid());
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn a_replaced_member_is_expelled_for_good() {
    for other_ids in [false, true] {
        let test = async {
            let fake = fake();
            let (address, _stop) = serve(&fake, any_port());
            let member = join(vec![address]).await.unwrap();
            {
                let mut fake = fake.borrow_mut();
                fake.refuse_heartbeat = Some(ErrorCode::STALE.with("another one is here"));
                if other_ids {
                    fake.target_id = 102;
                } else {
                    fake.refuse_registration = Some(ErrorCode::NOT_PERMITTED.with("replaced"));
                }
            }
            let error = tokio::time::timeout(Duration::from_secs(5), member.expelled()).await.unwrap();
            let expected = if other_ids { ErrorCode::FOREIGN } else { ErrorCode::NOT_PERMITTED };
            assert_eq!(error.code, expected);
            assert!(!member.lease_valid());
        };
        LocalSet::new().run_until(test).await;
    }
}

#[tokio::test]
async fn joining_waits_for_management_but_not_for_what_never_helps() {
    let test = async {
        let fake = fake();
        let (address, stop) = serve(&fake, any_port());
        stop.stop();
        // sleeps: the socket is closed by another task
        tokio::time::sleep(Duration::from_millis(20)).await;
        let joining = tokio::task::spawn_local(join(vec![address]));
        // sleeps: nothing is to happen in that time
        tokio::time::sleep(Duration::from_millis(150)).await;
        assert!(!joining.is_finished());
        let (_, _stop) = serve(&fake, address);
        drop(joining.await.unwrap().unwrap());

        fake.borrow_mut().refuse_registration = Some(ErrorCode::EXISTS.with("alias taken"));
        assert!(matches!(join(vec![address]).await, Err(MgmtError::Refused(e)) if e.code == ErrorCode::EXISTS));
        let mut other = handshake(Role::Storage);
        other.secret = Secret::from_bytes(&[b'o'; 32]).unwrap();
        let client = MgmtClient::new(vec![address], other);
        assert!(matches!(Member::join(client, register(), Vec::new).await, Err(MgmtError::Unreachable(_))));
        assert!(matches!(join(vec![]).await, Err(MgmtError::Unreachable(_))));
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn a_dead_address_does_not_matter_while_another_lives() {
    let test = async {
        let (fake, dead) = (fake(), fake());
        let (gone, stop) = serve(&dead, any_port());
        stop.stop();
        // sleeps: the socket is closed by another task
        tokio::time::sleep(Duration::from_millis(20)).await;
        let (address, _stop) = serve(&fake, any_port());
        let member = join(vec![gone, address]).await.unwrap();
        until("heartbeats", || fake.borrow().heartbeats > 3).await;
        assert!(member.lease_valid());
        assert_eq!(dead.borrow().registrations.len(), 0);
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn maps_never_go_back_or_to_another_cluster() {
    let test = async {
        let fake = fake();
        let (address, _stop) = serve(&fake, any_port());
        let mut watch = MapWatch::start(MgmtClient::new(vec![address], handshake(Role::Client)));
        assert_eq!(watch.current().version, MapVersion(0));
        assert_eq!(watch.changed().await.version, MapVersion(1));
        fake.borrow_mut().version = 5;
        assert_eq!(watch.newer_than(MapVersion(4)).await.version, MapVersion(5));
        watch.offer(ClusterMap { version: MapVersion(4), cluster: CLUSTER, ..ClusterMap::default() });
        assert_eq!(watch.current().version, MapVersion(5));
        watch.offer(ClusterMap { version: MapVersion(9), cluster: ClusterId([1; 16]), ..ClusterMap::default() });
        assert_eq!(watch.current().version, MapVersion(5));
        watch.offer(ClusterMap { version: MapVersion(6), cluster: CLUSTER, ..ClusterMap::default() });
        assert_eq!(watch.changed().await.version, MapVersion(6));
    };
    LocalSet::new().run_until(test).await;
}
