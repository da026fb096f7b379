// SPDX-License-Identifier: Apache-2.0

//! What a request costs: CPU of client and server per call, and per GiB of payload, over loopback.
//!
//! `cargo run --release -p nyala-transport --example transport_bench [encrypt]`. Client and server have a thread each;
//! the figures are those threads' own CPU times, so that other work on the machine disturbs them less than wall time.

use bytes::Bytes;
use nyala_transport::{
    Connection, Frame, HandshakeConfig, PeerInfo, Reply, Request, Role, Secret, Server, ServerOptions, Service,
};
use rustix::time::{ClockId, clock_gettime};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinSet, LocalSet};

const ECHO: u16 = 1;
const WRITE: u16 = 2;
const READ: u16 = 3;
const SECONDS: f64 = 1.0;

/// Answers everything at once and publishes its thread's CPU time.
struct Bench {
    cpu_ns: Arc<AtomicU64>,
    data: Bytes,
}

fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Service for Bench {
    async fn call(&self, _peer: &PeerInfo, request: Frame) -> Reply {
        self.cpu_ns.store(thread_cpu_ns(), Ordering::Relaxed);
        match request.message_type() {
            WRITE => Reply::ok(Bytes::new()),
            READ => Reply::ok(Bytes::new()).with_payload(vec![self.data.clone()]),
            _ => Reply::ok(request.body),
        }
    }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime is needed for everything")
}

fn config(role: Role) -> HandshakeConfig {
    let secret = Secret::from_bytes(&[1; 64]).expect("64 bytes are enough");
    let encrypt = std::env::args().any(|argument| argument == "encrypt");
    HandshakeConfig { encrypt, ..HandshakeConfig::new(secret, 1, role, 1) }
}

/// Keeps `in_flight` calls going on each connection; calls done and the wall time they took.
async fn run(connections: &[Connection], in_flight: usize, request: &Request) -> (u64, Duration) {
    let began = Instant::now();
    let until = began + Duration::from_secs_f64(SECONDS);
    let mut workers = JoinSet::new();
    for connection in connections {
        for _ in 0..in_flight {
            let (connection, request) = (connection.clone(), request.clone());
            workers.spawn_local(async move {
                let mut calls = 0;
                while Instant::now() < until {
                    connection.call(request.clone()).await.expect("the server of this benchmark answers");
                    calls += 1;
                }
                calls
            });
        }
    }
    (workers.join_all().await.into_iter().sum(), began.elapsed())
}

async fn measure(
    server_cpu_ns: &AtomicU64,
    connections: &[Connection],
    name: &str,
    in_flight: usize,
    request: Request,
) {
    let ping = Request::new(ECHO, "");
    connections[0].call(ping.clone()).await.expect("the server of this benchmark answers");
    let before = (thread_cpu_ns(), server_cpu_ns.load(Ordering::Relaxed));
    let (calls, took) = run(connections, in_flight, &request).await;
    connections[0].call(ping).await.expect("the server of this benchmark answers");
    let client_s = (thread_cpu_ns() - before.0) as f64 / 1e9;
    let server_s = (server_cpu_ns.load(Ordering::Relaxed) - before.1) as f64 / 1e9;
    let per_s = calls as f64 / took.as_secs_f64();
    if request.message_type == ECHO {
        let us = 1e6 / calls as f64;
        println!(
            "{name:<44} {:>9.0} calls/s  CPU µs per call: client {:>6.2}  server {:>6.2}",
            per_s,
            client_s * us,
            server_s * us
        );
    } else {
        let gib = calls as f64 / 1024.0;
        println!(
            "{name:<44} {:>9.2} GiB/s    CPU s per GiB: client {:>7.3}  server {:>6.3}",
            per_s / 1024.0,
            client_s / gib,
            server_s / gib
        );
    }
}

fn main() {
    let address = ([127, 0, 0, 1], 0).into();
    let server = Server::bind(&[address], config(Role::Storage), ServerOptions::default()).expect("a port is free");
    let address = server.local_addresses()[0];
    let stop = server.shutdown_handle();
    let server_cpu_ns = Arc::new(AtomicU64::new(0));
    let service = (server_cpu_ns.clone(), Bytes::from(vec![3; 1 << 20]));
    let thread = std::thread::spawn(move || {
        let service = Rc::new(Bench { cpu_ns: service.0, data: service.1 });
        LocalSet::new().block_on(&runtime(), server.serve(service)).expect("served until stopped");
    });
    LocalSet::new().block_on(&runtime(), async {
        let mut connections = Vec::new();
        for _ in 0..8 {
            let connecting = Connection::connect(address, &config(Role::Client)).await;
            connections.push(connecting.expect("the server listens already"));
        }
        let small = || Request::new(ECHO, vec![0; 64]);
        let write = Request::new(WRITE, "").with_payload(vec![Bytes::from(vec![5; 1 << 20])]);
        let one = &connections[..1];
        measure(&server_cpu_ns, one, "128 B each way, 1 in flight", 1, small()).await;
        measure(&server_cpu_ns, one, "128 B each way, 32 in flight, 1 connection", 32, small()).await;
        measure(&server_cpu_ns, &connections, "128 B each way, 32 in flight, 8 connections", 4, small()).await;
        measure(&server_cpu_ns, one, "write 1 MiB, 1 in flight", 1, write.clone()).await;
        measure(&server_cpu_ns, one, "write 1 MiB, 4 in flight", 4, write).await;
        measure(&server_cpu_ns, one, "read 1 MiB, 1 in flight", 1, Request::new(READ, "")).await;
        measure(&server_cpu_ns, one, "read 1 MiB, 4 in flight", 4, Request::new(READ, "")).await;
    });
    stop.stop();
    thread.join().expect("the server thread does not panic");
}
