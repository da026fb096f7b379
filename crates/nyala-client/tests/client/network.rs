// SPDX-License-Identifier: Apache-2.0

//! The client over real connections: servers that come late, restart, or hold another secret.

use crate::fake::{Answer, Cluster, META_TARGETS, STORAGE_TARGETS};
use nyala_client::{Client, ClientConfig, OpenOptions};
use nyala_transport::{
    Frame, HandshakeConfig, PeerInfo, Reply, Role, Secret, Server, ServerOptions, Service, ShutdownHandle,
};
use nyala_wire::InodeId;
use nyala_wire::codec::encode;
use nyala_wire::meta::Owner;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

const MGMT: u16 = 9;

struct Port(Cluster, u16);

impl Service for Port {
    async fn call(&self, _peer: &PeerInfo, request: Frame) -> Reply {
        if self.1 == MGMT {
            // The map never changes; a poll that is answered at once would only spin.
            // sleeps: the pause is what is played
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let answer: Answer = self.0.answer(self.1, request).await;
        match answer {
            Ok((body, payload)) => Reply::ok(body).with_payload(vec![payload.into()]),
            Err(error) => Reply::error(encode(&error)),
        }
    }
}

fn secret() -> Secret {
    Secret::from_bytes(&[b's'; 32]).unwrap()
}

/// One thread that serves every port of the cluster.
struct Serving {
    stops: Vec<ShutdownHandle>,
    thread: std::thread::JoinHandle<()>,
    addresses: Vec<SocketAddr>,
}

fn ports() -> Vec<u16> {
    (1..=META_TARGETS + STORAGE_TARGETS).chain([MGMT]).collect()
}

impl Serving {
    fn start(cluster: &Cluster, addresses: Option<Vec<SocketAddr>>) -> Serving {
        let wanted = addresses.unwrap_or_else(|| vec![SocketAddr::from(([127, 0, 0, 1], 0)); ports().len()]);
        let config = HandshakeConfig::new(secret(), 0, Role::Meta, 1);
        let bind = |address: &SocketAddr| Server::bind(&[*address], config.clone(), ServerOptions::default()).unwrap();
        let servers: Vec<Server> = wanted.iter().map(bind).collect();
        let addresses: Vec<SocketAddr> = servers.iter().map(|server| server.local_addresses()[0]).collect();
        let stops = servers.iter().map(Server::shutdown_handle).collect();
        {
            let mut inner = cluster.0.lock();
            inner.map.nodes.iter_mut().zip(&addresses).for_each(|(node, address)| node.addresses = vec![*address]);
        }
        let cluster = cluster.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let local = tokio::task::LocalSet::new();
            local.block_on(&runtime, async {
                let mut tasks = Vec::new();
                for (server, port) in servers.into_iter().zip(ports()) {
                    tasks.push(tokio::task::spawn_local(server.serve(Rc::new(Port(cluster.clone(), port)))));
                }
                for task in tasks {
                    task.await.unwrap().unwrap();
                }
            });
        });
        Serving { stops, thread, addresses }
    }

    fn stop(self) -> Vec<SocketAddr> {
        self.stops.iter().for_each(ShutdownHandle::stop);
        self.thread.join().unwrap();
        self.addresses
    }
}

#[test]
fn files_survive_a_restart_of_all_servers() {
    let cluster = Cluster::new(31);
    let serving = Serving::start(&cluster, None);
    let mgmt = *serving.addresses.last().unwrap();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // Connected on a runtime that is gone afterwards, as a mount does it.
    let client = runtime().block_on(Client::connect(ClientConfig::new(vec![mgmt], secret(), "test"))).unwrap();
    let data: Vec<u8> = (0..1_500_000_u32).map(|i| (i % 249) as u8).collect();
    let addresses = runtime().block_on(async {
        let (_, handle) = client.create(InodeId::ROOT, b"file", 0o644, Owner::default(), true).await.unwrap();
        handle.write(0, &data[..700_000]).await.unwrap();
        handle.fsync(false).await.unwrap();
        // The connection to management was made on the runtime that is gone.
        assert_eq!(client.statfs().await.unwrap().total_bytes, 300);
        let addresses = tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
        let (again, addresses2) = (cluster.clone(), addresses.clone());
        let restart = tokio::task::spawn_blocking(move || {
            // sleeps: the server is away for so long
            std::thread::sleep(Duration::from_millis(200));
            Serving::start(&again, Some(addresses2))
        });
        // On a machine so busy that the delegation is no good by now, this waits for the servers too.
        handle.write(700_000, &data[700_000..]).await.unwrap();
        handle.release().await.unwrap();
        let serving = restart.await.unwrap();
        let inode = client.lookup(InodeId::ROOT, b"file").await.unwrap().inode;
        let handle = client.open(inode, OpenOptions::default()).await.unwrap();
        let mut got = Vec::new();
        while got.len() < data.len() {
            let pieces = handle.read(got.len() as u64, 131_072).await.unwrap();
            pieces.iter().for_each(|piece| got.extend_from_slice(piece));
        }
        assert!(got == data);
        handle.release().await.unwrap();
        client.shutdown().await.unwrap();
        tokio::task::spawn_blocking(move || serving.stop()).await.unwrap()
    });
    assert_eq!(addresses.len(), ports().len());
    cluster.check();
}

#[test]
fn a_wrong_secret_is_said_at_once() {
    let cluster = Cluster::new(32);
    let serving = Serving::start(&cluster, None);
    let wrong = Secret::from_bytes(&[b'w'; 32]).unwrap();
    let config = ClientConfig::new(vec![*serving.addresses.last().unwrap()], wrong, "test");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(Client::connect(config)).err().unwrap();
    assert!(error.to_string().contains("secret"), "{error}");
    serving.stop();
}
