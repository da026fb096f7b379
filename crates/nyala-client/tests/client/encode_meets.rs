// SPDX-License-Identifier: Apache-2.0

//! What befalls a file's names, and its directory's pattern, while it is encoded.

use crate::encoded::{CODE, SIZE, WRITE, all_of, client, coded, content, is_encoded, layout, mirrored};
use crate::fake::until::until;
use crate::fake::{Cluster, ROOT, make, within};
use crate::replay::rename;
use nyala_client::Client;
use nyala_wire::meta::Owner;
use nyala_wire::{ErrorCode, InodeId, Pattern, StripePattern};
use std::time::Duration;

/// So long a write is on its way.
pub const SLOW: Duration = Duration::from_millis(200);

/// A file whose data is on its way to where it will be encoded.
async fn being_encoded(cluster: &Cluster, client: &Client, name: &str, seed: u8) -> InodeId {
    let handle = make(client, name).await;
    mirrored(&handle, &content(seed)).await;
    let inode = handle.inode();
    cluster.0.lock().write_delay = SLOW;
    handle.release().await.unwrap();
    until("its parts to be on their way", || cluster.0.lock().storage.writes_under_way() > 0).await;
    inode
}

#[tokio::test]
async fn names_come_and_go_while_a_file_is_encoded() {
    let (cluster, one) = coded(51).await;
    let two = client(&cluster).await;
    for (seed, by) in [(1, &one), (2, &two)] {
        let inode = being_encoded(&cluster, &one, "f", seed).await;
        within(by.link(inode, ROOT, b"second")).await.unwrap();
        within(by.rename(rename((ROOT, "f"), (ROOT, "g")))).await.unwrap();
        within(by.unlink(ROOT, b"second")).await.unwrap();
        cluster.0.lock().write_delay = Duration::ZERO;
        is_encoded(&one, inode).await;
        assert_eq!(by.lookup(ROOT, b"g").await.unwrap().inode, inode);
        assert!(by.lookup(ROOT, b"f").await.is_err_and(|error| error.is(ErrorCode::NOT_FOUND)));
        assert!(
            all_of(&two, inode).await.unwrap() == content(seed) && all_of(&one, inode).await.unwrap() == content(seed)
        );
        within(by.unlink(ROOT, b"g")).await.unwrap();
    }
    cluster.check();
}

#[tokio::test]
async fn a_file_that_is_removed_while_it_is_encoded_leaves_nothing() {
    let (cluster, one) = coded(52).await;
    let two = client(&cluster).await;
    for by in [&one, &two] {
        let inode = being_encoded(&cluster, &one, "f", 3).await;
        within(by.unlink(ROOT, b"f")).await.unwrap();
        cluster.0.lock().write_delay = Duration::ZERO;
        let left = || {
            let inner = cluster.0.lock();
            let chunks = inner.storage.chunks.iter();
            chunks.filter(|((_, of, index), bytes)| (*of, *index / 1024) == (inode, 1) && !bytes.is_empty()).count()
        };
        until("the inode to be gone", || !cluster.exists(inode)).await;
        until("its copy to be gone", || left() == 0 && cluster.0.lock().storage.writes_under_way() == 0).await;
        // sleeps: longer than it waits for another try, and none of these writes anything
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(left(), 0);
    }
    cluster.check();
}

#[tokio::test]
async fn a_file_keeps_its_code_when_its_directory_gets_another_pattern() {
    let (cluster, one) = coded(53).await;
    let two = client(&cluster).await;
    let inode = being_encoded(&cluster, &one, "f", 4).await;
    let plain = StripePattern { chunk_bytes: 65_536, num_targets: 2, inline_bytes: 0, ..StripePattern::default() };
    within(two.set_pattern(ROOT, plain)).await.unwrap();
    cluster.0.lock().write_delay = Duration::ZERO;
    assert_eq!(is_encoded(&one, inode).await.encoded(), Some(CODE));
    let (_, new) = two.create(ROOT, b"new", 0o644, Owner::default(), true).await.unwrap();
    assert_eq!(layout(&two, new.inode()).await.pattern, Pattern::Raid0);
    new.release().await.unwrap();
    // Written to, it is mirrored as its layout says, and encoded again.
    let handle = within(two.open(inode, WRITE)).await.unwrap();
    assert_eq!(layout(&two, inode).await.pattern, Pattern::Mirror);
    handle.write(SIZE as u64, b"more").await.unwrap();
    handle.release().await.unwrap();
    is_encoded(&two, inode).await;
    assert!(all_of(&one, inode).await.unwrap() == [content(4), b"more".to_vec()].concat());
    cluster.check();
}
