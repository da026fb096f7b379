// SPDX-License-Identifier: Apache-2.0

//! Strangers, neighbours and older relatives at the door.

use crate::common::*;
use nyala_transport::{Connection, HandshakeConfig, Request, Role, Secret, Server, ServerOptions, TransportError};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn refused(server: &Running, config: &HandshakeConfig) -> TransportError {
    let outcome = Connection::connect(server.address, config).await;
    assert_eq!(server.seen.connected.load(Ordering::SeqCst), 0);
    outcome.expect_err("must be refused")
}

fn preamble(version: u16, flags: u16, length: u32) -> Vec<u8> {
    let mut bytes = b"NYHS".to_vec();
    bytes.extend(version.to_le_bytes());
    bytes.extend(flags.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(length.to_le_bytes());
    bytes
}

/// What the server says to these bytes before it hangs up.
async fn answer_to(server: &Running, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.address).await.expect("connect");
    stream.write_all(bytes).await.expect("send");
    let mut answer = Vec::new();
    // A reset instead of an end is fine: the server closed with bytes of ours unread.
    let _ = tokio::time::timeout(Duration::from_secs(2), stream.read_to_end(&mut answer)).await.expect("hangs up");
    answer
}

#[tokio::test]
async fn another_secret_is_named_as_such() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let mut stranger = config(Role::Client);
    stranger.secret = Secret::from_bytes(&[b't'; 32]).expect("long enough");
    let address = server.address;
    assert_eq!(refused(&server, &stranger).await, TransportError::WrongSecret { address });
    Connection::connect(address, &config(Role::Client)).await.expect("the right one still gets in");
}

#[tokio::test]
async fn another_cluster_is_named_and_zero_fits_any() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let address = server.address;
    let mut neighbour = config(Role::Client);
    neighbour.cluster_id = 8;
    assert_eq!(refused(&server, &neighbour).await, TransportError::WrongCluster { address, ours: 8, theirs: 7 });
    neighbour.cluster_id = 0;
    let connection = Connection::connect(address, &neighbour).await.expect("does not know its cluster yet");
    assert_eq!(connection.peer().cluster_id, 7);
}

#[tokio::test]
async fn encryption_is_one_setting() {
    for (ours, theirs) in [(true, false), (false, true)] {
        let with = |encrypt| HandshakeConfig { encrypt, ..config(Role::Client) };
        let server = start(with(theirs), ServerOptions::default());
        let address = server.address;
        assert_eq!(refused(&server, &with(ours)).await, TransportError::EncryptionMismatch { address, ours });
    }
}

#[tokio::test]
async fn another_version_is_told_ours() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let mut bytes = preamble(9, 0, 3);
    bytes.extend([1, 2, 3]);
    let mut expected = preamble(1, 0, 0);
    expected[8] = 2;
    assert_eq!(answer_to(&server, &bytes).await, expected);

    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("accept");
        let mut request = [0; 16];
        stream.read_exact(&mut request).await.expect("preamble");
        stream.write_all(&preamble(2, 0, 0)).await.expect("answer");
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    let outcome = Connection::connect(address, &config(Role::Client)).await;
    assert_eq!(outcome.expect_err("older"), TransportError::VersionMismatch { address, theirs: 2 });
}

#[tokio::test]
async fn garbage_gets_no_answer_and_no_memory() {
    let server = start(config(Role::Meta), ServerOptions::default());
    for bytes in [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), vec![0xff; 64], preamble(1, 0, 4097)] {
        assert_eq!(answer_to(&server, &bytes).await, b"");
    }
    let mut wrong_secret = preamble(1, 0, 0);
    wrong_secret[8] = 1;
    for length in [0, 1, 31, 32, 48, 100, 4096] {
        let mut bytes = preamble(1, 0, length);
        bytes.extend(vec![0x5a; length as usize]);
        assert_eq!(answer_to(&server, &bytes).await, wrong_secret, "{length} bytes of noise");
    }
    assert_eq!(server.seen.connected.load(Ordering::SeqCst), 0);
    Connection::connect(server.address, &config(Role::Client)).await.expect("still there");
}

#[tokio::test]
async fn a_recorded_first_message_does_not_authenticate() {
    let server = start(config(Role::Meta), ServerOptions::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let middle = listener.local_addr().expect("bound");
    let recorder = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("accept");
        let mut first = vec![0; 16];
        stream.read_exact(&mut first).await.expect("preamble");
        first.resize(16 + usize::from(first[12]), 0);
        stream.read_exact(&mut first[16..]).await.expect("message");
        first
    });
    Connection::connect(middle, &config(Role::Client)).await.expect_err("the recorder answers nothing");
    let recorded = recorder.await.expect("recorded");

    for proof in [vec![], preamble(1, 0, 0), [preamble(1, 0, 16), vec![0; 16]].concat()] {
        let mut stream = TcpStream::connect(server.address).await.expect("connect");
        stream.write_all(&recorded).await.expect("replay");
        let mut answer = vec![0; 16];
        stream.read_exact(&mut answer).await.expect("the replay itself is answered");
        answer.resize(usize::from(answer[12]), 0);
        stream.read_exact(&mut answer).await.expect("message 2");
        stream.write_all(&proof).await.expect("send");
        stream.shutdown().await.expect("shutdown");
        let _ = tokio::time::timeout(Duration::from_secs(2), stream.read_to_end(&mut answer)).await.expect("hangs up");
    }
    assert_eq!(server.seen.connected.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn dawdlers_are_cut_off_and_do_not_lock_others_out() {
    let mut impatient = config(Role::Meta);
    impatient.handshake_timeout = Duration::from_millis(300);
    let server = start(impatient, ServerOptions { max_unauthenticated: 2, ..ServerOptions::default() });
    let began = Instant::now();
    let mut dawdlers = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(server.address).await.expect("connect");
        stream.write_all(b"NYH").await.expect("send");
        dawdlers.push(stream);
    }
    let connection = Connection::connect(server.address, &config(Role::Client)).await.expect("after the dawdlers");
    assert!(began.elapsed() >= Duration::from_millis(90), "the limit held: {:?}", began.elapsed());
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    connection.call(Request::new(ECHO, "")).await.expect("reply");
    for mut stream in dawdlers {
        assert_eq!(stream.read(&mut [0; 16]).await.unwrap_or(0), 0, "cut off without a word");
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let address = listener.local_addr().expect("bound");
    let mut config = config(Role::Client);
    config.handshake_timeout = Duration::from_millis(100);
    let outcome = Connection::connect(address, &config).await.expect_err("nobody answers");
    assert_eq!(outcome, TransportError::HandshakeTimeout { address, after: config.handshake_timeout });
}

#[tokio::test]
async fn refusal_is_told_from_silence() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let outcome = Connection::connect(address, &config(Role::Client)).await.expect_err("nobody listens");
    assert_eq!(outcome, TransportError::ConnectRefused { address });
    assert!(outcome.is_transient() && !outcome.may_have_been_executed());
}

#[test]
fn a_taken_port_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = taken.local_addr().expect("bound");
    let error = Server::bind(&[address], config(Role::Meta), ServerOptions::default()).err().expect("taken");
    assert_eq!(error, TransportError::PortInUse { address });
    assert!(error.to_string().starts_with(&format!("{address} is already in use")), "{error}");
}
