// SPDX-License-Identifier: Apache-2.0

//! Locks of two clients on files of two metadata servers: waiting, deadlocks on one server and over both, and a client
//! that ends.

use crate::cluster::harness::Cluster;
use crate::cluster::{OWNER, two_directories};
use nyala_client::{CacheListener, Client, Withdraw};
use nyala_wire::meta::{FileLock, LockKind};
use nyala_wire::{ErrorCode, InodeId};
use std::pin::Pin;
use std::time::{Duration, Instant};

fn lock(kind: LockKind, start: u64, end: u64) -> FileLock {
    FileLock { owner: 1, pid: 1, kind, flock: false, start, end }
}

fn byte(n: u64) -> FileLock {
    lock(LockKind::Write, n, n)
}

async fn file(client: &Client, dir: InodeId) -> InodeId {
    let (attr, handle) = client.create(dir, b"locked", 0o644, OWNER, true).await.unwrap();
    handle.release().await.unwrap();
    attr.inode
}

/// Each has the first byte of one of these files and waits for the other's; which one, if any, is refused.
async fn embrace(one: &Client, two: &Client, first: InodeId, second: InodeId, at: (u64, u64)) -> [bool; 2] {
    one.set_lock(first, byte(at.0), false).await.unwrap();
    two.set_lock(second, byte(at.1), false).await.unwrap();
    let wait = async |client: &Client, held: InodeId, other: InodeId, at: u64| {
        let refused = match client.set_lock(other, byte(at), true).await {
            Ok(()) => false,
            Err(error) if error.is(ErrorCode::DEADLOCK) => true,
            Err(error) => panic!("{error}"),
        };
        for inode in [held, other] {
            client.set_lock(inode, lock(LockKind::Unlock, 0, u64::MAX), false).await.unwrap();
        }
        refused
    };
    let (one, two) = tokio::join!(wait(one, first, second, at.1), wait(two, second, first, at.0));
    [one, two]
}

#[test]
fn circles_lose_one_and_the_other_goes_on() {
    Cluster::start().run_clients(2, |clients| async move {
        let [one, two] = &clients[..] else { panic!("two clients") };
        let (here, there) = two_directories(one).await;
        let (a, b) = (file(one, here).await, file(one, there).await);
        let began = Instant::now();
        let refused = embrace(one, two, a, a, (0, 1)).await;
        assert_eq!(refused.iter().filter(|refused| **refused).count(), 1);
        assert!(began.elapsed() < Duration::from_millis(900), "one server sees it at once");
        for _ in 0..2 {
            let refused = embrace(one, two, a, b, (0, 0)).await;
            assert_eq!(refused.iter().filter(|refused| **refused).count(), 1, "over two servers");
        }
    });
}

#[test]
fn a_lock_is_waited_for_and_ends_with_its_client() {
    Cluster::start().run_clients(3, |clients| async move {
        let [one, two, third] = &clients[..] else { panic!("three clients") };
        let (here, _) = two_directories(one).await;
        let inode = file(one, here).await;
        let whole = lock(LockKind::Write, 0, u64::MAX);
        one.set_lock(inode, whole, false).await.unwrap();
        assert!(two.set_lock(inode, byte(7), false).await.unwrap_err().is(ErrorCode::AGAIN));
        assert_eq!(two.get_lock(inode, byte(7)).await.unwrap(), Some(whole));
        let (waited, ()) = tokio::join!(two.set_lock(inode, byte(7), true), async {
            // sleeps: the other one waits by then
            tokio::time::sleep(Duration::from_millis(100)).await;
            one.set_lock(inode, lock(LockKind::Unlock, 7, 7), false).await.unwrap();
        });
        waited.unwrap();
        let (waited, ()) = tokio::join!(third.set_lock(inode, byte(8), true), async {
            // sleeps: the other one waits by then
            tokio::time::sleep(Duration::from_millis(100)).await;
            one.shutdown().await.unwrap();
        });
        waited.unwrap();
        assert_eq!(third.get_lock(inode, whole).await.unwrap(), Some(byte(7)), "one's are gone, two's are there");
    });
}

/// A layer above that is asked after locks.
struct Above {
    client: Client,
    answers: bool,
}

type Done = Pin<Box<dyn Future<Output = ()> + Send>>;

impl CacheListener for Above {
    fn withdraw(&self, _: InodeId, _: Withdraw) -> Done {
        Box::pin(async {})
    }

    fn withdraw_behind(&self, _: InodeId, _: u64) -> Done {
        Box::pin(async {})
    }

    /// Bytes 0 to 9 were held by what was closed.
    fn settle_lock(&self, inode: InodeId, owner: u64, flock: bool) -> Done {
        let (client, answers) = (self.client.clone(), self.answers);
        Box::pin(async move {
            if !answers {
                std::future::pending::<()>().await;
            }
            let ended = FileLock { owner, flock, ..lock(LockKind::Unlock, 0, 9) };
            client.set_lock(inode, ended, false).await.unwrap();
        })
    }
}

#[test]
fn who_does_not_wait_is_refused_after_the_holder_was_asked() {
    Cluster::start().run_clients(2, |clients| async move {
        let [one, two] = &clients[..] else { panic!("two clients") };
        let (here, _) = two_directories(one).await;
        let inode = file(one, here).await;
        let whole = lock(LockKind::Write, 0, u64::MAX);
        one.set_listener(std::sync::Arc::new(Above { client: one.clone(), answers: true }));
        one.set_lock(inode, whole, false).await.unwrap();
        assert_eq!(two.get_lock(inode, byte(3)).await.unwrap(), None, "it has ended");
        let rest = lock(LockKind::Write, 10, u64::MAX);
        assert_eq!(two.get_lock(inode, byte(10)).await.unwrap(), Some(rest), "it stands");
        one.set_lock(inode, whole, false).await.unwrap();
        two.set_lock(inode, byte(9), false).await.unwrap();
        assert!(two.set_lock(inode, byte(10), false).await.unwrap_err().is(ErrorCode::AGAIN));
        // On one client, between two owners.
        let other = FileLock { owner: 2, ..byte(8) };
        one.set_lock(inode, byte(8), false).await.unwrap();
        one.set_lock(inode, other, false).await.unwrap();
        // Who does not answer keeps its lock, and nobody waits for long.
        one.set_listener(std::sync::Arc::new(Above { client: one.clone(), answers: false }));
        one.set_lock(inode, byte(7), false).await.unwrap();
        let began = Instant::now();
        assert!(two.set_lock(inode, byte(7), false).await.unwrap_err().is(ErrorCode::AGAIN));
        assert!(began.elapsed() > Duration::from_millis(900), "it was asked");
        assert_eq!(one.get_lock(inode, FileLock { owner: 2, ..byte(7) }).await.unwrap(), Some(byte(7)));
    });
}
