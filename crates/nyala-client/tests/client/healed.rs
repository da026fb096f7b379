// SPDX-License-Identifier: Apache-2.0

//! Files that are encoded, or encoded again, without being asked for: what a read found lost, and what had no room.

use crate::encoded::{SIZE, WRITE, all_of, client, coded, content, is_encoded, layout, mirrored, written};
use crate::fake::until::until;
use crate::fake::{Cluster, read, within};
use nyala_client::{Client, OpenOptions};
use nyala_wire::map::{ClusterMap, Consistency, Reachability, Target};
use nyala_wire::{ErrorCode, InodeId, Layout, Pattern, TargetId};
use std::time::Duration;

async fn repaired(client: &Client) {
    until("a file to be made whole", || client.stats().repaired_files > 0).await;
}

fn lose(cluster: &Cluster, inode: InodeId, layout: &Layout, part: usize) {
    let index = layout.indices().nth(part).unwrap();
    cluster.0.lock().storage.chunks.remove(&(layout.targets[part].0, inode, index)).unwrap();
}

fn is_whole(cluster: &Cluster, inode: InodeId, layout: &Layout) -> bool {
    let chunks = &cluster.0.lock().storage.chunks;
    let whole = |(index, target): (u16, &TargetId)| {
        chunks.get(&(target.0, inode, index)).map(Vec::len) == Some(layout.chunk_file_len(index, SIZE as u64) as usize)
    };
    layout.indices().zip(&layout.targets).all(whole)
}

fn target(map: &mut ClusterMap, id: TargetId) -> &mut Target {
    map.targets.iter_mut().find(|target| target.id == id).unwrap()
}

#[tokio::test]
async fn who_reads_around_a_lost_part_has_the_file_made_whole_while_others_read_it() {
    let (cluster, one) = coded(21).await;
    let inode = written(&one, "f", &content(0)).await;
    let before = is_encoded(&one, inode).await;
    lose(&cluster, inode, &before, 1);
    let (two, three) = (client(&cluster).await, client(&cluster).await);
    let open = three.open(inode, OpenOptions::default()).await.unwrap();
    let handle = two.open(inode, OpenOptions::default()).await.unwrap();
    assert!(read(&handle, 0, SIZE).await == content(0));
    assert!(two.stats().rebuilt_reads > 0);
    repaired(&two).await;
    let after = layout(&one, inode).await;
    assert!(after.moves == before.moves + 1 && is_whole(&cluster, inode, &after), "{after:?}");
    assert!(read(&handle, 0, SIZE).await == content(0) && read(&open, 0, SIZE).await == content(0));
    let rebuilt = two.stats().rebuilt_reads;
    assert!(all_of(&two, inode).await.unwrap() == content(0));
    assert_eq!(two.stats().rebuilt_reads, rebuilt, "nothing is lost any more");
    handle.release().await.unwrap();
    open.release().await.unwrap();
    cluster.check();
}

#[tokio::test]
async fn a_target_that_is_only_away_is_waited_for_and_one_that_is_bad_is_not() {
    let (cluster, one) = coded(22).await;
    let inode = written(&one, "f", &content(0)).await;
    let before = is_encoded(&one, inode).await;
    let gone = before.targets[0];
    cluster.0.lock().down = vec![gone.0];
    cluster.change_map(|map| target(map, gone).reachability = Reachability::Offline);
    let two = client(&cluster).await;
    assert!(all_of(&two, inode).await.unwrap() == content(0));
    assert!(two.stats().rebuilt_reads > 0);
    // sleeps: ten times as long as it would take until it is encoded again
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!((two.stats().repaired_files, layout(&one, inode).await.moves), (0, before.moves));
    cluster.change_map(|map| target(map, gone).consistency = Consistency::Bad);
    let three = client(&cluster).await;
    assert!(all_of(&three, inode).await.unwrap() == content(0));
    repaired(&three).await;
    let after = layout(&one, inode).await;
    assert!(!after.targets.contains(&gone) && is_whole(&cluster, inode, &after), "{after:?}");
    cluster.check();
}

#[tokio::test]
async fn what_found_no_room_is_encoded_when_there_is_some() {
    let (cluster, one) = coded(23).await;
    let inode = {
        let handle = crate::fake::make(&one, "f").await;
        mirrored(&handle, &content(0)).await;
        cluster.0.lock().storage.fail_writes = Some(ErrorCode::NO_SPACE);
        let inode = handle.inode();
        handle.release().await.unwrap();
        inode
    };
    // Each try begins with cutting what the one before may have left.
    until("two tries", || cluster.0.lock().storage.cuts > 24).await;
    assert_eq!(layout(&one, inode).await.pattern, Pattern::Mirror);
    cluster.0.lock().storage.fail_writes = None;
    let after = is_encoded(&one, inode).await;
    assert!(is_whole(&cluster, inode, &after) && all_of(&one, inode).await.unwrap() == content(0));
    cluster.check();
}

#[tokio::test]
async fn who_writes_does_not_wait_until_a_file_is_whole() {
    let (cluster, one) = coded(24).await;
    let inode = written(&one, "f", &content(0)).await;
    let before = is_encoded(&one, inode).await;
    lose(&cluster, inode, &before, 0);
    let open = one.open(inode, OpenOptions::default()).await.unwrap();
    cluster.0.lock().write_delay = Duration::from_millis(400);
    assert!(read(&open, 0, SIZE).await == content(0));
    until("its pieces to be on their way", || cluster.0.lock().storage.writes_under_way() > 0).await;
    let writer = within(one.open(inode, WRITE)).await.unwrap();
    assert_eq!(one.stats().repaired_files, 0);
    assert_eq!(layout(&one, inode).await.pattern, Pattern::Mirror);
    cluster.0.lock().write_delay = Duration::ZERO;
    writer.write(70_000, b"changed").await.unwrap();
    writer.release().await.unwrap();
    let mut now = content(0);
    now[70_000..70_007].copy_from_slice(b"changed");
    assert!(read(&open, 0, SIZE).await == now);
    open.release().await.unwrap();
    let after = is_encoded(&one, inode).await;
    assert!(is_whole(&cluster, inode, &after) && all_of(&one, inode).await.unwrap() == now);
    cluster.check();
}
