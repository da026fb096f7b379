// SPDX-License-Identifier: Apache-2.0

//! A node that was away too long gets a snapshot instead of entries that are gone, and is a full member afterwards.

use crate::load::Load;
use crate::nodes::Nodes;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_was_away_too_long_gets_a_snapshot() {
    let mut nodes = Nodes::with(3).await;
    let leader = nodes.leader().await;
    let away = *nodes.running.keys().find(|place| **place != leader).unwrap();
    let before = nodes.list().await.iter().find(|node| nodes.place_of(node) == away).unwrap().log;
    nodes.kill(away);
    let load = Load::start(&nodes).await;
    // Far more than a snapshot's interval of 50 and the 10 entries that are kept behind it.
    while nodes.list().await.iter().filter_map(|node| node.log).max() < before.map(|at| at + 200) {
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    nodes.start(away);
    nodes.await_voters(3).await;
    let caught_up = async {
        loop {
            let list = nodes.list().await;
            let last = list.iter().filter_map(|node| node.log).max();
            let behind = list.iter().find(|node| nodes.place_of(node) == away).and_then(|node| node.log);
            if behind > before && behind.map(|at| at + 20) > last {
                return;
            }
            // sleeps: between two looks
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), caught_up).await.expect("it catches up");
    // The majority is now the one that was away and one other.
    let leader = nodes.leader().await;
    let other = if leader == away { *nodes.running.keys().find(|p| **p != away).unwrap() } else { leader };
    nodes.kill(other);
    assert_ne!(nodes.leader().await, other);
    let seen = load.finish(&nodes).await;
    assert!(seen.version.0 > 100, "{seen:?}");
}
