// SPDX-License-Identifier: Apache-2.0

//! New files that are written in whole stripes of their erasure code from the start.

use crate::encoded::{CODE, WRITE, all_of, client, coded, layout};
use crate::fake::until::until;
use crate::fake::{Cluster, ROOT, make, read, within};
use nyala_client::{Client, FileHandle, OpenOptions};
use nyala_wire::meta::SetAttr;
use nyala_wire::{ErrorCode, InodeId, Layout, Pattern};

/// Four chunks of 64 KiB.
const STRIPE: usize = 4 << 16;

fn bytes(from: usize, len: usize) -> Vec<u8> {
    (from..from + len).map(|at| ((at * 7) ^ (at >> 9)) as u8 | 1).collect()
}

async fn fill(handle: &FileHandle, from: usize, len: usize) {
    for at in (from..from + len).step_by(50_000) {
        let data = bytes(at, 50_000.min(from + len - at));
        within(handle.write(at as u64, &data)).await.unwrap();
    }
}

/// Every byte is right, with whatever two parts missing.
async fn holds(cluster: &Cluster, inode: InodeId, layout: &Layout, expected: &[u8]) {
    assert_eq!(layout.encoded(), Some(CODE));
    for (index, target) in layout.indices().zip(&layout.targets) {
        let chunk = cluster.0.lock().storage.chunks[&(target.0, inode, index)].len() as u64;
        assert_eq!(chunk, layout.chunk_file_len(index, expected.len() as u64), "chunk file {index}");
    }
    for pair in [[0, 1], [1, 5], [2, 3], [0, 4], [4, 5]] {
        cluster.0.lock().storage.lost = pair.map(|at: usize| layout.targets[at].0).into();
        assert!(whole(&client(cluster).await, inode, expected.len()).await == expected, "without {pair:?}");
    }
    cluster.0.lock().storage.lost.clear();
}

async fn whole(client: &Client, inode: InodeId, len: usize) -> Vec<u8> {
    let handle = within(client.open(inode, OpenOptions::default())).await.unwrap();
    let data = within(handle.read(0, 2 * len)).await.unwrap().concat();
    handle.release().await.unwrap();
    data
}

fn mirrored_writes(cluster: &Cluster, inode: InodeId) -> usize {
    let inner = cluster.0.lock();
    inner
        .storage
        .chunks
        .iter()
        .filter(|((_, of, index), data)| *of == inode && *index < 1024 && !data.is_empty())
        .count()
}

#[tokio::test]
async fn a_file_is_encoded_when_it_is_closed_and_was_never_mirrored() {
    for len in [STRIPE, STRIPE + 1, 3 * STRIPE - 5000, 9 * STRIPE + 70_000] {
        let (cluster, one) = coded(len as u64).await;
        let handle = make(&one, "f").await;
        let inode = handle.inode();
        fill(&handle, 0, len).await;
        assert!(read(&handle, 0, len).await == bytes(0, len), "who writes it reads it");
        within(handle.release()).await.unwrap();
        let now = layout(&one, inode).await;
        assert_eq!(now.moves, 1);
        holds(&cluster, inode, &now, &bytes(0, len)).await;
        assert_eq!(mirrored_writes(&cluster, inode), 0);
        let stored: usize = cluster.0.lock().storage.chunks.values().map(Vec::len).sum();
        assert!(stored <= len * 6 / 4 + 4 * (1 << 16), "{stored} of {len}");
        cluster.check();
    }
}

#[tokio::test]
async fn less_than_a_stripe_is_mirrored_first() {
    let (cluster, one) = coded(1).await;
    let handle = make(&one, "f").await;
    fill(&handle, 0, STRIPE - 1).await;
    handle.fsync(false).await.unwrap();
    assert_eq!(layout(&one, handle.inode()).await.pattern, Pattern::Mirror);
    fill(&handle, STRIPE - 1, 2 * STRIPE).await;
    handle.fsync(false).await.unwrap();
    assert_eq!(layout(&one, handle.inode()).await.pattern, Pattern::Mirror, "it has data there");
    handle.release().await.unwrap();
    cluster.check();
}

#[tokio::test]
async fn whole_stripes_go_on_behind_a_sync_and_half_of_one_is_moved_back() {
    let (cluster, one) = coded(2).await;
    let handle = make(&one, "f").await;
    let inode = handle.inode();
    fill(&handle, 0, 2 * STRIPE).await;
    within(handle.fsync(false)).await.unwrap();
    let first = layout(&one, inode).await;
    assert_eq!((first.encoded(), one.entry_info(inode).await.unwrap().attr.size), (Some(CODE), 2 * STRIPE as u64));
    fill(&handle, 2 * STRIPE, 2 * STRIPE + 100).await;
    within(handle.fsync(false)).await.unwrap();
    assert_eq!(layout(&one, inode).await, first, "it grew");
    holds(&cluster, inode, &first, &bytes(0, 4 * STRIPE + 100)).await;
    // A stripe that is there does not change.
    fill(&handle, 4 * STRIPE + 100, 1000).await;
    within(handle.fsync(false)).await.unwrap();
    let back = layout(&one, inode).await;
    assert_eq!((back.pattern, back.moves), (Pattern::Mirror, 2));
    assert!(whole(&client(&cluster).await, inode, 4 * STRIPE + 1100).await == bytes(0, 4 * STRIPE + 1100));
    handle.release().await.unwrap();
    cluster.check();
}

#[tokio::test]
async fn who_changes_what_went_out_has_it_moved_back() {
    let (cluster, one) = coded(3).await;
    for (name, sync) in [("a", false), ("b", true)] {
        let handle = make(&one, name).await;
        let inode = handle.inode();
        fill(&handle, 0, 3 * STRIPE).await;
        if sync {
            handle.fsync(false).await.unwrap();
        }
        within(handle.write(100, b"changed")).await.unwrap();
        let mut now = bytes(0, 3 * STRIPE);
        now[100..107].copy_from_slice(b"changed");
        assert!(read(&handle, 0, 3 * STRIPE).await == now);
        within(handle.fsync(false)).await.unwrap();
        assert_eq!(layout(&one, inode).await.pattern, Pattern::Mirror);
        let set = SetAttr { size: Some(70_000), ..SetAttr::default() };
        within(one.setattr(inode, set)).await.unwrap();
        assert!(whole(&client(&cluster).await, inode, STRIPE).await == now[..70_000]);
        handle.release().await.unwrap();
    }
    cluster.check();
}

#[tokio::test]
async fn sizes_holes_and_reservations_of_what_is_written_in_stripes() {
    let (cluster, one) = coded(4).await;
    let handle = make(&one, "size").await;
    fill(&handle, 0, 2 * STRIPE + 10).await;
    let set = |size| SetAttr { size: Some(size), ..SetAttr::default() };
    within(one.setattr(handle.inode(), set(STRIPE as u64 + 7))).await.unwrap();
    assert!(read(&handle, 0, 3 * STRIPE).await == bytes(0, STRIPE + 7));
    handle.release().await.unwrap();
    let handle = make(&one, "nothing").await;
    fill(&handle, 0, 2 * STRIPE + 10).await;
    within(one.setattr(handle.inode(), set(0))).await.unwrap();
    fill(&handle, 0, 1000).await;
    assert!(read(&handle, 0, STRIPE).await == bytes(0, 1000));
    handle.release().await.unwrap();
    let handle = make(&one, "reserved").await;
    fill(&handle, 0, 2 * STRIPE).await;
    within(handle.fallocate(1, 0, 5 * STRIPE as u64)).await.unwrap();
    assert_eq!(layout(&one, handle.inode()).await.pattern, Pattern::Mirror);
    assert!(read(&handle, 0, 2 * STRIPE).await == bytes(0, 2 * STRIPE));
    handle.release().await.unwrap();
    let handle = make(&one, "hole").await;
    fill(&handle, 0, STRIPE).await;
    fill(&handle, 7 * STRIPE + 70_000, 30_000).await;
    let mut expected = bytes(0, STRIPE);
    expected.resize(7 * STRIPE + 70_000, 0);
    expected.extend(bytes(7 * STRIPE + 70_000, 30_000));
    assert!(read(&handle, 0, expected.len()).await == expected);
    within(handle.fsync(false)).await.unwrap();
    let now = layout(&one, handle.inode()).await;
    holds(&cluster, handle.inode(), &now, &expected).await;
    handle.release().await.unwrap();
    cluster.check();
}

#[tokio::test]
async fn appends_go_on_in_stripes_and_behind_the_end_of_one_that_is_closed() {
    let (cluster, one) = coded(5).await;
    let made = make(&one, "f").await;
    let inode = made.inode();
    let appending = OpenOptions { append: true, ..WRITE };
    let handle = within(one.open(inode, appending)).await.unwrap();
    let other = within(one.open(inode, appending)).await.unwrap();
    let mut end = 0;
    for (number, len) in [(0, 200_000), (1, 200_000), (0, 124_288), (1, 77), (0, 100_000)] {
        let by = if number == 0 { &handle } else { &other };
        assert_eq!(within(by.append(&bytes(end, len))).await.unwrap(), end as u64);
        end += len;
        if end == 2 * STRIPE || len == 77 {
            within(by.fsync(false)).await.unwrap();
            assert_eq!(layout(&one, inode).await.encoded(), Some(CODE), "{end}");
        }
    }
    assert!(whole(&client(&cluster).await, inode, end).await == bytes(0, end));
    for handle in [made, handle, other] {
        handle.release().await.unwrap();
    }
    cluster.check();
}

#[tokio::test]
async fn others_see_what_is_there_when_they_ask_and_go_on() {
    let (cluster, one) = coded(6).await;
    let two = client(&cluster).await;
    let handle = make(&one, "f").await;
    let inode = handle.inode();
    fill(&handle, 0, 2 * STRIPE + 500).await;
    assert!(whole(&two, inode, 2 * STRIPE + 500).await == bytes(0, 2 * STRIPE + 500));
    assert_eq!(layout(&two, inode).await.encoded(), Some(CODE), "it is not written to at the moment");
    let other = within(two.open(inode, WRITE)).await.unwrap();
    within(other.write(5, b"two")).await.unwrap();
    within(handle.write(2 * STRIPE as u64 + 500, b"one")).await.unwrap();
    let mut expected = bytes(0, 2 * STRIPE + 500);
    expected[5..8].copy_from_slice(b"two");
    expected.extend(b"one");
    assert!(whole(&client(&cluster).await, inode, 3 * STRIPE).await == expected);
    within(other.release()).await.unwrap();
    within(handle.release()).await.unwrap();
    cluster.check();
}

#[tokio::test]
async fn what_is_whole_is_known_to_its_server_after_a_while_and_more_comes_behind() {
    let (cluster, one) = coded(11).await;
    let handle = make(&one, "f").await;
    let inode = handle.inode();
    fill(&handle, 0, 2 * STRIPE + 500).await;
    let metas = cluster.0.lock().metas.clone();
    until("its server to hear of two stripes", || metas.stored(inode).unwrap().record.size == 2 * STRIPE as u64).await;
    fill(&handle, 2 * STRIPE + 500, STRIPE).await;
    assert!(read(&handle, 0, 4 * STRIPE).await == bytes(0, 3 * STRIPE + 500));
    within(handle.release()).await.unwrap();
    let now = layout(&one, inode).await;
    assert_eq!(now.moves, 1, "it went on");
    holds(&cluster, inode, &now, &bytes(0, 3 * STRIPE + 500)).await;
    cluster.check();
}

fn offline(cluster: &Cluster, targets: &[nyala_wire::TargetId]) {
    let map = &mut cluster.0.lock().map;
    map.version.0 += 1;
    for target in map.targets.iter_mut().filter(|target| targets.contains(&target.id)) {
        target.reachability = nyala_wire::map::Reachability::Offline;
    }
}

/// Where the stripes of a file go that no server has heard of.
fn going_to(cluster: &Cluster, inode: InodeId) -> Vec<nyala_wire::TargetId> {
    let inner = cluster.0.lock();
    let parts = inner.storage.chunks.keys().filter(|(_, of, index)| *of == inode && index / 1024 == 1);
    let mut parts: Vec<(u16, u16)> = parts.map(|(target, _, index)| (*index, *target)).collect();
    parts.sort_unstable();
    parts.into_iter().map(|(_, target)| nyala_wire::TargetId(target)).collect()
}

#[tokio::test]
async fn a_target_that_goes_away_costs_nothing_but_the_way_back() {
    let (cluster, one) = coded(7).await;
    let handle = make(&one, "f").await;
    let inode = handle.inode();
    fill(&handle, 0, 3 * STRIPE).await;
    until("three stripes to be there", || cluster.0.lock().storage.writes >= 18).await;
    // Not those that their mirror groups are written through.
    let away: Vec<_> = going_to(&cluster, inode).into_iter().filter(|target| target.0 % 2 == 0).take(2).collect();
    cluster.0.lock().down = away.iter().map(|target| target.0).collect();
    offline(&cluster, &away);
    fill(&handle, 3 * STRIPE, 2 * STRIPE + 99).await;
    assert!(read(&handle, 0, 6 * STRIPE).await == bytes(0, 5 * STRIPE + 99));
    within(handle.fsync(false)).await.unwrap();
    let now = layout(&one, inode).await;
    assert_eq!((now.pattern, now.moves), (Pattern::Mirror, 2));
    assert!(whole(&client(&cluster).await, inode, 6 * STRIPE).await == bytes(0, 5 * STRIPE + 99));
    handle.release().await.unwrap();
    cluster.check();
}

#[tokio::test]
async fn what_targets_lost_before_it_was_synced_is_computed_or_said() {
    for lost in [1, 2, 6] {
        let (cluster, one) = coded(8).await;
        let handle = make(&one, "f").await;
        let inode = handle.inode();
        fill(&handle, 0, 3 * STRIPE).await;
        until("three stripes to be there", || cluster.0.lock().storage.writes >= 18).await;
        let parts = going_to(&cluster, inode);
        cluster.0.lock().storage.lose_power_of(&parts[..lost]);
        let synced = within(handle.fsync(false)).await;
        if lost <= 2 {
            synced.unwrap();
            assert!(whole(&client(&cluster).await, inode, 3 * STRIPE).await == bytes(0, 3 * STRIPE), "{lost} lost");
        } else {
            assert!(synced.is_err(), "nobody has it any more");
        }
        // why ignored: it says once more what was lost.
        let _ = within(handle.release()).await;
        cluster.check();
    }
}

#[tokio::test]
async fn a_server_that_does_not_take_it_and_a_full_target_have_it_mirrored() {
    let (cluster, one) = coded(9).await;
    let handle = make(&one, "f").await;
    let inode = handle.inode();
    fill(&handle, 0, 2 * STRIPE).await;
    until("two stripes to be there", || cluster.0.lock().storage.writes >= 12).await;
    cluster.0.lock().accidents.takes_nothing_encoded = true;
    within(handle.fsync(false)).await.unwrap();
    assert_eq!(layout(&one, inode).await.pattern, Pattern::Mirror);
    assert!(whole(&client(&cluster).await, inode, 2 * STRIPE).await == bytes(0, 2 * STRIPE));
    handle.release().await.unwrap();
    let handle = make(&one, "g").await;
    fill(&handle, 0, 2 * STRIPE).await;
    until("its stripes to be there", || going_to(&cluster, handle.inode()).len() == 6).await;
    cluster.0.lock().storage.fail_encoded = Some(ErrorCode::NO_SPACE);
    fill(&handle, 2 * STRIPE, 2 * STRIPE).await;
    within(handle.fsync(false)).await.unwrap();
    assert!(whole(&client(&cluster).await, handle.inode(), 4 * STRIPE).await == bytes(0, 4 * STRIPE));
    handle.release().await.unwrap();
    cluster.check();
}

#[tokio::test]
async fn a_client_that_dies_leaves_what_its_server_knows() {
    let (cluster, one) = coded(10).await;
    let handle = make(&one, "f").await;
    let inode = handle.inode();
    fill(&handle, 0, 2 * STRIPE).await;
    within(handle.fsync(false)).await.unwrap();
    fill(&handle, 2 * STRIPE, 2 * STRIPE).await;
    until("four stripes to be there", || cluster.0.lock().storage.writes >= 24).await;
    cluster.end_sessions(0);
    cluster.end_sessions(1);
    let two = client(&cluster).await;
    assert!(whole(&two, inode, 2 * STRIPE).await == bytes(0, 2 * STRIPE));
    let failed = within(handle.fsync(false)).await;
    assert!(failed.is_err(), "two stripes are lost");
    assert!(all_of(&one, inode).await.unwrap() == bytes(0, 2 * STRIPE));
    let handle = within(two.open(inode, WRITE)).await.unwrap();
    within(handle.write(2 * STRIPE as u64 + 10, b"more")).await.unwrap();
    let mut expected = bytes(0, 2 * STRIPE);
    expected.extend([0; 10]);
    expected.extend(b"more");
    assert!(whole(&one, inode, 3 * STRIPE).await == expected);
    within(handle.release()).await.unwrap();
    assert!(one.lookup(ROOT, b"f").await.is_ok());
    cluster.check();
}
