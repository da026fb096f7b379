// SPDX-License-Identifier: Apache-2.0

//! Requests and replies on a connection that works, and what happens to them when it stops working.

use crate::common::*;
use bytes::Bytes;
use nyala_transport::{Connection, FrameError, Request, Role, ServerOptions, TransportError};
use nyala_wire::frame::{MAX_BODY, MAX_PAYLOAD};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

async fn connected(server: &Running) -> Connection {
    Connection::connect(server.address, &config(Role::Client)).await.expect("connect")
}

fn pattern(len: usize) -> Bytes {
    (0..len).map(|i| (i * 31 % 251) as u8).collect()
}

#[tokio::test]
async fn a_call_carries_everything_both_ways() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let connection = connected(&server).await;
    assert_eq!((connection.peer().role, connection.peer().node_id, connection.peer().cluster_id), (Role::Meta, 3, 7));
    let request = Request::new(ECHO, "hello").at(12, 34).with_payload(vec!["ab".into(), "cd".into()]);
    let reply = connection.call(request).await.expect("reply");
    assert_eq!((&reply.body[..], &reply.payload[..]), (&b"hello"[..], &b"abcd"[..]));
    assert_eq!((reply.header.map_version, reply.header.group_epoch, reply.header.log_position), (12, 34, 99));
    assert!(reply.header.is_reply() && !reply.is_error());
    let refused = connection.call(Request::new(REFUSE, "why")).await.expect("reply");
    assert!(refused.is_error() && refused.body == "why");
    let replaced = connection.call(Request::new(TOO_LONG, "")).await.expect("reply");
    assert!(replaced.is_error() && replaced.body.is_empty());
}

#[tokio::test]
async fn every_length_up_to_the_limits_passes_plain_and_encrypted() {
    for encrypt in [false, true] {
        let mut config = config(Role::Storage);
        config.encrypt = encrypt;
        let server = start(config.clone(), ServerOptions::default());
        let connection = Connection::connect(server.address, &config).await.expect("connect");
        let lengths = [0, 1, 4095, 4097, 16 << 10, (16 << 10) + 1, 65_519, 65_520, 100_000, 1 << 20, MAX_PAYLOAD];
        for len in lengths {
            let (body, payload) = (pattern(len.min(MAX_BODY)), pattern(len));
            let halves = vec![payload.slice(..len / 3), payload.slice(len / 3..)];
            let reply = connection.call(Request::new(ECHO, body.clone()).with_payload(halves)).await.expect("reply");
            assert!(reply.body == body && reply.payload == payload, "{len} bytes, encrypt {encrypt}");
            if len >= 64 << 10 {
                assert_eq!(reply.payload.as_ptr().align_offset(4096), 0, "large payloads are aligned");
            }
        }
    }
}

#[tokio::test]
async fn too_long_is_refused_before_it_is_sent() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let connection = connected(&server).await;
    let body = connection.call(Request::new(ECHO, vec![0; MAX_BODY + 1])).await;
    assert_eq!(body, Err(TransportError::Frame(FrameError::BodyTooLong(MAX_BODY as u64 + 1))));
    let half = Bytes::from(vec![0; MAX_PAYLOAD / 2 + 1]);
    let payload = connection.call(Request::new(ECHO, "").with_payload(vec![half.clone(), half])).await;
    assert_eq!(payload, Err(TransportError::Frame(FrameError::PayloadTooLong(MAX_PAYLOAD as u64 + 2))));
    assert_eq!(connection.call(Request::new(ECHO, "fine")).await.expect("still works").body, "fine");
}

#[tokio::test]
async fn ten_thousand_calls_finish_in_any_order() {
    for max_in_flight in [256, 20_000] {
        let server = start(config(Role::Meta), ServerOptions { max_in_flight, ..ServerOptions::default() });
        let connection = connected(&server).await;
        let mut calls = tokio::task::JoinSet::new();
        for number in 0..10_000u32 {
            let connection = connection.clone();
            calls.spawn(async move {
                let body = number.to_le_bytes();
                let reply = connection.call(Request::new(SHUFFLED, body.to_vec())).await.expect("reply");
                assert_eq!(&reply.body[..], &body);
                number
            });
        }
        let order = calls.join_all().await;
        assert_eq!(order.len(), 10_000);
        assert_eq!(connection.in_flight(), 0);
        assert_eq!(server.seen.calls.load(Ordering::SeqCst), 10_000);
    }
}

#[tokio::test]
async fn a_dropped_call_is_forgotten_and_disturbs_nobody() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let connection = connected(&server).await;
    let late = connection.call(Request::new(NEVER, "").with_timeout(Duration::from_millis(30))).await;
    assert!(matches!(late, Err(TransportError::CallTimeout { .. })), "{late:?}");
    assert_eq!(connection.in_flight(), 0);
    let large = Bytes::from(vec![1; 1 << 20]);
    for round in 0..50 {
        let abandoned = connection.call(Request::new(SHUFFLED, "").with_payload(vec![large.clone()]));
        // Dropped queued, half sent, or answered, as it happens.
        let _ = tokio::time::timeout(Duration::from_micros(round * 40), abandoned).await;
        assert_eq!(connection.call(Request::new(ECHO, vec![round as u8])).await.expect("reply").body[0], round as u8);
    }
    assert_eq!(connection.in_flight(), 0);
}

#[tokio::test]
async fn a_call_given_up_while_queued_is_never_sent() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let connection = connected(&server).await;
    {
        let mut call = std::pin::pin!(connection.call(Request::new(ECHO, "x")));
        // One poll queues it; the writer has had no chance to run on this thread.
        let waiting = std::future::poll_fn(|cx| std::task::Poll::Ready(call.as_mut().poll(cx).is_pending())).await;
        assert!(waiting && connection.in_flight() == 1);
    }
    connection.call(Request::new(ECHO, "y")).await.expect("reply");
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_broken_connection_fails_every_waiting_call_at_once() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let connection = connected(&server).await;
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let connection = connection.clone();
            tokio::spawn(async move { connection.call(Request::new(NEVER, "")).await })
        })
        .collect();
    let seen = server.seen.clone();
    eventually("all arrive", || seen.calls.load(Ordering::SeqCst) == 100).await;
    let began = Instant::now();
    server.stop();
    for call in calls {
        let outcome = call.await.expect("no panic");
        assert!(matches!(outcome, Err(TransportError::Disconnected { .. })), "{outcome:?}");
    }
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(matches!(connection.dead(), Some(TransportError::Disconnected { .. })));
    assert!(matches!(connection.call(Request::new(ECHO, "")).await, Err(TransportError::Disconnected { .. })));
    assert_eq!(seen.disconnected.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_panicking_service_costs_only_the_connection() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let connection = connected(&server).await;
    let outcome = connection.call(Request::new(PANIC, "")).await;
    assert!(matches!(outcome, Err(TransportError::Disconnected { .. })), "{outcome:?}");
    assert_eq!(connected(&server).await.call(Request::new(ECHO, "on")).await.expect("reply").body, "on");
}

#[tokio::test]
async fn dropping_the_last_handle_closes_the_connection() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let connection = connected(&server).await;
    let clone = connection.clone();
    drop(connection);
    clone.call(Request::new(ECHO, "")).await.expect("a clone keeps it open");
    drop(clone);
    let seen = server.seen.clone();
    eventually("the server notices", || seen.disconnected.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn connections_are_spread_over_the_cores() {
    let server = start_at(([127, 0, 0, 1], 0).into(), config(Role::Storage), ServerOptions::default(), 2);
    let mut connections = Vec::new();
    for _ in 0..8 {
        let connection = connected(&server).await;
        connection.call(Request::new(ECHO, "")).await.expect("reply");
        connections.push(connection);
    }
    let threads: Vec<_> = server.seen.threads.lock().expect("no panic").values().copied().collect();
    assert!(threads.len() == 2 && threads.iter().all(|count| *count >= 2), "{threads:?}");
}
