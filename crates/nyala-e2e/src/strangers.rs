// SPDX-License-Identifier: Apache-2.0

//! Somebody who opens connections and says nothing, or half of something, for as long as he is let. It runs as a process of its
//! own (`nyala-e2e-strangers`), one for each port, because descriptors are a process's.
//!
//! Failure model: the service closes connections, which are opened anew, at a bounded rate; it may refuse them or not
//! answer, which is counted and tried again.

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// Between looks at what was closed.
const ROUND: Duration = Duration::from_millis(100);
/// New connections in each round: what a service can accept and more than it needs to.
const NEW: usize = 50;
const CONNECT: Duration = Duration::from_millis(500);

/// The first bytes that they send: nothing, half a greeting, half a header, and a length that nobody can mean.
const FIRST_BYTES: [&[u8]; 4] = [b"", b"NYHS", b"GET /api/v1/nodes HTTP/1.1\r\nHost: x\r\nX-Wait: ", &[0xff; 64]];

/// What came of it.
#[derive(Debug, Default)]
pub struct Opened {
    /// Connections that were made.
    pub made: u64,
    /// Attempts that failed.
    pub refused: u64,
    /// Most that were open at once.
    pub most: usize,
}

/// Keeps up to `count` connections to an address until the file `stop` appears.
pub fn run(address: SocketAddr, count: usize, stop: &Path) -> Opened {
    let (mut open, mut opened, mut number) = (Vec::<TcpStream>::new(), Opened::default(), 0_usize);
    while !stop.exists() {
        let began = Instant::now();
        retain_open(&mut open);
        for _ in 0..NEW.min(count - open.len()) {
            number += 1;
            match connect(address, FIRST_BYTES[number % FIRST_BYTES.len()]) {
                Ok(stream) => {
                    opened.made += 1;
                    open.push(stream);
                }
                Err(_) => {
                    opened.refused += 1;
                    break;
                }
            }
        }
        opened.most = opened.most.max(open.len());
        // sleeps: new connections come at a bounded rate
        std::thread::sleep(ROUND.saturating_sub(began.elapsed()));
    }
    opened
}

fn connect(address: SocketAddr, words: &[u8]) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, CONNECT)?;
    match stream.write_all(words) {
        // It may have been closed already.
        Err(error) if !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => Err(error),
        _ => Ok(stream),
    }
}

/// Forgets those that the service has closed.
fn retain_open(open: &mut Vec<TcpStream>) {
    let events = libc::POLLRDHUP;
    let mut asked: Vec<libc::pollfd> =
        open.iter().map(|stream| libc::pollfd { fd: stream.as_raw_fd(), events, revents: 0 }).collect();
    // SAFETY: the array lives through the call, and its length is given.
    unsafe { libc::poll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, 0) };
    let mut here = asked.iter().map(|one| one.revents == 0);
    open.retain(|_| here.next().unwrap_or(true));
}
