// SPDX-License-Identifier: Apache-2.0

//! Many connections that prove nothing, from the address that honest clients have too: those get in within a second, and
//! the service does not run out of anything. The service is a process of its own, this test program again, because
//! descriptors are a process's.

#[path = "transport/common/mod.rs"]
mod common;

use common::*;
use nyala_transport::{Connection, Request, Role, ServerOptions};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

const DESCRIPTORS: &str = "NYALA_TEST_DESCRIPTORS";

fn limit_descriptors(most: u64) {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(most, |maximum| maximum.min(most));
    setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..limit }).expect("a limit may be set");
}

/// Not a test by itself: the service, until its input ends.
#[test]
fn victim() {
    let Ok(most) = std::env::var(DESCRIPTORS) else { return };
    limit_descriptors(most.parse().expect("a number"));
    let server = start_at(([127, 0, 0, 1], 0).into(), config(Role::Meta), ServerOptions::default(), 2);
    println!("\nlistening {}", server.address);
    let _ = std::io::stdin().read_line(&mut String::new());
}

struct Victim {
    child: Child,
    address: SocketAddr,
}

impl Victim {
    fn start(descriptors: u64) -> Victim {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "victim", "--nocapture"])
            .env(DESCRIPTORS, descriptors.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let found = lines.filter_map(|line| line.strip_prefix("listening ").map(str::to_owned)).next();
        let address = found.expect("it says where it listens").parse().expect("an address");
        Victim { child, address }
    }

    fn descriptors(&self) -> usize {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.child.id()));
        open.expect("it runs").count()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// So many strangers, some silent and some with half a greeting, who stay as long as they are let.
async fn strangers(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    let mut all = Vec::new();
    for number in 0..count {
        let mut stream = TcpStream::connect(address).await.expect("the kernel's queue has room");
        if number % 2 == 0 {
            // It may have given way already.
            let _ = stream.write_all(b"NYHS").await;
        }
        all.push(stream);
    }
    all
}

async fn clients_get_in(victim: &Victim) {
    let mut slowest = Duration::ZERO;
    for _ in 0..20 {
        let began = Instant::now();
        let client = Connection::connect(victim.address, &config(Role::Client)).await.expect("connect");
        client.call(Request::new(ECHO, "here")).await.expect("reply");
        slowest = slowest.max(began.elapsed());
    }
    assert!(slowest < Duration::from_secs(3), "{slowest:?}");
}

#[tokio::test]
async fn a_thousand_half_open_connections_keep_nobody_out() {
    limit_descriptors(4096);
    let victim = Victim::start(4096);
    let before = victim.descriptors();
    let held = strangers(victim.address, 1500).await;
    clients_get_in(&victim).await;
    let more = victim.descriptors() - before;
    assert!(more <= ServerOptions::default().max_unauthenticated + 40, "{more} descriptors for strangers");
    drop(held);
}

#[tokio::test]
async fn a_service_without_descriptors_lets_strangers_go_first() {
    limit_descriptors(4096);
    let victim = Victim::start(100);
    let held = strangers(victim.address, 300).await;
    clients_get_in(&victim).await;
    drop(held);
}
