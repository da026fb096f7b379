// SPDX-License-Identifier: Apache-2.0

//! Replies whose payload ends in a file.

use crate::common::config;
use bytes::Bytes;
use nyala_transport::{
    Connection, FilePart, FileSource, Frame, PeerInfo, Reply, Request, Role, Server, ServerOptions, Service,
};
use nyala_wire::frame::MAX_PAYLOAD;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::sync::Arc;

const LEN: usize = MAX_PAYLOAD;

/// What the file has at an offset.
fn byte(at: usize) -> u8 {
    (at * 31 % 251) as u8 + 1
}

struct Source(Option<File>);

impl FileSource for Source {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(AsFd::as_fd)
    }
}

/// Answers with the stretch that was asked for; the message type says of which source.
struct Files([Arc<Source>; 2]);

impl Service for Files {
    async fn call(&self, _peer: &PeerInfo, request: Frame) -> Reply {
        let asked: Vec<u64> = request.body.chunks(8).map(|n| u64::from_le_bytes(n.try_into().expect("8"))).collect();
        let source = self.0[usize::from(request.message_type())].clone();
        if asked[1] % 2 == 1 {
            tokio::task::yield_now().await;
        }
        let file = FilePart::new(source, asked[0], asked[1] as usize);
        Reply::ok(request.body).with_payload(vec![request.payload]).with_file(file)
    }
}

fn serve(encrypt: bool) -> (nyala_transport::ShutdownHandle, std::net::SocketAddr, std::thread::JoinHandle<()>) {
    let mut config = config(Role::Storage);
    config.encrypt = encrypt;
    let server = Server::bind(&["127.0.0.1:0".parse().expect("address")], config, ServerOptions::default());
    let server = server.expect("bind");
    let (stop, address) = (server.shutdown_handle(), server.local_addresses()[0]);
    let thread = std::thread::spawn(move || {
        let file = rustix::fs::memfd_create("files", rustix::fs::MemfdFlags::CLOEXEC).expect("memfd");
        let mut file = File::from(file);
        file.write_all(&(0..LEN).map(byte).collect::<Vec<u8>>()).expect("written");
        let service = Files([Arc::new(Source(Some(file))), Arc::new(Source(None))]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        tokio::task::LocalSet::new().block_on(&runtime, server.serve(Rc::new(service))).expect("serve");
    });
    (stop, address, thread)
}

async fn check(connection: &Connection, source: u16, before: &'static [u8], offset: usize, len: usize) {
    let body = [(offset as u64).to_le_bytes(), (len as u64).to_le_bytes()].concat();
    let request = Request::new(source, body.clone()).with_payload(vec![Bytes::from_static(before)]);
    let reply = connection.call(request).await.expect("reply");
    assert!(!reply.is_error() && reply.body == body);
    let there = |at: usize| if at < LEN && source == 0 { byte(at) } else { 0 };
    let expected = before.iter().copied().chain((offset..offset + len).map(there));
    assert!(reply.payload.len() == before.len() + len && reply.payload.iter().copied().eq(expected), "{offset} {len}");
}

#[tokio::test]
async fn a_file_arrives_whole_and_what_it_lacks_is_zeros() {
    static LARGE: [u8; 70_000] = [7; 70_000];
    for encrypt in [false, true] {
        let (stop, address, thread) = serve(encrypt);
        let mut config = config(Role::Client);
        config.encrypt = encrypt;
        let connection = Connection::connect(address, &config).await.expect("connect");
        let places =
            [(0, 0), (0, 1), (4095, 4097), (1, 100_000), (8192, 1 << 20), (0, LEN), (LEN - 5000, 20_000), (LEN, 9)];
        for (offset, len) in places {
            check(&connection, 0, b"", offset, len).await;
        }
        check(&connection, 0, b"before", 17, 300_000).await;
        check(&connection, 0, &LARGE, 5, 1_000_001).await;
        check(&connection, 1, b"", 0, 100_000).await;
        // Many at once, so that the socket is full and files wait for it between other replies.
        let all = (0..40).map(|n| check(&connection, (n % 8 == 7).into(), b"x", n * 1000, (n % 3) * 777_777));
        let mut under_way: Vec<_> = all.map(Box::pin).collect();
        for check in &mut under_way {
            futures_poll_once(check).await;
        }
        for check in under_way {
            check.await;
        }
        drop(connection);
        stop.stop();
        thread.join().expect("server thread");
    }
}

/// Begins a call without waiting for its end.
async fn futures_poll_once<F: Future + Unpin>(call: &mut F) {
    std::future::poll_fn(|cx| {
        let _ = std::pin::Pin::new(&mut *call).poll(cx);
        std::task::Poll::Ready(())
    })
    .await;
}
