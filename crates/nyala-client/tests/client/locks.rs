// SPDX-License-Identifier: Apache-2.0

//! Locks of a file's ranges: who waits for one, and who stops waiting.

use crate::fake::until::until;
use crate::fake::{Cluster, make, two, within};
use nyala_wire::meta::{FileLock, LockKind};
use nyala_wire::{ErrorCode, InodeId};
use std::time::Duration;

/// Waits until these locks are held, since one that was given up is taken back behind the back of who gave it up; and that it stays so.
async fn settles(cluster: &Cluster, inode: InodeId, want: &[LockKind], polls: usize) {
    until(&format!("{want:?} after {polls} polls"), || cluster.lock_kinds(inode) == want).await;
    // sleeps: a lock that was given up would have been given by then
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(cluster.lock_kinds(inode), want, "after {polls} polls");
}

#[tokio::test]
async fn locks_wait_and_whoever_stops_waiting_leaves_none() {
    let (cluster, one, two) = two(53).await;
    let inode = make(&one, "file").await.inode();
    let lock = |owner, kind| FileLock { owner, pid: 1, kind, flock: false, start: 0, end: u64::MAX };
    let (write, unlock) = (lock(1, LockKind::Write), lock(1, LockKind::Unlock));
    one.set_lock(inode, write, false).await.unwrap();
    assert!(two.set_lock(inode, write, false).await.unwrap_err().is(ErrorCode::AGAIN));
    assert_eq!(two.get_lock(inode, write).await.unwrap(), Some(write));
    let waiting = tokio::time::timeout(Duration::from_millis(50), two.set_lock(inode, write, true)).await;
    assert!(waiting.is_err());
    let (taken, ()) = within(async {
        tokio::join!(two.set_lock(inode, write, true), async {
            // sleeps: the other one waits by then
            tokio::time::sleep(Duration::from_millis(20)).await;
            one.set_lock(inode, unlock, false).await.unwrap();
        })
    })
    .await;
    taken.unwrap();
    two.set_lock(inode, unlock, false).await.unwrap();
    // Dropped at any moment.
    for polls in 0..20 {
        let mut attempt = Box::pin(two.set_lock(inode, write, true));
        let mut done = false;
        for _ in 0..polls {
            tokio::select! {
                biased;
                _ = &mut attempt => {
                    done = true;
                    break;
                }
                () = tokio::task::yield_now() => {}
            }
        }
        drop(attempt);
        if done {
            two.set_lock(inode, unlock, false).await.unwrap();
        }
        settles(&cluster, inode, &[], polls).await;
    }
}

#[tokio::test]
async fn an_interrupted_upgrade_keeps_the_read_lock_and_its_wait_is_taken_back() {
    let (cluster, one, two) = two(57).await;
    let inode = make(&one, "file").await.inode();
    let lock = |owner, kind| FileLock { owner, pid: 1, kind, flock: false, start: 0, end: u64::MAX };
    let (read, write) = (lock(1, LockKind::Read), lock(1, LockKind::Write));
    for polls in 0..20 {
        one.set_lock(inode, read, false).await.unwrap();
        let mut upgrade = Box::pin(one.set_lock(inode, write, true));
        let mut done = false;
        for _ in 0..polls {
            tokio::select! {
                biased;
                _ = &mut upgrade => {
                    done = true;
                    break;
                }
                () = tokio::task::yield_now() => {}
            }
        }
        drop(upgrade);
        let want = if done { LockKind::Write } else { LockKind::Read };
        settles(&cluster, inode, &[want], polls).await;
    }
    // Of one that waits, the wait ends too.
    let waiting = tokio::time::timeout(Duration::from_millis(50), two.set_lock(inode, lock(7, LockKind::Write), true));
    assert!(waiting.await.is_err());
    // sleeps: the one that gave up says so by itself
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(cluster.0.lock().seen.waits_taken_back > 0);
    assert_eq!(cluster.lock_kinds(inode).len(), 1);
}
