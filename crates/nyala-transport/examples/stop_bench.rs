// SPDX-License-Identifier: Apache-2.0

//! How long writers would be stopped for a snapshot, for as many clients as are named (decision 0038):
//! `cargo run -p nyala-transport --example stop_bench CLIENTS...`.
//!
//! Each client has a connection and keeps a poll standing at the server, as mounts do for delegations that are asked back. A round:
//! the server answers all polls (stop), each client says that it has stopped and polls again, and when all have, the server answers
//! all polls (go). All clients share one thread here; where they have hosts of their own, what a client takes is done at once
//! for all, and the server's CPU and two round trips are left.

use bytes::Bytes;
use nyala_transport::{
    Connection, Frame, HandshakeConfig, PeerInfo, Reply, Request, Role, Secret, Server, ServerOptions, Service,
};
use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinSet, LocalSet};

const POLL: u16 = 1;
const STOPPED: u16 = 2;
const ROUNDS: u64 = 20;

/// A metadata server as far as it takes part: polls that wait for the next step, and a count of those that have stopped.
struct Metadata {
    clients: u64,
    stopped: Cell<u64>,
    waiting: Cell<u64>,
    /// Odd: stopped. Even: go.
    step: watch::Sender<u64>,
    cpu_ns: Arc<AtomicU64>,
}

impl Service for Metadata {
    async fn call(&self, _peer: &PeerInfo, request: Frame) -> Reply {
        let mut step = self.step.subscribe();
        if request.message_type() == STOPPED {
            self.stopped.set(self.stopped.get() + 1);
        } else {
            let seen = *step.borrow_and_update();
            self.waiting.set(self.waiting.get() + 1);
            self.begin();
            let changed = step.wait_for(|now| *now != seen).await;
            changed.expect("the sender lives as long as the service");
        }
        self.begin();
        self.cpu_ns.store(thread_cpu_ns(), Ordering::Relaxed);
        Reply::ok(Bytes::copy_from_slice(&self.step.borrow().to_le_bytes()))
    }
}

impl Metadata {
    /// The next step, once everybody waits for it.
    fn begin(&self) {
        let stopped = *self.step.borrow() % 2 == 1;
        let all = self.waiting.get() == self.clients && (!stopped || self.stopped.get() == self.clients);
        if all {
            self.waiting.set(0);
            self.stopped.set(0);
            self.step.send_modify(|step| *step += 1);
        }
    }
}

fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime is needed for everything")
}

fn config(role: Role) -> HandshakeConfig {
    let secret = Secret::from_bytes(&[1; 64]).expect("64 bytes are enough");
    HandshakeConfig::new(secret, 1, role, 1)
}

/// For how long a client stood still, in each round.
async fn client(connection: Connection) -> Vec<Duration> {
    let mut stalls = Vec::new();
    let poll = || Request::new(POLL, "");
    while stalls.len() < ROUNDS as usize {
        let stop = connection.call(poll()).await.expect("the server of this benchmark answers");
        let began = Instant::now();
        assert_eq!(stop.body[0] % 2, 1, "a stop comes first");
        let (said, go) = tokio::join!(connection.call(Request::new(STOPPED, "")), connection.call(poll()));
        said.and(go).expect("the server of this benchmark answers");
        stalls.push(began.elapsed());
    }
    stalls
}

fn main() {
    let counts = std::env::args().skip(1).map(|count| count.parse::<u64>());
    let counts = counts.collect::<Result<Vec<_>, _>>().ok().filter(|counts| !counts.is_empty());
    let Some(counts) = counts else {
        eprintln!("stop_bench: name one or more numbers of clients");
        std::process::exit(2);
    };
    counts.into_iter().for_each(run);
}

fn run(clients: u64) {
    let (cpu_ns, (send, receive)) = (Arc::new(AtomicU64::new(0)), oneshot::channel());
    let served_ns = cpu_ns.clone();
    let thread = std::thread::spawn(move || {
        let address = ([127, 0, 0, 1], 0).into();
        let server = Server::bind(&[address], config(Role::Meta), ServerOptions::default()).expect("a port is free");
        let told = (server.local_addresses()[0], server.shutdown_handle());
        send.send(told).map_err(|_| "nobody waits").expect("the other thread waits for this");
        let (stopped, waiting, step) = (Cell::new(0), Cell::new(0), watch::channel(0).0);
        let service = Rc::new(Metadata { clients, stopped, waiting, step, cpu_ns: served_ns });
        LocalSet::new().block_on(&runtime(), server.serve(service)).expect("served until stopped");
    });
    LocalSet::new().block_on(&runtime(), async {
        let (address, stop) = receive.await.expect("the server starts");
        let mut connections = Vec::new();
        for _ in 0..clients {
            let connecting = Connection::connect(address, &config(Role::Client)).await;
            connections.push(connecting.expect("the server listens already"));
        }
        let (before, mut all) = (thread_cpu_ns(), JoinSet::new());
        for connection in &connections {
            all.spawn_local(client(connection.clone()));
        }
        let server_before = cpu_ns.load(Ordering::Relaxed);
        let stalls = all.join_all().await;
        let mut longest: Vec<_> = (0..ROUNDS as usize).filter_map(|n| stalls.iter().map(|one| one[n]).max()).collect();
        longest.sort_unstable();
        let us = |ns: u64| ns as f64 / 1e3 / (clients * ROUNDS) as f64;
        println!(
            "{clients:6} clients: longest stall {:6.1} ms (median of {ROUNDS} rounds; at most {:6.1}); CPU of a round: server {:5.1} µs, client {:5.1} µs for each client",
            longest[longest.len() / 2].as_secs_f64() * 1e3,
            longest[longest.len() - 1].as_secs_f64() * 1e3,
            us(cpu_ns.load(Ordering::Relaxed) - server_before),
            us(thread_cpu_ns() - before),
        );
        stop.stop();
    });
    thread.join().expect("the server thread does not panic");
}
