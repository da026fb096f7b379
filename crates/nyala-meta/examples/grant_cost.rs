// SPDX-License-Identifier: Apache-2.0

//! What storage grants cost a client whose rule is about users: `cargo run --release -p nyala-meta --example grant_cost`. A whole cluster and its clients
//! are this one process; both kinds of clients do the same by turns, and what is printed is the CPU time of all of it: µs for
//! each request of 4 KiB at storage, and for opening, reading 4 KiB of, and closing a file that is used for the first time. The
//! median of all rounds.

#[path = "../tests/meta/cluster/harness.rs"]
#[allow(dead_code, reason = "the tests use the rest of it")]
mod harness;

use harness::{Cluster, LARGE};
use nyala_client::{Client, ClientConfig, OpenOptions};
use nyala_transport::secret::file::{self, Existing};
use nyala_transport::secret::key_file::{KeyEntry, KeyFile};
use nyala_transport::{Connection, Grant, HandshakeConfig, KeyRules, Request, Role, Secret};
use nyala_wire::checksum::crc32c;
use nyala_wire::key_rules::{KeyRule, Squash};
use nyala_wire::message_type::{MGMT, STORAGE_READ, STORAGE_WRITE};
use nyala_wire::meta::{Owner, SetAttr};
use nyala_wire::mgmt::MgmtRequest;
use nyala_wire::storage::{ReadHeader, WriteHeader, decode_bulk, encode_bulk};
use nyala_wire::{InodeId, TargetId, codec};
use std::net::SocketAddr;
use std::time::Duration;

const ROUNDS: usize = 7;
const REQUESTS: u64 = 4000;
const FILES: usize = 60;
const BLOCK: usize = 4096;
const OWNER: Owner = Owner { uid: 0, gid: 0 };

fn cpu_us() -> f64 {
    nyala_transport::process::stats(Vec::new()).cpu_us as f64
}

fn key(id: &str, roles: &str) -> KeyEntry {
    let roles = roles.parse().expect("roles of the key file");
    let grant = Grant { key: id.into(), roles, rules: KeyRules::default() };
    KeyEntry { grant, made: 0, secret: format!("{id:.<32}").into_bytes() }
}

/// One kind of client: what it reads and writes by hand, and by the client library.
struct Side {
    storage: Connection,
    client: Client,
    /// CPU µs of each round: a read, a write, a first use.
    cost: [Vec<f64>; 3],
}

impl Side {
    async fn connect(key: &KeyEntry, mgmt: SocketAddr, storage: SocketAddr) -> Side {
        let secret = Secret::from_keys(&KeyFile { keys: vec![key.clone()] });
        let config = ClientConfig {
            retry_timeout: Duration::from_secs(60),
            ..ClientConfig::new(vec![mgmt], secret.clone(), "cost:/")
        };
        let client = Client::connect(config).await.expect("management answers");
        let handshake = HandshakeConfig::new(secret, 0, Role::Client, 0);
        let storage = Connection::connect(storage, &handshake).await.expect("storage knows the key");
        Side { storage, client, cost: Default::default() }
    }

    async fn requests(&mut self, target: TargetId, inode: InodeId) {
        let (target, inode) = (target.0.into(), inode.0.into());
        let empty = decode_bulk(&[0; size_of::<ReadHeader>()]).expect("a header of zeros").0;
        let read = encode_bulk(&ReadHeader { target, inode, len: (BLOCK as u32).into(), ..empty }, &[]);
        let data = [7; BLOCK];
        let empty = decode_bulk(&[0; size_of::<WriteHeader>()]).expect("a header of zeros").0;
        let (len, checksums, session) = ((BLOCK as u32).into(), 1.into(), 7.into());
        let write = WriteHeader { target, inode, len, checksums, session, ..empty };
        let write = encode_bulk(&write, &[crc32c(&data)]);
        for (at, message, body, payload) in
            [(0, STORAGE_READ, read, Vec::new()), (1, STORAGE_WRITE, write, vec![data.to_vec().into()])]
        {
            let before = cpu_us();
            for _ in 0..REQUESTS {
                let request = Request::new(message, body.clone()).with_payload(payload.clone());
                let frame = self.storage.call(request).await.expect("storage answers");
                assert!(!frame.is_error(), "storage refused it");
            }
            self.cost[at].push((cpu_us() - before) / REQUESTS as f64);
        }
    }

    async fn first_uses(&mut self, files: &[InodeId]) {
        let before = cpu_us();
        for inode in files {
            self.read(*inode).await;
        }
        self.cost[2].push((cpu_us() - before) / files.len() as f64);
    }

    async fn read(&self, inode: InodeId) {
        let handle = self.client.open(inode, OpenOptions::default()).await.expect("anybody may open it");
        handle.read(0, BLOCK).await.expect("anybody may read it");
        handle.release().await.expect("nothing was written");
    }
}

async fn file(client: &Client, name: &str) -> InodeId {
    let (attr, handle) = client.create(InodeId::ROOT, name.as_bytes(), 0o666, OWNER, true).await.expect("made once");
    handle.write(0, &vec![1; LARGE]).await.expect("there is room");
    handle.release().await.expect("the disks work");
    attr.inode
}

fn median(costs: &mut [f64]) -> f64 {
    costs.sort_by(f64::total_cmp);
    costs[costs.len() / 2]
}

fn main() {
    let cluster = Cluster::start();
    let (secret, mgmt) = (cluster.path("secret"), cluster.mgmt);
    cluster.run(|plain| async move {
        let [admin, free, ruled] = [key("admin", "all"), key("free", "client"), key("ruled", "client")];
        let (bytes, stamp) = file::read(&secret).expect("it was just made");
        let first = KeyEntry { grant: Grant::default(), made: 0, secret: bytes.trim_ascii_end().to_vec() };
        let keys = KeyFile { keys: vec![ruled.clone(), free.clone(), admin.clone(), first] };
        file::write(&secret, &keys.print(), Existing::Replaced(stamp)).expect("the directory can be written");
        plain.setattr(InodeId::ROOT, SetAttr { perm: Some(0o777), ..SetAttr::default() }).await.expect("root's");
        let large = self::file(&plain, "large").await;
        let target = plain.entry_info(large).await.expect("it is there").layout.expect("of a file").targets[0];
        let storage = plain.map().node_of(target).expect("it is in the map").addresses[0];
        // sleeps: services read the keys again within this time.
        tokio::time::sleep(Duration::from_secs(12)).await;
        let handshake = HandshakeConfig::new(Secret::from_keys(&KeyFile { keys: vec![admin] }), 0, Role::Cli, 0);
        let to = Connection::connect(mgmt, &handshake).await.expect("management knows the key");
        let rule = KeyRule { squash: Squash::Root, ..KeyRule::none("ruled") };
        let set = to.call(Request::new(MGMT, codec::encode(&MgmtRequest::SetKeyRule(rule)))).await;
        assert!(set.is_ok_and(|frame| !frame.is_error()), "the rule is not taken");
        // sleeps: all services know the rule by then.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let mut sides = [Side::connect(&free, mgmt, storage).await, Side::connect(&ruled, mgmt, storage).await];
        for side in &sides {
            side.read(large).await;
        }
        for round in 0..ROUNDS {
            for (number, side) in sides.iter_mut().enumerate() {
                let mut files = Vec::new();
                for n in 0..FILES {
                    files.push(self::file(&plain, &format!("{round}.{number}.{n}")).await);
                }
                side.first_uses(&files).await;
                side.requests(target, large).await;
            }
        }
        let [free, ruled] = &mut sides;
        for (at, what) in ["read of 4 KiB", "write of 4 KiB", "open, first read of 4 KiB, close"].iter().enumerate() {
            let (without, with) = (median(&mut free.cost[at]), median(&mut ruled.cost[at]));
            println!("{what}: {without:.1} µs without a rule, {with:.1} µs with one, ratio {:.3}", with / without);
        }
        for side in sides {
            side.client.shutdown().await.expect("nothing is left to be written");
        }
    });
}
