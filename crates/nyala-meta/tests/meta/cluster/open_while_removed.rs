// SPDX-License-Identifier: Apache-2.0

//! One client makes and removes a name all the time and opens it all the time: what it opened stays until it is closed.

use crate::cluster::harness::Cluster;
use crate::cluster::{OWNER, two_directories};
use nyala_client::{Client, OpenOptions, Result};
use nyala_wire::meta::SetAttr;
use nyala_wire::{ErrorCode, InodeId};
use std::time::{Duration, Instant};

const LASTS: Duration = Duration::from_secs(3);

fn is_gone(error: &nyala_client::Error) -> bool {
    error.is(ErrorCode::NOT_FOUND) || error.is(ErrorCode::STALE)
}

/// Looks at the name, opens what it finds, and uses that. Whether something was found.
async fn use_once(client: &Client, dir: InodeId, number: u32) -> Result<bool> {
    let inode = match client.lookup(dir, b"name").await {
        Ok(attr) => attr.inode,
        Err(error) if is_gone(&error) => return Ok(false),
        Err(error) => return Err(error),
    };
    let write = OpenOptions { write: true, ..OpenOptions::default() };
    let handle = match client.open(inode, write).await {
        Ok(handle) => handle,
        Err(error) if is_gone(&error) => return Ok(false),
        Err(error) => return Err(error),
    };
    if number.is_multiple_of(3) {
        tokio::task::yield_now().await;
    }
    client.getattr(inode).await?;
    client.setattr(inode, SetAttr { size: Some(0), ..SetAttr::default() }).await?;
    handle.write(0, b"content").await?;
    handle.fsync(false).await?;
    assert_eq!(handle.read(0, 100).await?.concat(), b"content");
    handle.release().await?;
    Ok(true)
}

/// How often something was opened.
async fn open_and_remove(client: &Client, dir: InodeId) -> u32 {
    let end = Instant::now() + LASTS;
    let remove = async {
        while Instant::now() < end {
            let (_, handle) = client.create(dir, b"name", 0o644, OWNER, false).await.unwrap();
            handle.release().await.unwrap();
            client.unlink(dir, b"name").await.unwrap();
        }
    };
    let uses = |first: u32| async move {
        let mut found = 0;
        for number in first.. {
            found += u32::from(use_once(client, dir, number).await.expect("what is open stays"));
            if Instant::now() >= end {
                return found;
            }
            tokio::task::yield_now().await;
        }
        found
    };
    let ((), one, two) = tokio::join!(remove, uses(0), uses(1));
    one + two
}

#[test]
fn what_was_opened_stays_though_its_name_is_removed_all_the_time() {
    Cluster::start().run(|client| async move {
        let (dir, _) = two_directories(&client).await;
        let used = open_and_remove(&client, dir).await;
        assert!(used > 50, "{used} opens");
    });
}
