// SPDX-License-Identifier: Apache-2.0

//! Replies that rest on something which is not safe yet stay until it is, and wait for it together.

use crate::common::{ECHO, config};
use nyala_transport::{Connection, Frame, PeerInfo, Reply, Request, Role, Server, ServerOptions, Service};
use nyala_wire::frame::MAX_PAYLOAD;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::{JoinSet, LocalSet};

const REQUESTS: u64 = 100;

/// Says in each reply how many changes it has made; they are safe only when somebody settled them.
#[derive(Default)]
struct Ledger {
    made: Cell<u64>,
    safe: Cell<u64>,
    settled: Cell<u64>,
    fails: bool,
}

impl Service for Ledger {
    async fn call(&self, _peer: &PeerInfo, request: Frame) -> Reply {
        if request.body[..] == *b"big" {
            return Reply::ok("").with_payload(vec![vec![0; MAX_PAYLOAD].into()]);
        }
        self.made.set(self.made.get() + 1);
        Reply::ok(self.made.get().to_le_bytes().to_vec())
    }

    fn rests_on(&self) -> u64 {
        self.made.get()
    }

    fn safe_up_to(&self) -> u64 {
        self.safe.get()
    }

    async fn settle(&self, number: u64) -> bool {
        // sleeps: the pause is what is played
        tokio::time::sleep(Duration::from_millis(20)).await;
        self.settled.set(self.settled.get() + 1);
        self.safe.set(self.safe.get().max(number));
        !self.fails
    }
}

async fn connected(service: Rc<Ledger>) -> Connection {
    let server = Server::bind(&[([127, 0, 0, 1], 0).into()], config(Role::Meta), ServerOptions::default()).unwrap();
    let address = server.local_addresses()[0];
    tokio::task::spawn_local(server.serve(service));
    Connection::connect(address, &config(Role::Client)).await.unwrap()
}

#[tokio::test]
async fn replies_wait_until_what_they_rest_on_is_safe_and_do_so_together() {
    let ledger = Rc::new(Ledger::default());
    let test = async {
        let connection = connected(ledger.clone()).await;
        let mut calls = JoinSet::new();
        for _ in 0..REQUESTS {
            let (connection, ledger) = (connection.clone(), ledger.clone());
            calls.spawn_local(async move {
                let reply = connection.call(Request::new(ECHO, "")).await.unwrap();
                let made = u64::from_le_bytes(reply.body[..].try_into().unwrap());
                assert!(made <= ledger.safe.get(), "told of {made}, safe is {}", ledger.safe.get());
            });
        }
        while let Some(call) = calls.join_next().await {
            call.unwrap();
        }
    };
    LocalSet::new().run_until(test).await;
    assert_eq!(ledger.made.get(), REQUESTS);
    assert!(ledger.settled.get() < REQUESTS / 4, "{} waits", ledger.settled.get());
}

/// Requests are answered while the writer waits for a socket that is full, and nothing comes after them.
#[tokio::test]
async fn a_reply_that_is_not_safe_yet_is_not_forgotten_behind_a_large_one() {
    let ledger = Rc::new(Ledger::default());
    let test = async {
        let connection = connected(ledger.clone()).await;
        for round in 0..40 {
            let mut calls = JoinSet::new();
            for body in ["big", "big", "big", ""] {
                let connection = connection.clone();
                calls.spawn_local(async move { connection.call(Request::new(ECHO, body)).await.unwrap() });
            }
            let all = async { while calls.join_next().await.transpose().unwrap().is_some() {} };
            tokio::time::timeout(Duration::from_secs(20), all).await.unwrap_or_else(|_| panic!("round {round} hangs"));
        }
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn what_cannot_be_made_safe_is_never_told() {
    let ledger = Rc::new(Ledger { fails: true, ..Ledger::default() });
    let test = async {
        let connection = connected(ledger.clone()).await;
        assert!(connection.call(Request::new(ECHO, "")).await.is_err());
    };
    LocalSet::new().run_until(test).await;
}
