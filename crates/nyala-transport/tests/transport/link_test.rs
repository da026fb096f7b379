// SPDX-License-Identifier: Apache-2.0

//! What a server says of its clock and of its way to another server, and to whom.

use crate::common::*;
use nyala_transport::{Connection, HandshakeConfig, Request, Role, Secret, ServerOptions};
use nyala_wire::link_test::{LinkTestReply, LinkTestRequest};
use nyala_wire::message_type::{CLOCK, LINK_TEST};
use nyala_wire::{ErrorCode, Time, WireError, codec};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Has the server `by` test its way to `to`, as somebody of a role.
async fn test(by: SocketAddr, to: SocketAddr, role: Role, bytes: u64) -> Result<LinkTestReply, WireError> {
    let connection = Connection::connect(by, &config(role)).await.expect("connected");
    let body = codec::encode(&LinkTestRequest { to, bytes, within_ms: 200 });
    let reply = connection.call(Request::new(LINK_TEST, body)).await.expect("an answer");
    if reply.is_error() { Err(codec::decode(&reply.body).expect("an error")) } else { Ok(codec::decode(&reply.body)?) }
}

/// A server that knows these as servers of its cluster.
fn knows(servers: &[SocketAddr]) -> Running {
    let server = start(config(Role::Storage), ServerOptions::default());
    server.seen.servers.lock().expect("no panic").extend(servers);
    server
}

#[tokio::test]
async fn a_way_is_measured() {
    let to = start(config(Role::Meta), ServerOptions::default());
    let by = knows(&[to.address]);
    let found = test(by.address, to.address, Role::Cli, 8 << 20).await.expect("measured");
    assert!(found.large && found.local.ip() == to.address.ip(), "{found:?}");
    assert!(found.mtu > 1280 && (1..found.mtu).contains(&found.segment), "{found:?}");
    assert!(found.round_trip_us > 0 && found.round_trip_us < 1_000_000, "{found:?}");
    assert!((1 << 18..=8 << 20).contains(&found.sent_bytes) && found.sent_us > 0, "{found:?}");
    assert_eq!(to.seen.calls.load(Ordering::SeqCst), 0, "the service behind it is asked nothing");
    let reach = test(by.address, to.address, Role::Cli, 0).await.expect("reached");
    assert_eq!((reach.sent_bytes, reach.sent_us, reach.large), (0, 0, true));
}

#[tokio::test]
async fn bytes_and_time_are_bounded_whatever_is_asked() {
    let to = start(config(Role::Meta), ServerOptions::default());
    let by = knows(&[to.address]);
    let began = Instant::now();
    let found = test(by.address, to.address, Role::Cli, u64::MAX).await.expect("measured");
    assert!(found.sent_bytes <= 64 << 20, "{found:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test]
async fn only_operators_have_ways_to_servers_tested() {
    let to = start(config(Role::Meta), ServerOptions::default());
    let by = knows(&[to.address]);
    let code = |result: Result<LinkTestReply, WireError>| result.expect_err("refused").code;
    assert_eq!(code(test(by.address, to.address, Role::Client, 0).await), ErrorCode::UNAUTHORIZED);
    let stranger = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let address = stranger.local_addr().expect("bound");
    assert_eq!(code(test(by.address, address, Role::Cli, 0).await), ErrorCode::UNAUTHORIZED);
    assert!(tokio::time::timeout(Duration::from_millis(50), stranger.accept()).await.is_err(), "nobody connects to it");
    assert_eq!(to.seen.connected.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_server_that_is_not_reached_is_said() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").expect("bind").local_addr().expect("bound");
    let wrong = HandshakeConfig { secret: Secret::from_bytes(&[b'x'; 32]).expect("long"), ..config(Role::Meta) };
    let other = start(wrong, ServerOptions::default());
    let by = knows(&[gone, other.address]);
    for (to, word) in [(gone, "refuse"), (other.address, "secret")] {
        let error = test(by.address, to, Role::Cli, 1).await.expect_err("not reached");
        assert_eq!(error.code, ErrorCode::NOT_READY);
        assert!(error.to_string().contains(word), "{word}: {error}");
    }
}

#[tokio::test]
async fn the_clock_is_told_to_everybody_who_knows_the_secret() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let connection = Connection::connect(server.address, &config(Role::Client)).await.expect("connected");
    let seconds = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64();
    let before = seconds();
    let reply = connection.call(Request::new(CLOCK, "")).await.expect("reply");
    let time: Time = codec::decode(&reply.body).expect("a time");
    let told = time.seconds as f64 + f64::from(time.nanos) / 1e9;
    assert!((before - 0.001..=seconds() + 0.001).contains(&told), "{before} {told}");
}
