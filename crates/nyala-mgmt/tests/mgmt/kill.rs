// SPDX-License-Identifier: Apache-2.0

//! kill -9 at random moments: whatever was acknowledged is still so afterwards.

use crate::common::*;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Not a test by itself: the process that gets killed. Says where it listens, then serves until it dies.
#[test]
fn victim() {
    let Some(dir) = std::env::var_os("NYALA_TEST_VICTIM_DIR") else { return };
    let mgmt = nyala_mgmt::Mgmt::open(config(std::path::Path::new(&dir))).unwrap();
    println!("\nlistening {}", mgmt.addresses()[0]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(mgmt.run(std::future::pending())).unwrap();
}

#[tokio::test]
async fn acknowledged_registrations_survive_kill_9() {
    let dir = tempfile::tempdir().unwrap();
    let secret = secret_file(dir.path());
    let mut known = BTreeMap::<u8, (nyala_wire::NodeId, Vec<nyala_wire::TargetId>)>::new();
    let mut next = 1_u8;
    for round in 0..5_u64 {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::victim", "--nocapture"])
            .env("NYALA_TEST_VICTIM_DIR", dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
        let mut said = lines.map_while(Result::ok).filter_map(|l| l.strip_prefix("listening ").map(str::to_owned));
        let address = said.next().unwrap().parse().unwrap();
        let client = client(address, &secret);
        // Everything acknowledged in earlier rounds is there.
        let map = map(&client).await;
        for (node, targets) in known.values() {
            assert!(map.node(*node).is_some(), "round {round}: node {node} is lost");
            for target in targets {
                assert_eq!(map.target(*target).map(|t| t.node), Some(*node), "round {round}");
            }
        }
        let killer = tokio::spawn(async move {
            // sleeps: the moment of the kill
            tokio::time::sleep(Duration::from_millis(15 + round * 23)).await;
            victim.kill().unwrap();
            victim.wait().unwrap();
        });
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        while !killer.is_finished() && next < 250 {
            let request = nyala_wire::mgmt::MgmtRequest::Register(storage(next, &[next], port.local_addr().unwrap()));
            match tokio::time::timeout(Duration::from_millis(300), client.call(&request)).await {
                Ok(Ok(nyala_wire::mgmt::MgmtReply::Registered(r))) => {
                    known.insert(next, (r.node, r.targets));
                    next += 1;
                }
                Ok(Ok(other)) => panic!("{other:?}"),
                // Not acknowledged: it may or may not be there, and is asked for again.
                Ok(Err(_)) | Err(_) => {}
            }
        }
        killer.await.unwrap();
    }
    assert!(known.len() >= 5, "only {} registrations were acknowledged", known.len());
}
