// SPDX-License-Identifier: Apache-2.0

//! Moves of a file's data that meet other moves and programs of the same client.

use crate::encode_meets::SLOW;
use crate::encoded::{SIZE, WRITE, all_of, content};
use crate::fake::until::until;
use crate::fake::{Cluster, ROOT, make, within};
use nyala_client::types::Destination;
use nyala_client::{Client, OpenOptions};
use nyala_wire::{ErrorCode, InodeId, Layout, Pattern, PoolId, StripePattern};
use std::time::Duration;

fn over(num_targets: u16) -> Destination {
    let pattern = Pattern::Raid0;
    let (chunk_bytes, pool) = (65_536, PoolId(1));
    let pattern = StripePattern { pattern, chunk_bytes, num_targets, pool, inline_bytes: 0, code: None };
    Destination { pattern, avoid: Vec::new() }
}

async fn made(cluster: &Cluster) -> (Client, InodeId) {
    let client = cluster.client().await;
    let file = make(&client, "file").await;
    file.write(0, &content(1)).await.unwrap();
    file.fsync(false).await.unwrap();
    let inode = file.inode();
    file.release().await.unwrap();
    (client, inode)
}

/// Its data is on its way to so many other targets.
async fn moving(
    cluster: &Cluster,
    client: &Client,
    inode: InodeId,
    to: u16,
) -> tokio::task::JoinHandle<nyala_client::Result<(u64, Layout)>> {
    cluster.0.lock().write_delay = SLOW;
    let client = client.clone();
    let moved = tokio::spawn(async move { client.move_data(inode, &over(to), |_| {}).await });
    until("the copy to be on its way", || cluster.0.lock().storage.writes_under_way() > 0).await;
    moved
}

#[tokio::test]
async fn of_two_moves_at_once_one_follows_the_other() {
    let cluster = Cluster::mirrored(121, 8);
    let (client, inode) = made(&cluster).await;
    let first = moving(&cluster, &client, inode, 3).await;
    let to = over(2);
    let second = client.move_data(inode, &to, |_| {});
    cluster.0.lock().write_delay = Duration::ZERO;
    let (first, second) = tokio::join!(within(first), within(second));
    assert_eq!(first.unwrap().unwrap().1.targets.len(), 3);
    let (_, layout) = second.unwrap();
    assert_eq!(layout.targets.len(), 2);
    assert!(all_of(&client, inode).await.unwrap() == content(1));
    assert_eq!(client.entry_info(inode).await.unwrap().layout.unwrap(), layout);
    cluster.check();
}

#[tokio::test]
async fn a_move_gives_way_to_a_program_here_and_nothing_that_it_writes_is_lost() {
    let cluster = Cluster::mirrored(122, 8);
    let (client, inode) = made(&cluster).await;
    let moved = moving(&cluster, &client, inode, 3).await;
    let file = within(client.open(inode, WRITE)).await.unwrap();
    let refused = within(moved).await.unwrap().unwrap_err();
    assert!(refused.is(ErrorCode::AGAIN), "{refused}");
    cluster.0.lock().write_delay = Duration::ZERO;
    file.write(100_000, &[9; 50_000]).await.unwrap();
    let again = client.move_data(inode, &over(3), |_| {}).await.unwrap_err();
    assert!(again.is(ErrorCode::AGAIN), "it is open: {again}");
    file.release().await.unwrap();
    client.move_data(inode, &over(3), |_| {}).await.unwrap();
    let mut expected = content(1);
    expected[100_000..150_000].fill(9);
    assert!(all_of(&client, inode).await.unwrap() == expected);
    cluster.check();
}

#[tokio::test]
async fn a_move_gives_way_to_who_sets_the_size_and_to_readers() {
    let cluster = Cluster::mirrored(123, 8);
    let (client, inode) = made(&cluster).await;
    let moved = moving(&cluster, &client, inode, 3).await;
    let set = nyala_wire::meta::SetAttr { size: Some(70_000), ..Default::default() };
    within(client.setattr(inode, set)).await.unwrap();
    assert!(within(moved).await.unwrap().unwrap_err().is(ErrorCode::AGAIN));
    let moved = moving(&cluster, &client, inode, 3).await;
    let reader = within(client.open(inode, OpenOptions::default())).await.unwrap();
    assert!(within(reader.read(0, SIZE)).await.unwrap().concat() == content(1)[..70_000]);
    assert!(within(moved).await.unwrap().unwrap_err().is(ErrorCode::AGAIN));
    reader.release().await.unwrap();
    assert_eq!(client.lookup(ROOT, b"file").await.unwrap().size, 70_000);
    cluster.check();
}
