// SPDX-License-Identifier: Apache-2.0

//! Watching the addresses of other servers: what counts as an answer, what is reported, and that it ends.

use crate::common::{config, start};
use nyala_transport::links::Links;
use nyala_transport::{Role, ServerOptions};
use nyala_wire::NodeId;
use nyala_wire::map::{ClusterMap, Node, Reachability, Role as NodeRole};
use parking_lot::Mutex;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

fn map(addresses: &[SocketAddr]) -> Arc<ClusterMap> {
    let node = |(id, address): (u32, &SocketAddr)| Node {
        id: NodeId(id),
        alias: format!("n{id}"),
        role: NodeRole::Storage,
        addresses: vec![*address],
        reachability: Reachability::Online,
    };
    Arc::new(ClusterMap { nodes: (2..).zip(addresses).map(node).collect(), ..ClusterMap::default() })
}

fn watch(shown: &Arc<Mutex<Arc<ClusterMap>>>) -> Links {
    let shown = shown.clone();
    Links::start(config(Role::Meta), NodeId(1), move || shown.lock().clone())
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(30), "not in time: {what}");
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn who_answers_refuses_or_only_listens_is_there() {
    let server = start(config(Role::Storage), ServerOptions::default());
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let refuses = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let shown = Arc::new(Mutex::new(map(&[server.address, silent.local_addr().unwrap(), refuses])));
    let links = watch(&shown);
    until("all answer", || links.figures().len() == 3 && links.figures().iter().all(|link| link.answers)).await;
    // sleeps: the figures of so long
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (connected, calls) = (server.seen.connected.load(Ordering::SeqCst), server.seen.calls.load(Ordering::SeqCst));
    assert_eq!((connected, calls), (1, 0), "one connection is used all the time, and services are not bothered");
    drop(server);
    // sleeps: nobody answers for so long
    tokio::time::sleep(Duration::from_secs(3)).await;
    let report = links.report();
    assert_eq!((report.worst, report.more, report.watched), (vec![], 0, 3), "a service that ended is no lost way");
    *shown.lock() = map(&[]);
    until("nothing is watched any more", || links.report().watched == 0).await;
}

#[tokio::test]
async fn an_address_that_takes_no_packets_is_reported_until_it_does() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // One connection that nobody accepts, and the kernel lets no more packets in.
    rustix::net::listen(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    let shown = Arc::new(Mutex::new(map(&[address])));
    let links = watch(&shown);
    until("it is silent", || links.report().worst.iter().any(|link| link.silent_ms.is_some_and(|ms| ms > 500))).await;
    let [link] = links.report().worst[..] else { panic!("one address") };
    assert_eq!((link.node, link.address, link.breaks), (NodeId(2), address, 1));
    assert!(links.figures().iter().all(|link| !link.answers && link.breaks == 1));
    listener.set_nonblocking(true).unwrap();
    let mut taken = Vec::new();
    until("it answers again", || {
        taken.extend(listener.accept());
        links.report().worst.iter().all(|link| link.silent_ms.is_none())
    })
    .await;
    assert!(links.report().worst[0].last_break_ms.is_some_and(|ago| ago < 60_000), "the break is remembered");
}
