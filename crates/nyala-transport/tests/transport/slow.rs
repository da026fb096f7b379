// SPDX-License-Identifier: Apache-2.0

//! Requests that take too long are logged with their parts, and counted; others are not.

use crate::common::{ECHO, config};
use nyala_transport::trace::{self, LINES, SlowOperations};
use nyala_transport::{Connection, Frame, PeerInfo, Reply, Request, Role, Server, ServerOptions, Service};
use nyala_wire::InodeId;
use std::cell::Cell;
use std::io::Write;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::{JoinSet, LocalSet};
use tracing_subscriber::fmt::MakeWriter;

/// So long that a busy machine does not make other requests slow.
const SLOW: Duration = Duration::from_millis(200);
/// Longer than that, also by a clock that ticks every ten milliseconds.
const LONG: Duration = Duration::from_millis(230);

/// Does what the body says.
#[derive(Default)]
struct Disk {
    made: Cell<u64>,
    safe: Cell<u64>,
}

impl Service for Disk {
    async fn call(&self, _peer: &PeerInfo, request: Frame) -> Reply {
        match &request.body[..] {
            b"disk" => {
                trace::operation("write");
                trace::inode(InodeId(0x0001_0000_0000_0007));
                // sleeps: the pause is what is played
                trace::part("disk", tokio::time::sleep(LONG)).await;
            }
            // sleeps: the pause is what is played
            b"blocked" => trace::part("disk", async { std::thread::sleep(LONG) }).await,
            b"poll" => {
                trace::waits_on_purpose();
                // sleeps: the pause is what is played
                tokio::time::sleep(LONG).await;
            }
            b"change" => self.made.set(self.made.get() + 1),
            _ => {}
        }
        Reply::ok("")
    }

    fn rests_on(&self) -> u64 {
        self.made.get()
    }

    fn safe_up_to(&self) -> u64 {
        self.safe.get()
    }

    async fn settle(&self, number: u64) -> bool {
        // sleeps: the pause is what is played
        tokio::time::sleep(LONG).await;
        self.safe.set(number);
        true
    }
}

/// Lines of the log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

impl Log {
    fn slow(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().filter(|line| line.contains("slow operation")).map(str::to_owned).collect()
    }
}

/// Runs a client and a server that logs to the result.
fn logged<F: Future<Output = ()>>(slow: &SlowOperations, client: impl FnOnce(Connection) -> F) -> Vec<String> {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).finish();
    let options = ServerOptions { slow: slow.clone(), ..ServerOptions::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let run = async {
        let server = Server::bind(&[([127, 0, 0, 1], 0).into()], config(Role::Meta), options).unwrap();
        let address = server.local_addresses()[0];
        tokio::task::spawn_local(server.serve(Rc::new(Disk::default())));
        client(Connection::connect(address, &config(Role::Client)).await.unwrap()).await;
    };
    tracing::subscriber::with_default(subscriber, || LocalSet::new().block_on(&runtime, run));
    log.slow()
}

async fn ask(connection: &Connection, what: &'static str) {
    connection.call(Request::new(ECHO, what)).await.unwrap();
}

#[test]
fn a_slow_operation_is_one_line_with_its_parts() {
    let slow = SlowOperations::new(SLOW);
    let lines = logged(&slow, |connection| async move {
        for what in ["", "poll", "disk", "", "blocked", "change"] {
            ask(&connection, what).await;
        }
    });
    assert_eq!(lines.len(), 3, "{lines:#?}");
    for (line, words) in [
        (&lines[0], ["operation=write", "inode=0001-000000000007", "longest=\"disk\"", "parts=disk="]),
        (&lines[1], ["operation=message_0x0001", "client=127.0.0.1:", "longest=\"disk\"", "parts=disk="]),
        (&lines[2], ["operation=message_0x0001", "role=Client", "longest=\"log\"", "log="]),
    ] {
        assert!(words.iter().all(|word| line.contains(word)), "{words:?}: {line}");
        assert!(line.contains("WARN") && line.contains("left_out=0"), "{line}");
    }
    assert_eq!(slow.counts(), [("disk", 2), ("log", 1)]);
    assert_eq!(slow.counters(), [("slow.operations".to_owned(), 3), ("slow.lately".to_owned(), 3)]);
}

#[test]
fn nothing_is_slow_where_that_is_turned_off() {
    let slow = SlowOperations::new(Duration::ZERO);
    let lines = logged(&slow, |connection| async move { ask(&connection, "disk").await });
    assert_eq!((lines, slow.lately()), (Vec::new(), 0));
}

#[test]
fn many_at_once_are_counted_and_few_of_them_logged() {
    let slow = SlowOperations::new(SLOW);
    let many = 100;
    let lines = logged(&slow, |connection| async move {
        let mut calls = JoinSet::new();
        for _ in 0..many {
            let connection = connection.clone();
            calls.spawn_local(async move { ask(&connection, "disk").await });
        }
        while calls.join_next().await.transpose().unwrap().is_some() {}
    });
    assert_eq!(slow.lately(), many);
    // They may fall into two seconds.
    assert!((LINES as usize..=2 * LINES as usize).contains(&lines.len()), "{}", lines.len());
}

/// What is behind a request that blocks its thread was there when that one was.
#[test]
fn the_time_before_a_request_is_taken_up_is_its_own_part() {
    let slow = SlowOperations::new(SLOW);
    let lines = logged(&slow, |connection| async move {
        let (first, second) = (ask(&connection, "blocked"), ask(&connection, ""));
        tokio::join!(first, second);
    });
    assert_eq!(slow.counts(), [("disk", 1), ("queue", 1)], "{lines:#?}");
}

#[test]
fn whoever_has_gone_meanwhile_is_named_as_well() {
    let slow = SlowOperations::new(SLOW);
    let seen = slow.clone();
    let lines = logged(&slow, |connection| async move {
        let request = Request::new(ECHO, "disk").with_timeout(Duration::from_millis(5));
        connection.call(request).await.unwrap_err();
        drop(connection);
        for _ in 0..500 {
            if seen.lately() > 0 {
                return;
            }
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    assert_eq!(lines.len(), 1, "{lines:#?}");
}
