// SPDX-License-Identifier: Apache-2.0

//! A metadata service that knows one file.

use crate::common::{CLUSTER, Cluster, client};
use nyala_transport::{Frame, HandshakeConfig, PeerInfo, Reply, Role, Server, Service, ShutdownHandle};
use nyala_wire::check::{Fact, InodeFact, ScanReply, ScanRequest};
use nyala_wire::fences::FencesReply;
use nyala_wire::map::{CapacityPool, Consistency, Node, Reachability, Role as NodeRole, SlotRange, Target, TargetKind};
use nyala_wire::{FileKind, InodeId, Layout, NodeId, Pattern, PoolId, Slot, TargetId, Time, codec, message_type};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

const META: TargetId = TargetId(1);

/// Where the file's data is; nothing: there is no such file.
pub type DataPlace = Arc<Mutex<Option<(Pattern, u16)>>>;

struct Fake(DataPlace);

impl Fake {
    fn facts(&self, inode: InodeId) -> Vec<Fact> {
        let place = *self.0.lock().unwrap();
        let fact = place.map(|(pattern, id)| InodeFact {
            inode,
            kind: FileKind::File,
            nlink: 1,
            size: 1,
            ctime: Time::default(),
            parent: None,
            entries: None,
            layout: Some(Layout {
                pattern,
                chunk_bytes: 1 << 19,
                targets: vec![TargetId(id); 3],
                moves: 0,
                code: None,
            }),
            inline_version: None,
            xattr_bytes: None,
            allocated: None,
            range: None,
        });
        fact.into_iter().map(|fact| Fact::Inode(Box::new(fact))).collect()
    }
}

impl Service for Fake {
    async fn call(&self, peer: &PeerInfo, request: Frame) -> Reply {
        assert_eq!(peer.role, Role::Storage);
        if request.message_type() == message_type::META_FENCES {
            return Reply::ok(codec::encode(&FencesReply::default()));
        }
        assert_eq!(request.message_type(), message_type::META_SCAN);
        let asked: ScanRequest = codec::decode(&request.body).unwrap();
        let [inode] = asked.of[..] else { panic!("{asked:?}") };
        let facts = self.facts(inode);
        Reply::ok(codec::encode(&ScanReply { facts, next: None, position: 1, compared: None }))
    }
}

/// The service, which runs beside the test.
pub struct Meta {
    address: SocketAddr,
    stop: ShutdownHandle,
    thread: Option<JoinHandle<()>>,
}

impl Meta {
    /// Starts it.
    pub fn start(cluster: &Cluster, place: &DataPlace) -> Meta {
        let config = HandshakeConfig::new(cluster.secret.clone(), u128::from_le_bytes(CLUSTER.0), Role::Meta, 1);
        let server = Server::bind(&["127.0.0.1:0".parse().unwrap()], config, Default::default()).unwrap();
        let (address, stop) = (server.local_addresses()[0], server.shutdown_handle());
        let fake = Fake(place.clone());
        let thread = std::thread::spawn(move || client(server.serve(Rc::new(fake))).unwrap());
        Meta { address, stop, thread: Some(thread) }
    }

    /// Puts it into the map, where it serves the slots of all files of the tests.
    pub fn join(&self, cluster: &Cluster) {
        let mut map = cluster.knobs.map.lock().unwrap();
        map.version.0 = map.version.0.max(1) + 1;
        let node = Node {
            id: NodeId(1),
            alias: "meta".into(),
            role: NodeRole::Meta,
            addresses: vec![self.address],
            reachability: Reachability::Online,
        };
        let target = Target {
            id: META,
            alias: "meta".into(),
            kind: TargetKind::Meta,
            node: NodeId(1),
            pool: PoolId(1),
            reachability: Reachability::Online,
            consistency: Consistency::Good,
            capacity_pool: CapacityPool::Normal,
        };
        map.nodes.insert(0, node);
        map.targets.insert(0, target);
        map.slots = vec![SlotRange { first: Slot(0), count: 100, target: META }];
    }
}

impl Drop for Meta {
    fn drop(&mut self) {
        self.stop.stop();
        self.thread.take().map(JoinHandle::join);
    }
}
