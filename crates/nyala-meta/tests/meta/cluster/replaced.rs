// SPDX-License-Identifier: Apache-2.0

//! A file that a rename replaced: who looked its name up before can open it, for a moment; then it is gone, unless it is
//! open, on whatever servers file and names are.

use crate::cluster::harness::Cluster;
use crate::cluster::{OWNER, rename, two_directories};
use nyala_client::{Client, OpenOptions};
use nyala_wire::{ErrorCode, InodeId};
use std::time::{Duration, Instant};

async fn put(client: &Client, dir: InodeId, name: &str, content: &[u8]) -> InodeId {
    let (attr, handle) = client.create(dir, name.as_bytes(), 0o644, OWNER, true).await.unwrap();
    handle.write(0, content).await.unwrap();
    handle.release().await.unwrap();
    attr.inode
}

/// Waits until the inode is gone.
async fn goes(client: &Client, inode: InodeId) {
    let began = Instant::now();
    while !client.getattr(inode).await.is_err_and(|error| error.is(ErrorCode::STALE)) {
        assert!(began.elapsed() < Duration::from_secs(20), "{inode} stays");
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn who_looked_a_name_up_can_open_what_was_replaced_since() {
    Cluster::start().run_clients(2, |clients| async move {
        let [one, two] = &clients[..] else { panic!("two clients") };
        let (a, b) = two_directories(one).await;
        for (case, dir) in [a, b].into_iter().enumerate() {
            let old = put(one, a, "current", b"old").await;
            let new = put(one, dir, &format!("new{case}"), b"new").await;
            for client in [one, two] {
                assert_eq!(client.lookup(a, b"current").await.unwrap().inode, old);
            }
            one.rename(rename((dir, &format!("new{case}")), (a, "current"))).await.unwrap();
            for client in [one, two] {
                let handle = client.open(old, OpenOptions::default()).await.expect("it was there a moment ago");
                assert_eq!(handle.read(0, 100).await.unwrap().concat(), b"old");
                assert_eq!(client.getattr(old).await.unwrap().nlink, 0);
                handle.release().await.unwrap();
                assert_eq!(client.lookup(a, b"current").await.unwrap().inode, new);
            }
            let open = two.open(old, OpenOptions::default()).await.unwrap();
            // sleeps: longer than a replaced file stays by itself
            tokio::time::sleep(Duration::from_millis(2500)).await;
            assert_eq!(open.read(0, 100).await.unwrap().concat(), b"old", "it is open, though its moment is over");
            open.release().await.unwrap();
            goes(one, old).await;
            goes(two, old).await;
            one.unlink(a, b"current").await.unwrap();
        }
    });
}

#[test]
fn what_was_replaced_goes_though_servers_stop_meanwhile() {
    Cluster::start().run_with_crashes(4, |client| async move {
        let (a, b) = two_directories(&client).await;
        let (mut replaced, began) = (Vec::new(), Instant::now());
        let mut current = put(&client, a, "current", b"0").await;
        while began.elapsed() < Duration::from_secs(5) {
            let from = if replaced.len() % 2 == 0 { a } else { b };
            let next = put(&client, from, "new", b"1").await;
            client.rename(rename((from, "new"), (a, "current"))).await.unwrap();
            replaced.push(std::mem::replace(&mut current, next));
            // sleeps: the pace of the load
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(replaced.len() > 10, "{}", replaced.len());
        for inode in replaced {
            goes(&client, inode).await;
        }
        assert_eq!(client.lookup(a, b"current").await.unwrap().inode, current);
    });
}
