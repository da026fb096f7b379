// SPDX-License-Identifier: Apache-2.0

//! Encoded files that are cut to nothing: none of their data is moved first, and whatever dies leaves all of it, or nothing.

use crate::encoded::{SIZE, WRITE, all_of, client, coded, content, is_encoded, layout, written};
use crate::fake::{Faults, read, within};
use nyala_client::OpenOptions;
use nyala_wire::Pattern;
use nyala_wire::meta::SetAttr;
use std::time::Duration;

/// That a recall was lost is noticed when the standing question of 5 s is over.
const LOST: Duration = Duration::from_secs(20);

const CUT: OpenOptions = OpenOptions { truncate: true, ..WRITE };

#[tokio::test]
async fn what_is_cut_to_nothing_is_not_moved_first() {
    let (cluster, one) = coded(31).await;
    let inode = written(&one, "f", &content(0)).await;
    let before = is_encoded(&one, inode).await;
    let two = client(&cluster).await;
    let reader = two.open(inode, OpenOptions::default()).await.unwrap();
    assert!(read(&reader, 0, SIZE).await == content(0));
    let (reads, writes) = (one.stats().storage_reads, one.stats().storage_writes);
    let handle = within(one.open(inode, CUT)).await.unwrap();
    assert_eq!((one.stats().storage_reads, one.stats().storage_writes), (reads, writes), "nothing is copied");
    let now = layout(&one, inode).await;
    assert_eq!((now.pattern, now.code, now.moves), (Pattern::Mirror, before.code, before.moves + 1));
    assert!(read(&reader, 0, SIZE).await.is_empty());
    handle.write(70_000, b"new").await.unwrap();
    handle.fsync(false).await.unwrap();
    let found = read(&reader, 0, SIZE).await;
    assert!(found.len() == 70_003 && found[..70_000].iter().all(|byte| *byte == 0) && found[70_000..] == *b"new");
    handle.release().await.unwrap();
    reader.release().await.unwrap();
    let after = is_encoded(&one, inode).await;
    assert_eq!(after.moves, before.moves + 2);
    assert!(all_of(&one, inode).await.unwrap() == found);
    cluster.check();
}

/// The server loses its power at the moment when a client is told, or before it is; requests and replies get lost.
#[tokio::test]
async fn a_power_cut_leaves_all_of_it_or_nothing() {
    for seed in 40..48 {
        let (cluster, one) = coded(seed).await;
        let inode = written(&one, "f", &content(0)).await;
        is_encoded(&one, inode).await;
        let told = seed % 2 == 0;
        if told {
            within(one.setattr(inode, SetAttr { size: Some(0), ..SetAttr::default() })).await.unwrap();
            cluster.meta_loses_power();
        } else {
            cluster.set_faults(Faults { lose_request: 200, lose_reply: 200, twice: 200, ..Faults::default() });
            let set = SetAttr { size: Some(0), ..SetAttr::default() };
            let (cut, ()) = tokio::join!(within(one.setattr(inode, set)), async {
                // sleeps: somewhere on the way
                tokio::time::sleep(Duration::from_millis(seed)).await;
                cluster.meta_loses_power();
            });
            cut.unwrap();
            cluster.set_faults(Faults::default());
        }
        let two = client(&cluster).await;
        let read = tokio::time::timeout(LOST, all_of(&two, inode)).await.expect("stuck");
        assert!(read.unwrap().is_empty(), "seed {seed}");
        let handle = within(two.open(inode, WRITE)).await.unwrap();
        handle.write(0, &content(seed as u8)).await.unwrap();
        handle.release().await.unwrap();
        assert!(within(all_of(&one, inode)).await.unwrap() == content(seed as u8), "seed {seed}");
        assert_eq!(is_encoded(&two, inode).await.moves, 3);
        assert!(all_of(&one, inode).await.unwrap() == content(seed as u8));
        cluster.check();
    }
}
