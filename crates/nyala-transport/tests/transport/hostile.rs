// SPDX-License-Identifier: Apache-2.0

//! Peers that have proven the secret and then misbehave: half frames, garbage, oversized lengths, more than we can hold.

use crate::common::*;
use bytes::Bytes;
use nyala_transport::{
    Connection, HandshakeConfig, Header, MemoryBudget, Request, Role, ServerOptions, TransportError,
};
use nyala_wire::checksum::crc32c;
use nyala_wire::frame::MAX_PAYLOAD;
use proptest::prelude::*;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// Passes a real handshake through and then says `bytes` to the server in the client's name; the server's stream.
async fn misbehave(server: SocketAddr, bytes: &[u8]) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let middle = listener.local_addr().expect("bound");
    let client = tokio::spawn(async move { Connection::connect(middle, &config(Role::Client)).await });
    let (mut client_side, _) = listener.accept().await.expect("accept");
    let mut server_side = TcpStream::connect(server).await.expect("connect");
    for from_client in [true, false, true] {
        let (from, to) =
            if from_client { (&mut client_side, &mut server_side) } else { (&mut server_side, &mut client_side) };
        let mut message = vec![0; 16];
        from.read_exact(&mut message).await.expect("preamble");
        message.resize(16 + usize::from(message[12]), 0);
        from.read_exact(&mut message[16..]).await.expect("message");
        to.write_all(&message).await.expect("pass on");
    }
    drop(client.await.expect("client task").expect("handshake"));
    // The server may hang up while we still talk.
    let _ = server_side.write_all(bytes).await;
    server_side
}

async fn hangs_up(mut stream: TcpStream) {
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(2), stream.read_to_end(&mut rest)).await;
    // A reset counts as well.
    let _ = ended.expect("the server must hang up");
}

fn request(body: &[u8], payload_len: u32) -> Vec<u8> {
    let header = Header {
        message_type: ECHO,
        request_id: 1,
        body_crc: crc32c(body),
        body_len: body.len() as u32,
        payload_len,
        ..Header::default()
    };
    [&header.encode()[..], body].concat()
}

#[tokio::test]
async fn malformed_frames_end_the_connection_and_nothing_else() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let bystander = Connection::connect(server.address, &config(Role::Client)).await.expect("connect");
    let good = request(b"body", 0);
    let mut wrong_body = good.clone();
    wrong_body[66] ^= 1;
    let mut reply = Header { flags: 1, ..Header::default() }.encode().to_vec();
    reply.extend(&good);
    let too_long = request(b"", MAX_PAYLOAD as u32 + 1);
    let cases = [vec![0; 64], wrong_body, reply, too_long, b"NYLA".repeat(20), vec![0xee; 100_000]];
    for bytes in cases {
        hangs_up(misbehave(server.address, &bytes).await).await;
    }
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 0);
    assert_eq!(bystander.call(Request::new(ECHO, "unharmed")).await.expect("reply").body, "unharmed");
    let seen = server.seen.clone();
    eventually("all but the bystander gone", || seen.disconnected.load(Ordering::SeqCst) == 6).await;
}

#[tokio::test]
async fn half_frames_are_waited_for_but_not_for_ever() {
    let mut impatient = config(Role::Meta);
    impatient.dead_after = Duration::from_millis(1200);
    let server = start(impatient, ServerOptions::default());
    let whole = [request(b"body", 100_000), vec![1; 100_000]].concat();
    for cut in [1, 63, 64, 66, 68, 50_000] {
        let mut stream = misbehave(server.address, &whole[..cut]).await;
        // sleeps: the first part arrives by itself
        tokio::time::sleep(Duration::from_millis(5)).await;
        stream.write_all(&whole[cut..]).await.expect("the rest");
        let mut reply = vec![0; whole.len()];
        stream.read_exact(&mut reply).await.expect("the reply");
        assert_eq!(reply[64..], whole[64..], "cut at {cut}");
    }
    for cut in [1, 66, 50_000] {
        let began = Instant::now();
        hangs_up(misbehave(server.address, &whole[..cut]).await).await;
        assert!(began.elapsed() > Duration::from_secs(1), "{:?}", began.elapsed());
    }
    let mut stream = misbehave(server.address, &whole[..500]).await;
    stream.shutdown().await.expect("hang up in the middle");
    hangs_up(stream).await;
}

#[tokio::test]
async fn the_budget_stops_reading_and_lets_go_again() {
    let client_budget = MemoryBudget::new(0);
    let total = client_budget.total_bytes();
    let options = ServerOptions { client_budget: client_budget.clone(), ..ServerOptions::default() };
    let server = start(config(Role::Storage), options);
    let connect = |role| Box::pin(async move { Connection::connect(server.address, &config(role)).await });
    let client = connect(Role::Client).await.expect("connect");
    let payload = Bytes::from(vec![7; 4 << 20]);
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let (client, payload) = (client.clone(), payload.clone());
            tokio::spawn(async move { client.call(Request::new(HOLD, "").with_payload(vec![payload])).await })
        })
        .collect();
    eventually("the budget is used up", || client_budget.used_bytes() + (4 << 20) > total).await;
    // sleeps: nothing is to happen in that time
    tokio::time::sleep(Duration::from_millis(100)).await;
    let held = server.seen.calls.load(Ordering::SeqCst);
    assert!(held <= total / (4 << 20) && held >= 3, "{held} requests of 4 MiB held in {total} bytes");
    // A server's requests do not wait behind the clients'.
    let peer = connect(Role::Storage).await.expect("connect");
    let replicated = peer.call(Request::new(ECHO, "").with_payload(vec![payload.clone()])).await.expect("reply");
    assert_eq!(replicated.payload.len(), payload.len());
    peer.call(Request::new(RELEASE, "")).await.expect("reply");
    for call in calls {
        let reply = call.await.expect("no panic").expect("reply");
        assert_eq!(reply.payload, payload);
    }
    eventually("everything is given back", || client_budget.used_bytes() == 0).await;
}

#[tokio::test]
async fn a_budget_survives_peers_that_vanish() {
    let client_budget = MemoryBudget::new(0);
    let options = ServerOptions { client_budget: client_budget.clone(), ..ServerOptions::default() };
    let server = start(config(Role::Storage), options);
    for _ in 0..5 {
        drop(misbehave(server.address, &[request(b"", 8 << 20), vec![0; 1 << 20]].concat()).await);
    }
    eventually("everything is given back", || client_budget.used_bytes() == 0).await;
}

#[tokio::test]
async fn who_does_not_read_replies_is_not_read_from() {
    let options = ServerOptions::default();
    let budget = options.client_budget.clone();
    let server = start(config(Role::Storage), options);
    let one = [request(b"", 1 << 20), vec![1; 1 << 20]].concat();
    let (mut from_server, mut to_server) = misbehave(server.address, b"").await.into_split();
    let (length, calls) = (one.len(), 60);
    let sending = tokio::spawn(async move {
        for _ in 0..calls {
            to_server.write_all(&one).await.expect("send");
        }
        to_server
    });
    let read = || server.seen.calls.load(Ordering::SeqCst);
    eventually("some are read", || read() >= 16).await;
    let mut answered = 0;
    while answered != read() {
        answered = read();
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert!(answered < 50, "{answered} requests read");
    assert!(budget.used_bytes() <= 20 << 20, "{} bytes of replies wait", budget.used_bytes());
    let mut replies = vec![0; calls * length];
    from_server.read_exact(&mut replies).await.expect("every reply in the end");
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), calls);
    drop(sending.await.expect("no panic"));
}

#[tokio::test]
async fn requests_under_way_are_limited() {
    let server = start(config(Role::Meta), ServerOptions { max_in_flight: 5, ..ServerOptions::default() });
    let client = Connection::connect(server.address, &config(Role::Client)).await.expect("connect");
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.call(Request::new(HOLD, "")).await })
        })
        .collect();
    let seen = server.seen.clone();
    eventually("five run", || seen.calls.load(Ordering::SeqCst) == 5).await;
    // sleeps: nothing is to happen in that time
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(seen.calls.load(Ordering::SeqCst), 5);
    let other = Connection::connect(server.address, &config(Role::Client)).await.expect("connect");
    other.call(Request::new(RELEASE, "")).await.expect("reply");
    for call in calls {
        call.await.expect("no panic").expect("reply");
    }
}

#[tokio::test]
async fn a_changed_encrypted_record_ends_the_connection() {
    let config = HandshakeConfig { encrypt: true, ..config(Role::Client) };
    let server = start(config.clone(), ServerOptions::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let middle = listener.local_addr().expect("bound");
    let address = server.address;
    tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.expect("accept");
        let mut server = TcpStream::connect(address).await.expect("connect");
        let mut first = vec![0; 16];
        client.read_exact(&mut first).await.expect("preamble");
        first.resize(16 + usize::from(first[12]), 0);
        client.read_exact(&mut first[16..]).await.expect("message 1");
        server.write_all(&first).await.expect("pass on");
        // Message 3 (32 bytes) and the start of the first record go by; the record is flipped in its middle.
        let (mut from_client, mut to_client) = client.split();
        let (mut from_server, mut to_server) = server.split();
        let flip = async {
            let mut rest = vec![0; 32 + 2 + 64 + 4 + 16];
            from_client.read_exact(&mut rest).await.expect("first record");
            rest[60] ^= 1;
            to_server.write_all(&rest).await.expect("pass on");
        };
        let _ = tokio::join!(flip, tokio::io::copy(&mut from_server, &mut to_client));
        let _ = copy_bidirectional(&mut client, &mut server).await;
    });
    let connection = Connection::connect(middle, &config).await.expect("connect");
    let request = Request::new(ECHO, "body").with_timeout(Duration::from_secs(2));
    let outcome = connection.call(request).await.expect_err("changed on the way");
    assert!(matches!(outcome, TransportError::Disconnected { .. }), "{outcome:?}");
    assert_eq!(server.seen.calls.load(Ordering::SeqCst), 0);
}

#[test]
fn random_bytes_never_panic_or_allocate() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    let client_budget = MemoryBudget::new(0);
    let options = ServerOptions { client_budget: client_budget.clone(), ..ServerOptions::default() };
    let server = start(config(Role::Meta), options);
    let noise = proptest::collection::vec(any::<u8>(), 0..300);
    let cases = (noise, any::<bool>(), any::<(u32, u32)>());
    proptest!(ProptestConfig::with_cases(100), |((noise, sealed, (body_len, payload_len)) in cases)| {
        runtime.block_on(async {
            let mut bytes = noise.clone();
            if sealed {
                // A header that is right in itself, whatever it promises.
                let header = Header { request_id: 1, body_len, payload_len, ..Header::default() };
                bytes.splice(0..0, header.encode());
            }
            let mut stream = misbehave(server.address, &bytes).await;
            stream.shutdown().await.ok();
            hangs_up(stream).await;
        });
    });
    let check = async { eventually("nothing is held", || client_budget.used_bytes() == 0).await };
    runtime.block_on(check);
    let alive = runtime.block_on(async {
        let client = Connection::connect(server.address, &config(Role::Client)).await.expect("connect");
        client.call(Request::new(ECHO, "alive")).await.expect("reply").body
    });
    assert_eq!(alive, "alive");
}
