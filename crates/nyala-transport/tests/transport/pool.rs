// SPDX-License-Identifier: Apache-2.0

//! Pools: servers that go and come back, several addresses, several connections.

use crate::common::*;
use nyala_transport::{Endpoint, Pool, PoolOptions, Request, Role, ServerOptions, TransportError};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

fn pool(connections_per_peer: usize) -> Pool {
    Pool::new(config(Role::Client), PoolOptions { connections_per_peer, ..PoolOptions::default() })
}

fn unused() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").expect("bind").local_addr().expect("bound")
}

#[tokio::test]
async fn a_restarted_server_is_found_again() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let (pool, endpoint) = (pool(1), Endpoint::from(server.address));
    pool.call(&endpoint, Request::new(ECHO, "")).await.expect("reply");
    assert!(pool.peer(&endpoint).is_connected());
    let address = server.stop();
    let mut errors = Vec::new();
    for _ in 0..4 {
        errors.push(pool.call(&endpoint, Request::new(ECHO, "")).await.expect_err("it is down"));
    }
    let refused = TransportError::ConnectRefused { address };
    assert!(errors[1..].iter().all(|error| *error == refused), "{errors:?}");
    let server = start_at(address, config(Role::Meta), ServerOptions::default(), 1);
    let began = Instant::now();
    let reply = pool.call(&endpoint, Request::new(ECHO, "back")).await.expect("reply");
    assert_eq!(reply.body, "back");
    assert!(began.elapsed() < Duration::from_millis(1100), "{:?}", began.elapsed());
    assert_eq!(server.seen.connected.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn one_attempt_serves_all_who_wait() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let (pool, endpoint) = (pool(1), Endpoint::from(server.address));
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..200 {
        let (pool, endpoint) = (pool.clone(), endpoint.clone());
        calls.spawn(async move { pool.call(&endpoint, Request::new(ECHO, "")).await.expect("reply") });
    }
    calls.join_all().await;
    assert_eq!(server.seen.connected.load(Ordering::SeqCst), 1);

    let nobody = Endpoint::from(unused());
    let began = Instant::now();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..200 {
        let (pool, nobody) = (pool.clone(), nobody.clone());
        calls.spawn(async move { pool.call(&nobody, Request::new(ECHO, "")).await.expect_err("nobody") });
    }
    assert_eq!(calls.join_all().await.len(), 200);
    assert!(began.elapsed() < Duration::from_millis(500), "refusals are shared: {:?}", began.elapsed());
}

#[tokio::test]
async fn another_address_of_the_peer_is_used() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let endpoint = Endpoint { addresses: vec![unused(), server.address] };
    let pool = pool(1);
    pool.call(&endpoint, Request::new(ECHO, "")).await.expect("the second address");
    assert_eq!(pool.peer(&endpoint).connection().await.expect("connected").peer().address, server.address);
    let none = Endpoint { addresses: vec![] };
    assert_eq!(pool.call(&none, Request::new(ECHO, "")).await, Err(TransportError::NoAddress));
}

#[tokio::test]
async fn busy_peers_get_more_connections_up_to_the_limit() {
    let server = start(config(Role::Storage), ServerOptions::default());
    let (pool, endpoint) = (pool(3), Endpoint::from(server.address));
    pool.call(&endpoint, Request::new(ECHO, "")).await.expect("reply");
    assert_eq!(server.seen.connected.load(Ordering::SeqCst), 1, "one is enough when idle");
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (pool, endpoint) = (pool.clone(), endpoint.clone());
        calls.spawn(async move { pool.call(&endpoint, Request::new(HOLD, "")).await.expect("reply") });
        // sleeps: calls begin one after another
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let seen = server.seen.clone();
    eventually("three connections", || seen.connected.load(Ordering::SeqCst) == 3).await;
    eventually("all calls arrive", || seen.calls.load(Ordering::SeqCst) == 101).await;
    pool.call(&endpoint, Request::new(RELEASE, "")).await.expect("reply");
    calls.join_all().await;
    assert_eq!(seen.connected.load(Ordering::SeqCst), 3);
    pool.forget(&endpoint);
    eventually("all closed", || seen.disconnected.load(Ordering::SeqCst) == 3).await;
}

#[tokio::test]
async fn the_timeout_covers_connecting() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = silent.local_addr().expect("bound");
    let after = Duration::from_millis(50);
    let outcome = pool(1).call(&address.into(), Request::new(ECHO, "").with_timeout(after)).await;
    assert_eq!(outcome, Err(TransportError::CallTimeout { address, after }));
}
