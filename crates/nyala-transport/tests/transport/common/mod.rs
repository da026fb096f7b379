// SPDX-License-Identifier: Apache-2.0

//! A server on a thread of its own and the service that the tests call.

#![allow(dead_code, reason = "every test file uses a part of it")]

pub mod keys;

use nyala_transport::{
    Frame, Grant, HandshakeConfig, PeerInfo, Reply, Role, Secret, Server, ServerOptions, Service, ShutdownHandle,
};
use std::cell::Cell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

pub const ECHO: u16 = 1;
/// Answered in an order that has nothing to do with that of the requests.
pub const SHUFFLED: u16 = 2;
pub const NEVER: u16 = 3;
pub const PANIC: u16 = 4;
/// Keeps request and payload until a `RELEASE` comes.
pub const HOLD: u16 = 5;
pub const RELEASE: u16 = 6;
pub const REFUSE: u16 = 7;
pub const TOO_LONG: u16 = 8;

pub fn config(role: Role) -> HandshakeConfig {
    HandshakeConfig::new(Secret::from_bytes(&[b's'; 32]).expect("long enough"), 7, role, 3)
}

#[derive(Debug, Default)]
pub struct Seen {
    pub connected: AtomicUsize,
    pub disconnected: AtomicUsize,
    pub hung_up: AtomicUsize,
    pub calls: AtomicUsize,
    /// Connections per thread.
    pub threads: Mutex<HashMap<ThreadId, usize>>,
    /// What the keys of those who connected give.
    pub grants: Mutex<Vec<Grant>>,
    /// Where connections are passed on to.
    pub relays_to: Mutex<Vec<SocketAddr>>,
    pub servers: Mutex<Vec<SocketAddr>>,
}

pub struct Echo {
    pub seen: Arc<Seen>,
    random: Cell<u64>,
    release: tokio::sync::Notify,
    released: Cell<bool>,
}

impl Service for Echo {
    async fn call(&self, _peer: &PeerInfo, request: Frame) -> Reply {
        self.seen.calls.fetch_add(1, Ordering::SeqCst);
        match request.message_type() {
            SHUFFLED => {
                let random = self.random.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                self.random.set(random);
                for _ in 0..random >> 59 {
                    tokio::task::yield_now().await;
                }
            }
            NEVER => std::future::pending().await,
            PANIC => panic!("asked to"),
            HOLD => {
                while !self.released.get() {
                    self.release.notified().await;
                    self.release.notify_one();
                }
            }
            RELEASE => {
                self.released.set(true);
                self.release.notify_one();
            }
            REFUSE => return Reply::error(request.body),
            TOO_LONG => return Reply::ok(vec![0; nyala_wire::frame::MAX_BODY + 1]),
            _ => {}
        }
        let payload = if request.payload.is_empty() { Vec::new() } else { vec![request.payload] };
        Reply {
            map_version: request.header.map_version,
            group_epoch: request.header.group_epoch,
            log_position: 99,
            ..Reply::ok(request.body).with_payload(payload)
        }
    }

    fn has_server_at(&self, address: SocketAddr) -> bool {
        self.seen.servers.lock().expect("no panic").contains(&address)
    }

    fn relays_to(&self, _peer: &PeerInfo, address: SocketAddr) -> bool {
        self.seen.relays_to.lock().expect("no panic").contains(&address)
    }

    fn connected(&self, peer: &PeerInfo) {
        self.seen.connected.fetch_add(1, Ordering::SeqCst);
        *self.seen.threads.lock().expect("no panic").entry(std::thread::current().id()).or_default() += 1;
        self.seen.grants.lock().expect("no panic").push(peer.grant.clone());
    }

    fn hung_up(&self, _peer: &PeerInfo) {
        self.seen.hung_up.fetch_add(1, Ordering::SeqCst);
    }

    fn disconnected(&self, _peer: &PeerInfo) {
        self.seen.disconnected.fetch_add(1, Ordering::SeqCst);
    }
}

/// Stops and is waited for when dropped.
pub struct Running {
    pub address: SocketAddr,
    pub seen: Arc<Seen>,
    stop: ShutdownHandle,
    threads: Vec<std::thread::JoinHandle<()>>,
}

pub fn start(config: HandshakeConfig, options: ServerOptions) -> Running {
    start_at(([127, 0, 0, 1], 0).into(), config, options, 1)
}

pub fn start_at(address: SocketAddr, config: HandshakeConfig, options: ServerOptions, cores: usize) -> Running {
    let servers = Server::bind_cores(&[address], config, options, cores).expect("bind");
    let seen = Arc::new(Seen::default());
    let address = servers[0].local_addresses()[0];
    let stop = servers[0].shutdown_handle();
    let threads = servers.into_iter().map(|server| serve(server, seen.clone())).collect();
    Running { address, seen, stop, threads }
}

fn serve(server: Server, seen: Arc<Seen>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        let service = Rc::new(Echo {
            seen,
            random: Cell::new(1),
            release: tokio::sync::Notify::new(),
            released: Cell::new(false),
        });
        tokio::task::LocalSet::new().block_on(&runtime, server.serve(service)).expect("serve");
    })
}

impl Running {
    /// Ends it and gives the port back.
    pub fn stop(mut self) -> SocketAddr {
        self.stop_now();
        self.address
    }

    fn stop_now(&mut self) {
        self.stop.stop();
        self.threads.drain(..).for_each(|thread| thread.join().expect("server thread"));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop_now();
    }
}

/// Waits (up to five seconds) until something is so.
pub async fn eventually(what: &str, mut check: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if check() {
            return;
        }
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("never happened: {what}");
}
