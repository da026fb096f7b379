// SPDX-License-Identifier: Apache-2.0

//! What a client that died had written to storage without committing it never shows, and looking after that costs those
//! nothing who do not need it.

use crate::fake::{Cluster, META_TARGETS, STORAGE_TARGETS, make, read, two, within};
use nyala_client::{Client, FileHandle, OpenOptions};
use nyala_wire::InodeId;
use nyala_wire::meta::SetAttr;

impl Cluster {
    /// Every chunk file that a file may have gets some more bytes.
    fn leave(&self, inode: InodeId, bytes: usize) {
        let mut inner = self.0.lock();
        for target in META_TARGETS + 1..=META_TARGETS + STORAGE_TARGETS {
            for index in 0..STORAGE_TARGETS {
                inner.storage.chunks.entry((target, inode, index)).or_default().extend(vec![9; bytes]);
            }
        }
    }

    fn cuts(&self) -> usize {
        self.0.lock().storage.cuts
    }
}

/// Makes a file of so many bytes with one client, and opens it with another when that is gone; without a goodbye if it leaves
/// something, so that metadata knows that this may be.
async fn taken_over(size: usize, left: usize) -> (Cluster, Client, FileHandle) {
    let (cluster, one, two) = two(1).await;
    let handle = make(&one, "file").await;
    handle.write(0, &vec![1; size]).await.unwrap();
    let inode = handle.inode();
    if left > 0 {
        handle.fsync(false).await.unwrap();
        cluster.forget_sessions();
        drop((handle, one));
        cluster.leave(inode, left);
    } else {
        handle.release().await.unwrap();
        one.shutdown().await.unwrap();
    }
    let handle = two.open(inode, OpenOptions { write: true, ..OpenOptions::default() }).await.unwrap();
    (cluster, two, handle)
}

async fn gap_reads_as_zeros(size: usize) {
    let (cluster, client, handle) = within(taken_over(size, 50_000)).await;
    let at = size + 600_000;
    within(handle.write(at as u64, &[2; 100])).await.unwrap();
    within(handle.write(at as u64 + 300_000, &[3; 100])).await.unwrap();
    handle.fsync(false).await.unwrap();
    let wanted = [vec![1; size], vec![0; 600_000], vec![2; 100], vec![0; 299_900], vec![3; 100]].concat();
    let found = read(&handle, 0, wanted.len() + 1).await;
    assert_eq!((found.len(), found.iter().zip(&wanted).position(|(a, b)| a != b)), (wanted.len(), None));
    let cuts = cluster.cuts();
    assert!(0 < cuts && cuts <= usize::from(STORAGE_TARGETS), "each chunk file once: {cuts}");
    handle.release().await.unwrap();
    client.shutdown().await.unwrap();
    cluster.check();
}

#[tokio::test]
async fn left_over_bytes_beside_inline_content_do_not_show_when_it_moves() {
    gap_reads_as_zeros(100).await;
}

#[tokio::test]
async fn left_over_bytes_behind_the_end_do_not_show_in_a_gap() {
    gap_reads_as_zeros(100_000).await;
}

#[tokio::test]
async fn left_over_bytes_do_not_show_in_a_size_that_is_set() {
    let (_cluster, client, handle) = within(taken_over(100, 50_000)).await;
    let size = SetAttr { size: Some(40_000), ..SetAttr::default() };
    client.setattr(handle.inode(), size).await.unwrap();
    handle.write(30_000, &[2; 10]).await.unwrap();
    handle.fsync(false).await.unwrap();
    let wanted = [vec![1; 100], vec![0; 29_900], vec![2; 10], vec![0; 9_990]].concat();
    assert!(read(&handle, 0, 50_000).await == wanted);
    handle.release().await.unwrap();
    client.shutdown().await.unwrap();
}

#[tokio::test]
async fn what_lies_beside_inline_content_is_removed_where_metadata_tells_of_it_only() {
    for (size, left) in [(100, 0), (100, 50_000), (100_000, 50_000)] {
        let (cluster, client, handle) = within(taken_over(size, left)).await;
        let inode = handle.inode();
        handle.release().await.unwrap();
        let wanted = size == 100 && left > 0;
        assert_eq!(within(client.cut_beside_inline(inode)).await.unwrap(), wanted, "{size} {left}");
        assert_eq!(cluster.cuts() > 0, wanted);
        let handle = client.open(inode, OpenOptions::default()).await.unwrap();
        assert_eq!(read(&handle, 0, size + 1).await, vec![1; size]);
        handle.release().await.unwrap();
        client.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn what_lies_behind_the_end_is_cut_and_nothing_before_it() {
    for (size, left) in [(100, 50_000), (100_000, 0), (100_000, 50_000)] {
        let (cluster, client, handle) = within(taken_over(size, 0)).await;
        let inode = handle.inode();
        handle.release().await.unwrap();
        // Nobody died: metadata has no doubt.
        cluster.leave(inode, left);
        assert!(within(client.cut_behind_end(inode)).await.unwrap(), "{size} {left}");
        assert!(cluster.cuts() > 0);
        let handle = client.open(inode, OpenOptions { write: true, ..OpenOptions::default() }).await.unwrap();
        assert_eq!(read(&handle, 0, size + 1).await, vec![1; size]);
        handle.write(size as u64 + 40_000, &[2; 10]).await.unwrap();
        handle.fsync(false).await.unwrap();
        let found = read(&handle, 0, size + 50_000).await;
        assert!(found[size..] == [vec![0; 40_000], vec![2; 10]].concat(), "nothing that was left shows");
        handle.release().await.unwrap();
        client.shutdown().await.unwrap();
    }
}

#[tokio::test]
async fn without_a_doubt_nothing_is_cut() {
    let (cluster, client, handle) = within(taken_over(100, 0)).await;
    for n in 0..20 {
        handle.write(5_000 + n * 9_000, &[2; 5_000]).await.unwrap();
    }
    handle.release().await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(cluster.cuts(), 0);
}

#[tokio::test]
async fn who_only_appends_cuts_nothing() {
    let (cluster, client, handle) = within(taken_over(100_000, 10)).await;
    for n in 0..20 {
        handle.write(100_000 + n * 5_000, &[2; 5_000]).await.unwrap();
    }
    handle.release().await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(cluster.cuts(), 0);
}

/// One of them cuts; what the others write meanwhile stays.
#[tokio::test]
async fn writes_beside_the_one_that_cuts_stay() {
    for size in [100, 100_000] {
        let (cluster, client, handle) = within(taken_over(size, 200_000)).await;
        let writes = (0..40_u64).map(|n| {
            let (at, handle) = (size as u64 + n * 20_000, &handle);
            async move { handle.write(at, &[2; 10_000]).await.unwrap() }
        });
        within(futures(writes.rev().collect())).await;
        handle.fsync(false).await.unwrap();
        let found = read(&handle, 0, 1_000_000).await;
        for (n, piece) in found[size..].chunks(20_000).enumerate() {
            let (data, gap) = piece.split_at(10_000);
            assert!(data.iter().all(|byte| *byte == 2), "piece {n} after {size}");
            assert!(gap.iter().all(|byte| *byte == 0), "gap {n} after {size}");
        }
        handle.release().await.unwrap();
        client.shutdown().await.unwrap();
        cluster.check();
    }
}

/// All of them at once.
async fn futures<F: Future>(futures: Vec<F>) {
    let mut futures: Vec<_> = futures.into_iter().map(Box::pin).map(Some).collect();
    std::future::poll_fn(|context| {
        for slot in &mut futures {
            if slot.as_mut().is_some_and(|future| future.as_mut().poll(context).is_ready()) {
                *slot = None;
            }
        }
        if futures.iter().all(Option::is_none) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}
