// SPDX-License-Identifier: Apache-2.0

//! What a program sees of sockets, time and threads, as text: the same on the real kernel and on the simulated one. A test compares
//! the two.

use crate::kernel;
use crate::world::cluster::block_on;
use std::fmt::Write;
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// More than any socket keeps.
const MUCH: usize = 24 << 20;
const MOMENT: Duration = Duration::from_millis(50);

/// Prints what is seen.
pub fn run(simulated: bool) {
    let ip = if simulated { kernel::process::address(0) } else { Ipv4Addr::LOCALHOST };
    if simulated {
        kernel::start(1, kernel::trace::Trace::new(None));
    }
    let seen = [threads(), block_on(connections(ip.into())), block_on(endings(ip.into()))].concat();
    kernel::real::write_all(1, seen.as_bytes());
    kernel::real::end(0);
}

fn threads() -> String {
    let mut seen = String::new();
    let began = Instant::now();
    let (send, receive) = mpsc::channel();
    let threads: Vec<_> = [30, 10, 20]
        .map(|ms| {
            let send = send.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(ms));
                // The receiver lives until all have sent.
                let _ = send.send(ms);
                ms
            })
        })
        .into();
    let order: Vec<u64> = (0..3).filter_map(|_| receive.recv().ok()).collect();
    let joined: Vec<_> = threads.into_iter().map(|thread| thread.join().ok()).collect();
    let slept = began.elapsed() >= Duration::from_millis(30);
    let nobody = receive.recv_timeout(MOMENT).is_err();
    // A string takes everything, here and below.
    let _ = writeln!(seen, "threads {order:?} {joined:?}, slept {slept}, nobody sends {nobody}");
    seen
}

async fn connections(ip: std::net::IpAddr) -> String {
    let mut seen = String::new();
    let listener = TcpListener::bind((ip, 0)).await;
    let Ok(listener) = listener else { return format!("no listener: {listener:?}\n") };
    let Ok(address) = listener.local_addr() else { return "no address\n".into() };
    let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
    let (Ok(mut near), Ok((mut far, from))) = (near, far) else { return "no connection\n".into() };
    let _ = writeln!(
        seen,
        "addresses fit {}",
        near.local_addr().ok() == Some(from) && near.peer_addr().ok() == Some(address)
    );
    let mut some = [0; 16];
    let _ = writeln!(seen, "nothing there {:?}", near.try_read(&mut some).map_err(|error| error.kind()));
    let _ = writeln!(seen, "wrote {:?}", near.write(b"hello").await.ok());
    let peeked = far.peek(&mut some).await.ok();
    let read = far.read(&mut some).await.ok();
    let _ = writeln!(seen, "peeked {peeked:?}, read {read:?} {:?}", &some[..5]);
    // Nobody reads: the writer has to wait.
    let (mut reader, mut writer) = (near, far);
    let much: Vec<u8> = (0..MUCH).map(|at| (at % 251) as u8).collect();
    let wait = tokio::time::timeout(MOMENT, writer.write_all(&much)).await.is_err();
    let _ = writeln!(seen, "a writer waits {wait}");
    drop(writer);
    let mut all = Vec::new();
    let end = reader.read_to_end(&mut all).await.map(|_| ());
    let kept = !all.is_empty() && all.len() < MUCH && all[..] == much[..all.len()];
    let _ = writeln!(seen, "a part arrives, in order, and the end: {kept} {end:?}");
    let taken = std::net::TcpListener::bind(address).err().map(|error| error.kind());
    let _ = writeln!(seen, "the port is taken {taken:?}");
    drop(listener);
    let refused = TcpStream::connect(address).await.err().map(|error| error.kind());
    let _ = writeln!(seen, "nobody listens {refused:?}");
    seen
}

async fn endings(ip: std::net::IpAddr) -> String {
    let mut seen = String::new();
    let Ok(listener) = TcpListener::bind((ip, 0)).await else { return "no listener\n".into() };
    let Ok(address) = listener.local_addr() else { return "no address\n".into() };
    let pair = || async {
        let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
        Some((near.ok()?, far.ok()?.0))
    };
    let mut some = [0; 16];
    // Half an end.
    let Some((mut near, mut far)) = pair().await else { return "no connection\n".into() };
    let _ = writeln!(seen, "half closed {:?}", near.shutdown().await.map_err(|error| error.kind()));
    let _ = writeln!(seen, "the other reads {:?}", far.read(&mut some).await.ok());
    let _ = writeln!(seen, "and writes {:?}", far.write(b"more").await.ok());
    let _ = writeln!(seen, "which arrives {:?}", near.read(&mut some).await.ok());
    let _ = writeln!(seen, "no more to be sent {:?}", near.write(b"x").await.map_err(|error| error.kind()));
    // An end with bytes that nobody read.
    let Some((mut near, far)) = pair().await else { return "no connection\n".into() };
    let _ = near.write(b"unread").await;
    tokio::time::sleep(MOMENT).await;
    drop(far);
    let _ = writeln!(seen, "reset {:?}", near.read(&mut some).await.map_err(|error| error.kind()));
    let after = near.write(b"x").await.map_err(|error| error.kind());
    let _ =
        writeln!(seen, "then broken {:?}", matches!(after, Err(ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)));
    // Writing to one that is gone: the first write is taken, the answer is a reset.
    let Some((mut near, far)) = pair().await else { return "no connection\n".into() };
    drop(far);
    tokio::time::sleep(MOMENT).await;
    let first = near.write(b"x").await.ok();
    tokio::time::sleep(MOMENT).await;
    let _ = writeln!(seen, "taken {first:?}, then {:?}", near.write(b"x").await.is_err());
    seen
}
