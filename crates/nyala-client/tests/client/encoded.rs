// SPDX-License-Identifier: Apache-2.0

//! Files that are erasure coded once they are closed: what is lost is computed from the rest, and who writes has them back as they were.

use crate::fake::{Cluster, ROOT, make, read, within};
use nyala_client::{Client, Encoding, FileHandle, OpenOptions};
use nyala_wire::meta::{Owner, SetAttr};
use nyala_wire::{ErasureCode, ErrorCode, InodeId, Layout, Pattern, StripePattern, TargetId};
use std::time::Duration;

pub const CODE: ErasureCode = ErasureCode { data: 4, parity: 2 };
pub const WRITE: OpenOptions = OpenOptions { write: true, truncate: false, append: false, buffered: false };
/// Not a multiple of anything: the last stripe has two units and a bit.
pub const SIZE: usize = 6 * 65_536 + 12_345;

pub fn content(seed: u8) -> Vec<u8> {
    (0..SIZE).map(|at| ((at * 7) ^ (at >> 9)) as u8 ^ seed).collect()
}

/// A cluster of eight targets whose files are to be encoded, and a client of it.
pub async fn coded(seed: u64) -> (Cluster, Client) {
    let cluster = Cluster::mirrored(seed, 8);
    let client = client(&cluster).await;
    let pattern = StripePattern {
        pattern: Pattern::Ec,
        code: Some(CODE),
        chunk_bytes: 65_536,
        num_targets: 2,
        inline_bytes: 0,
        ..StripePattern::default()
    };
    client.set_pattern(ROOT, pattern).await.unwrap();
    (cluster, client)
}

pub async fn client(cluster: &Cluster) -> Client {
    let mut config = cluster.config();
    config.encode_after = Duration::from_millis(20);
    cluster.client_with(config).await
}

pub async fn layout(client: &Client, inode: InodeId) -> Layout {
    client.entry_info(inode).await.unwrap().layout.unwrap()
}

pub async fn is_encoded(client: &Client, inode: InodeId) -> Layout {
    for _ in 0..500 {
        let layout = layout(client, inode).await;
        if layout.encoded() == Some(CODE) {
            return layout;
        }
        // sleeps: between two looks
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not encoded in time");
}

/// Has it written mirrored: whole stripes of a file that has something already are not written encoded.
pub async fn mirrored(handle: &FileHandle, data: &[u8]) {
    handle.write(0, &data[..1]).await.unwrap();
    handle.fsync(false).await.unwrap();
    handle.write(1, &data[1..]).await.unwrap();
    handle.fsync(false).await.unwrap();
}

pub async fn written(client: &Client, name: &str, data: &[u8]) -> InodeId {
    let handle = make(client, name).await;
    let inode = handle.inode();
    assert_eq!(layout(client, inode).await.pattern, Pattern::Mirror, "while it is written to");
    handle.write(0, data).await.unwrap();
    handle.release().await.unwrap();
    inode
}

pub async fn all_of(client: &Client, inode: InodeId) -> nyala_client::Result<Vec<u8>> {
    let handle = client.open(inode, OpenOptions::default()).await?;
    let data = within(handle.read(0, 2 * SIZE)).await.map(|pieces| pieces.concat());
    handle.release().await?;
    data
}

#[tokio::test]
async fn whatever_two_parts_are_lost_every_byte_is_right_and_with_three_none_is_wrong() {
    let (cluster, one) = coded(1).await;
    let inode = written(&one, "f", &content(0)).await;
    let layout = is_encoded(&one, inode).await;
    assert_eq!((layout.targets.len(), layout.moves), (6, 1));
    for (index, target) in layout.indices().zip(&layout.targets) {
        let chunk = cluster.0.lock().storage.chunks[&(target.0, inode, index)].len() as u64;
        assert_eq!(chunk, layout.chunk_file_len(index, SIZE as u64), "chunk file {index}");
    }
    for a in 0..6 {
        for b in a..6 {
            cluster.0.lock().storage.lost = [a, b].map(|at| layout.targets[at].0).into();
            let data = all_of(&client(&cluster).await, inode).await.unwrap();
            assert!(data == content(0), "without {a} and {b}");
        }
    }
    cluster.0.lock().storage.lost = [0, 2, 4].map(|at: usize| layout.targets[at].0).into();
    assert!(all_of(&client(&cluster).await, inode).await.is_err());
    cluster.check();
}

#[tokio::test]
async fn a_chunk_file_that_ends_early_or_is_gone_is_no_hole() {
    let (cluster, one) = coded(2).await;
    let inode = written(&one, "f", &content(0)).await;
    let layout = is_encoded(&one, inode).await;
    let indices: Vec<u16> = layout.indices().collect();
    {
        let chunks = &mut cluster.0.lock().storage.chunks;
        chunks.remove(&(layout.targets[1].0, inode, indices[1]));
        chunks.get_mut(&(layout.targets[2].0, inode, indices[2])).unwrap().truncate(70_000);
    }
    let two = client(&cluster).await;
    assert!(all_of(&two, inode).await.unwrap() == content(0));
    // Encoded again, it is whole.
    let again = Encoding { again: true, avoid: vec![layout.targets[0]], ..Encoding::default() };
    let (bytes, now) = two.encode(inode, &again, |_| {}).await.unwrap().unwrap();
    assert_eq!((bytes, now.moves), (SIZE as u64, 2));
    assert!(!now.targets.contains(&layout.targets[0]));
    for (index, target) in now.indices().zip(&now.targets) {
        let chunk = cluster.0.lock().storage.chunks[&(target.0, inode, index)].len() as u64;
        assert_eq!(chunk, now.chunk_file_len(index, SIZE as u64));
    }
    assert!(all_of(&one, inode).await.unwrap() == content(0));
    cluster.check();
}

#[tokio::test]
async fn targets_that_are_away_cost_little_and_writing_goes_on() {
    let (cluster, one) = coded(3).await;
    let inode = written(&one, "f", &content(0)).await;
    let layout = is_encoded(&one, inode).await;
    let away = [layout.targets[0], layout.targets[3]];
    cluster.0.lock().down = away.iter().map(|target| target.0).collect();
    assert!(all_of(&client(&cluster).await, inode).await.unwrap() == content(0));
    // What is away is not chosen once the map says so; groups go on with the member that is left.
    {
        let map = &mut cluster.0.lock().map;
        map.version.0 += 1;
        let target =
            |map: &nyala_wire::map::ClusterMap, id| map.targets.iter().position(|target| target.id == id).unwrap();
        for id in away {
            let at = target(map, id);
            map.targets[at].reachability = nyala_wire::map::Reachability::Offline;
        }
    }
    assert!(all_of(&client(&cluster).await, inode).await.unwrap() == content(0));
    cluster.check();
}

#[tokio::test]
async fn who_writes_has_it_mirrored_first_and_it_is_encoded_again_after_the_close() {
    let (cluster, one) = coded(4).await;
    let two = client(&cluster).await;
    let inode = written(&one, "f", &content(0)).await;
    let before = is_encoded(&one, inode).await;
    let reader = two.open(inode, OpenOptions::default()).await.unwrap();
    assert!(read(&reader, 0, SIZE).await == content(0));
    let writer = within(one.open(inode, WRITE)).await.unwrap();
    let open = layout(&one, inode).await;
    assert_eq!((open.pattern, open.code, open.moves), (Pattern::Mirror, Some(CODE), before.moves + 1));
    assert!(read(&reader, 0, SIZE).await == content(0), "readers have it all the time");
    writer.write(100_000, b"changed").await.unwrap();
    writer.fsync(false).await.unwrap();
    let mut now = content(0);
    now[100_000..100_007].copy_from_slice(b"changed");
    assert!(read(&reader, 0, SIZE).await == now);
    writer.release().await.unwrap();
    reader.release().await.unwrap();
    let after = is_encoded(&one, inode).await;
    assert_eq!(after.moves, before.moves + 2);
    cluster.0.lock().storage.lost = [after.targets[1].0, after.targets[4].0].into();
    assert!(all_of(&client(&cluster).await, inode).await.unwrap() == now);
    cluster.check();
}

#[tokio::test]
async fn a_size_is_set_where_it_can_be() {
    let (cluster, one) = coded(5).await;
    let inode = written(&one, "f", &content(0)).await;
    let before = is_encoded(&one, inode).await;
    let two = client(&cluster).await;
    let set = SetAttr { size: Some(70_000), ..SetAttr::default() };
    within(two.setattr(inode, set)).await.unwrap();
    assert_eq!(layout(&two, inode).await.moves, before.moves + 1);
    assert!(all_of(&two, inode).await.unwrap() == content(0)[..70_000]);
    within(two.setattr(inode, SetAttr { size: Some(SIZE as u64), ..SetAttr::default() })).await.unwrap();
    let data = all_of(&one, inode).await.unwrap();
    assert!(
        data.len() == SIZE && data[..70_000] == content(0)[..70_000] && data[70_000..].iter().all(|byte| *byte == 0)
    );
    cluster.check();
}

#[tokio::test]
async fn what_is_open_or_inline_or_has_no_code_is_not_encoded() {
    let (cluster, one) = coded(6).await;
    let two = client(&cluster).await;
    let handle = make(&one, "open").await;
    mirrored(&handle, &content(1)).await;
    for client in [&one, &two] {
        let refused = within(client.encode(handle.inode(), &Encoding::default(), |_| {})).await;
        assert!(refused.is_err_and(|error| error.is(ErrorCode::AGAIN)));
    }
    let dir = one.mkdir(ROOT, b"plain", 0o755, Owner::default()).await.unwrap().inode;
    one.set_pattern(
        dir,
        StripePattern { inline_bytes: 4096, num_targets: 2, chunk_bytes: 65_536, ..StripePattern::default() },
    )
    .await
    .unwrap();
    let (_, plain) = one.create(dir, b"f", 0o644, Owner::default(), true).await.unwrap();
    let inode = plain.inode();
    plain.write(0, &content(2)).await.unwrap();
    plain.release().await.unwrap();
    assert_eq!(one.encode(inode, &Encoding::default(), |_| {}).await.unwrap(), None);
    let wanted = Encoding { code: Some(ErasureCode { data: 2, parity: 1 }), ..Encoding::default() };
    let (_, layout) = one.encode(inode, &wanted, |_| {}).await.unwrap().unwrap();
    assert_eq!((layout.targets.len(), layout.encoded()), (3, wanted.code));
    cluster.0.lock().storage.lost = [layout.targets[0].0].into();
    assert!(all_of(&client(&cluster).await, inode).await.unwrap() == content(2));
    let none = Encoding { avoid: (3..9).map(TargetId).collect(), again: true, ..Encoding::default() };
    assert!(one.encode(inode, &none, |_| {}).await.is_err_and(|error| error.is(ErrorCode::NO_SPACE)));
    handle.release().await.unwrap();
    is_encoded(&one, handle_inode(&one, b"open").await).await;
    cluster.check();
}

async fn handle_inode(client: &Client, name: &[u8]) -> InodeId {
    client.lookup(ROOT, name).await.unwrap().inode
}
