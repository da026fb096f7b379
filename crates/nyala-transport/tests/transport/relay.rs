// SPDX-License-Identifier: Apache-2.0

//! Connections through another server: who gets one, to whom, and what ends it. A client whose direct attempts end before they
//! begin stands for one whose packets get lost.

use crate::common::*;
use nyala_transport::{
    Connection, Endpoint, HandshakeConfig, Pool, PoolOptions, Request, Role, Secret, ServerOptions, TransportError,
};
use nyala_wire::message_type::{PATH_TEST, RELAY};
use nyala_wire::relay::RelayRequest;
use nyala_wire::{ErrorCode, WireError, codec};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;

/// Reaches nobody but by others.
fn cut_off(role: Role, relays: &[&Running]) -> HandshakeConfig {
    let config = HandshakeConfig { connect_timeout: Duration::ZERO, ..config(role) };
    config.relays.seed(&relays.iter().map(|relay| relay.address).collect::<Vec<_>>());
    config
}

fn relay_to(servers: &[SocketAddr], options: ServerOptions) -> Running {
    let relay = start(config(Role::Storage), options);
    relay.seen.relays_to.lock().expect("no panic").extend(servers);
    relay
}

fn pool(config: HandshakeConfig) -> Pool {
    Pool::new(config, PoolOptions::default())
}

async fn ask_to_relay(connection: &Connection, to: SocketAddr) -> Result<(), WireError> {
    let body = codec::encode(&RelayRequest { addresses: vec![to] });
    let reply = connection.call(Request::new(RELAY, body)).await.expect("an answer");
    if reply.is_error() { Err(codec::decode(&reply.body).expect("an error")) } else { Ok(()) }
}

#[tokio::test]
async fn a_peer_out_of_reach_is_reached_through_another_server() {
    for encrypt in [false, true] {
        let config = |config: HandshakeConfig| HandshakeConfig { encrypt, ..config };
        let server = start(config(crate::common::config(Role::Meta)), ServerOptions::default());
        let relay = start(config(crate::common::config(Role::Storage)), ServerOptions::default());
        relay.seen.relays_to.lock().expect("no panic").push(server.address);
        let pool = pool(config(cut_off(Role::Client, &[&relay])));
        let (endpoint, large) = (Endpoint::from(server.address), vec![7_u8; 1 << 20]);
        let request = || Request::new(ECHO, "hello").with_payload(vec![large.clone().into()]);
        let began = Instant::now();
        let reply = pool.call(&endpoint, request()).await.expect("reply");
        assert!(reply.body == "hello" && reply.payload == large, "it comes back whole");
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        let connection = pool.peer(&endpoint).connection().await.expect("connected");
        assert_eq!((connection.peer().address, connection.peer().role), (server.address, Role::Meta));
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..50 {
            let (pool, endpoint, request) = (pool.clone(), endpoint.clone(), request());
            calls.spawn(async move { pool.call(&endpoint, request).await.expect("reply").payload.len() });
        }
        assert!(calls.join_all().await.iter().all(|bytes| *bytes == large.len()));
        assert_eq!(server.seen.connected.load(Ordering::SeqCst), 1);
        assert_eq!(relay.seen.calls.load(Ordering::SeqCst), 0, "the relay's service is asked nothing");
    }
}

#[tokio::test]
async fn only_servers_of_the_cluster_are_connected_to() {
    let (server, stranger) = (start(config(Role::Meta), ServerOptions::default()), unused_listener().await);
    let relay = relay_to(&[server.address], ServerOptions::default());
    let connection = || async { Connection::connect(relay.address, &config(Role::Client)).await.expect("connected") };
    let refused =
        ask_to_relay(&connection().await, stranger.local_addr().expect("bound")).await.expect_err("a stranger");
    assert_eq!(refused.code, ErrorCode::UNAUTHORIZED);
    let none = connection().await.call(Request::new(RELAY, codec::encode(&RelayRequest { addresses: vec![] }))).await;
    assert!(none.expect("an answer").is_error());
    let garbage = connection().await.call(Request::new(RELAY, "garbage")).await;
    assert!(garbage.expect("an answer").is_error());
    let talking = connection().await;
    talking.call(Request::new(ECHO, "")).await.expect("reply");
    let late =
        talking.call(Request::new(RELAY, codec::encode(&RelayRequest { addresses: vec![server.address] }))).await;
    assert!(matches!(late, Err(TransportError::Disconnected { .. })), "only as the first request: {late:?}");
    let wrong = HandshakeConfig { secret: Secret::from_bytes(&[b'x'; 32]).expect("long"), ..config(Role::Client) };
    assert!(Connection::connect(relay.address, &wrong).await.is_err(), "without the secret nobody gets that far");
    assert_eq!(server.seen.connected.load(Ordering::SeqCst), 0);
    assert!(tokio::time::timeout(Duration::from_millis(50), stranger.accept()).await.is_err());
}

async fn unused_listener() -> tokio::net::TcpListener {
    tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bind")
}

/// What a relay lets through is a handshake that says that it is relayed, and nothing else.
#[tokio::test]
async fn nothing_but_a_relayed_handshake_passes() {
    let target = unused_listener().await;
    let to = target.local_addr().expect("bound");
    let relay = relay_to(&[to], ServerOptions::default());
    // A tunnel that its maker does not use: the connection's own frames follow, which are no handshake.
    let connection = Connection::connect(relay.address, &config(Role::Client)).await.expect("connected");
    ask_to_relay(&connection, to).await.expect("relayed");
    let (mut there, _) = target.accept().await.expect("the relay connects");
    let lost = connection.call(Request::new(ECHO, "")).await;
    assert!(matches!(lost, Err(TransportError::Disconnected { .. })), "{lost:?}");
    let mut passed = Vec::new();
    there.read_to_end(&mut passed).await.expect("closed in order");
    assert_eq!(passed, b"");
}

#[tokio::test]
async fn relays_are_bounded_and_places_come_back() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let relay = relay_to(&[server.address], ServerOptions { max_relayed: 1, ..ServerOptions::default() });
    let first = pool(cut_off(Role::Client, &[&relay]));
    first.call(&server.address.into(), Request::new(ECHO, "")).await.expect("reply");
    let second = pool(cut_off(Role::Client, &[&relay]));
    let none = second.call(&server.address.into(), Request::new(ECHO, "")).await;
    assert!(matches!(none, Err(TransportError::ConnectTimeout { .. })), "{none:?}");
    first.forget(&server.address.into());
    let seen = server.seen.clone();
    eventually("the server hears of the end", || seen.disconnected.load(Ordering::SeqCst) == 1).await;
    let mut done = false;
    for _ in 0..50 {
        done = done || second.call(&server.address.into(), Request::new(ECHO, "")).await.is_ok();
    }
    assert!(done, "the place is free again");
}

#[tokio::test]
async fn when_relay_or_target_die_the_next_one_is_used_and_calls_hear_of_it() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let relay = relay_to(&[server.address], ServerOptions::default());
    let pool = pool(cut_off(Role::Client, &[&relay]));
    let endpoint = Endpoint::from(server.address);
    pool.call(&endpoint, Request::new(ECHO, "")).await.expect("reply");
    let waiting = {
        let (pool, endpoint) = (pool.clone(), endpoint.clone());
        tokio::spawn(async move { pool.call(&endpoint, Request::new(NEVER, "")).await })
    };
    let seen = server.seen.clone();
    eventually("the call waits", || seen.calls.load(Ordering::SeqCst) == 2).await;
    let relay_address = relay.stop();
    let lost = waiting.await.expect("no panic");
    assert!(matches!(lost, Err(TransportError::Disconnected { .. })), "{lost:?}");
    let relay = start_at(relay_address, config(Role::Storage), ServerOptions::default(), 1);
    relay.seen.relays_to.lock().expect("no panic").push(server.address);
    let began = Instant::now();
    while pool.call(&endpoint, Request::new(ECHO, "")).await.is_err() {
        assert!(began.elapsed() < Duration::from_secs(5), "the relay is back");
    }
    let address = server.stop();
    let gone = pool.call(&endpoint, Request::new(ECHO, "")).await;
    assert!(gone.is_err(), "{gone:?}");
    let _server = start_at(address, config(Role::Meta), ServerOptions::default(), 1);
    let began = Instant::now();
    while pool.call(&endpoint, Request::new(ECHO, "")).await.is_err() {
        assert!(began.elapsed() < Duration::from_secs(5), "the target is back");
    }
}

/// A server takes the end of a connection for the end of the process behind it only where no relay may have ended instead.
#[tokio::test]
async fn the_end_of_a_relay_is_not_the_end_of_who_is_behind_it() {
    let server = start(config(Role::Mgmt), ServerOptions::default());
    let relay = relay_to(&[server.address], ServerOptions::default());
    let behind = pool(cut_off(Role::Storage, &[&relay]));
    behind.call(&server.address.into(), Request::new(ECHO, "")).await.expect("reply");
    relay.stop();
    let seen = server.seen.clone();
    eventually("the server hears of the end", || seen.disconnected.load(Ordering::SeqCst) == 1).await;
    assert_eq!(seen.hung_up.load(Ordering::SeqCst), 0, "that was the relay");
    let direct = pool(config(Role::Storage));
    direct.call(&server.address.into(), Request::new(ECHO, "")).await.expect("reply");
    direct.forget(&server.address.into());
    eventually("this one was direct", || seen.hung_up.load(Ordering::SeqCst) == 1).await;
}

/// Management nodes do not go around: see `Detour::find`. And a server that listens and is not there refuses at once.
#[tokio::test]
async fn who_goes_around_and_when() {
    let server = start(config(Role::Mgmt), ServerOptions::default());
    let relay = relay_to(&[server.address], ServerOptions::default());
    let mgmt = pool(cut_off(Role::Mgmt, &[&relay])).call(&server.address.into(), Request::new(ECHO, "")).await;
    assert!(matches!(mgmt, Err(TransportError::ConnectTimeout { .. })), "{mgmt:?}");
    let reaching = config(Role::Client);
    reaching.relays.seed(&[relay.address]);
    let address = server.stop();
    let refused = pool(reaching).call(&address.into(), Request::new(ECHO, "")).await;
    assert_eq!(refused, Err(TransportError::ConnectRefused { address }));
    assert_eq!(relay.seen.connected.load(Ordering::SeqCst), 0, "a refusal is an answer");
}

#[tokio::test]
async fn a_path_test_comes_back_and_its_length_is_bounded() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let connection = Connection::connect(server.address, &config(Role::Client)).await.expect("connected");
    for (bytes, back) in [(0, 0), (1, 1), (16 << 10, 16 << 10), ((16 << 10) + 1, 0)] {
        let payload = vec![vec![3_u8; bytes].into()];
        let reply = connection.call(Request::new(PATH_TEST, "").with_payload(payload)).await.expect("reply");
        assert_eq!((reply.is_error(), reply.payload.len()), (false, back));
    }
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 0, "the service is not asked");
}

/// A relay that accepts and says nothing costs time, and the next one is asked meanwhile.
#[tokio::test]
async fn a_relay_that_hangs_is_not_waited_for() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let (relay, hangs) = (relay_to(&[server.address], ServerOptions::default()), unused_listener().await);
    let config = cut_off(Role::Client, &[]);
    config.relays.seed(&[hangs.local_addr().expect("bound"), relay.address]);
    let began = Instant::now();
    pool(config).call(&server.address.into(), Request::new(ECHO, "")).await.expect("reply");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}
