// SPDX-License-Identifier: Apache-2.0

//! Locks of applications.
//!
//! **Failure model.** Whoever waits may be interrupted at any moment, a request being under way then. One that takes the lock
//! always runs to its end; if nobody wants its lock any more, what the owner had there before is put back, before any later
//! request of the same owner for the same file. One that only waits is taken back, so that nobody is told of a deadlock
//! with a program that no longer waits; if that is lost, the server ends the wait after some seconds. Locks die with
//! the session: after it was lost, they are not taken again, as somebody else may have had them meanwhile.
//! Who does not wait is refused only after the holders were asked whether they still are: see [`LockBook::confirm_lock`]. If they
//! cannot be asked, the refusal stands.

use crate::context::Context;
use crate::delegation::cache::DelegationCache;
use crate::error::{Error, Result};
use crate::file::logic::own_locks::{Locked, OwnLocks};
use crate::rpc::cluster::Cluster;
use crate::rpc::failure::unexpected_reply;
use crate::rpc::session::Session;
use nyala_wire::meta::{FileLock, LockCheck, LockKind, MetaOp, MetaReply, Owner};
use nyala_wire::{ErrorCode, InodeId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedMutexGuard, oneshot};

/// How often, and how long after each other, a server is asked again whether there is a circle of waiting programs.
const MAX_DOUBTS: u32 = 5;
const DOUBT: Duration = Duration::from_millis(40);

/// An owner on a file: owner number, and whether it is `flock`.
type Key = (InodeId, u64, bool);

/// What each owner has locked on each file. Requests of one owner for one file go one after the other.
pub(crate) struct LockBook {
    ctx: Arc<Context>,
    cluster: Arc<Cluster>,
    delegations: Arc<DelegationCache>,
    owners: Mutex<HashMap<Key, Arc<tokio::sync::Mutex<OwnLocks>>>>,
}

impl LockBook {
    pub(crate) fn new(ctx: Arc<Context>, cluster: Arc<Cluster>, delegations: Arc<DelegationCache>) -> LockBook {
        LockBook { ctx, cluster, delegations, owners: Mutex::default() }
    }

    fn owner(&self, key: Key) -> Arc<tokio::sync::Mutex<OwnLocks>> {
        self.owners.lock().entry(key).or_default().clone()
    }

    /// Forgets an owner that has nothing and asks for nothing.
    fn tidy(&self, key: Key) {
        let mut owners = self.owners.lock();
        // Others get theirs under the same lock, so that the only one is nobody's.
        if owners.get_mut(&key).and_then(Arc::get_mut).is_some_and(|own| own.get_mut().is_empty()) {
            owners.remove(&key);
        }
    }
}

/// How a request for a lock ended. While it is unread, the owner's next request waits.
struct LockOutcome {
    result: Result<()>,
    own: OwnedMutexGuard<OwnLocks>,
    before: OwnLocks,
}

impl LockBook {
    pub(crate) async fn get_lock(self: &Arc<LockBook>, inode: InodeId, lock: FileLock) -> Result<Option<FileLock>> {
        if self.find_lock(inode, lock).await?.is_none() {
            return Ok(None);
        }
        self.confirm_lock(inode, lock).await;
        self.find_lock(inode, lock).await
    }

    async fn find_lock(self: &Arc<LockBook>, inode: InodeId, lock: FileLock) -> Result<Option<FileLock>> {
        match self.cluster.meta("look for a lock", MetaOp::GetLock { inode, lock }, Owner::default()).await? {
            MetaReply::Lock(found) => Ok(found),
            _ => Err(unexpected_reply("look for a lock")),
        }
    }

    /// Has those asked who stand in the way of a lock: they may have closed the file, or be gone, and their clients not
    /// have heard of it yet.
    async fn confirm_lock(self: &Arc<LockBook>, inode: InodeId, lock: FileLock) {
        if let Err(error) = self.cluster.meta_done("confirm a lock", MetaOp::LockConfirm { inode, lock }).await {
            tracing::debug!(%inode, %error, "the holders of a lock cannot be asked");
        }
    }

    /// Answers a server's questions after locks of this client.
    pub(crate) fn check_locks(self: &Arc<LockBook>, session: &Session, checks: Vec<LockCheck>) {
        let listener = self.delegations.listener();
        for LockCheck { number, inode, owner, flock } in checks {
            let (locks, target) = (Arc::downgrade(self), session.target);
            let settled = listener.as_ref().map(|listener| listener.settle_lock(inode, owner, flock));
            tokio::spawn(async move {
                if let Some(settled) = settled {
                    settled.await;
                }
                let Some(locks) = locks.upgrade().filter(|locks| !locks.ctx.is_stopped()) else { return };
                let op = MetaOp::LockChecked { numbers: vec![number] };
                if let Err(error) = locks.cluster.meta_at("answer for a lock", op, target).await {
                    tracing::debug!(%inode, %error, "a server does not hear that a lock still stands; it takes that for granted");
                }
            });
        }
    }

    pub(crate) async fn set_lock(self: &Arc<LockBook>, inode: InodeId, lock: FileLock, wait: bool) -> Result<()> {
        let mut doubts = 0;
        loop {
            match self.try_lock(inode, lock, wait).await {
                Err(error) if wait && error.is(ErrorCode::AGAIN) => {}
                other => return other,
            }
            let mut waiting = ServerWait { locks: Some(self), inode, lock };
            match self.cluster.meta_done("wait for a lock", MetaOp::LockWait { inode, lock }).await {
                // A circle stays as it is; a wait that was just interrupted elsewhere is still being taken back.
                Err(error) if error.is(ErrorCode::DEADLOCK) && doubts < MAX_DOUBTS => {
                    doubts += 1;
                    tokio::time::sleep(DOUBT).await;
                }
                ended => ended?,
            }
            waiting.locks = None;
        }
    }

    /// Runs in the background, so that dropping the caller's future does not leave its outcome open.
    async fn try_lock(self: &Arc<LockBook>, inode: InodeId, lock: FileLock, waits: bool) -> Result<()> {
        let (sender, reply) = oneshot::channel();
        let locks = self.clone();
        let started = self.ctx.spawn(async move {
            let own = locks.owner((inode, lock.owner, lock.flock)).lock_owned().await;
            let outcome = locks.lock_now(inode, lock, waits, own).await;
            if let Err(unwanted) = sender.send(outcome) {
                locks.put_back(inode, lock, unwanted).await;
            }
        });
        if !started {
            return Err(Error::ShutDown);
        }
        let mut reply = PendingRequest { locks: self, inode, lock, reply };
        let Ok(outcome) = (&mut reply.reply).await else { return Err(Error::ShutDown) };
        drop(outcome.own);
        self.tidy((inode, lock.owner, lock.flock));
        outcome.result
    }

    /// `waits`: who is refused waits for the lock then, and need not know yet who has it.
    async fn lock_now(
        self: &Arc<LockBook>,
        inode: InodeId,
        lock: FileLock,
        waits: bool,
        mut own: OwnedMutexGuard<OwnLocks>,
    ) -> LockOutcome {
        let before = own.clone();
        let mut result = self.cluster.meta_done("lock a file", MetaOp::SetLock { inode, lock }).await;
        if !waits && result.as_ref().is_err_and(|error| error.is(ErrorCode::AGAIN)) {
            self.confirm_lock(inode, lock).await;
            result = self.cluster.meta_done("lock a file", MetaOp::SetLock { inode, lock }).await;
        }
        match &result {
            Ok(()) => own.set(locked(&lock)),
            // A conversion of `flock` gives the old lock up before it waits, or fails, as on any local file system: two that
            // both want more than they have would wait for each other for ever.
            Err(error) if lock.flock && error.is(ErrorCode::AGAIN) && !own.is_empty() => {
                let none = FileLock { kind: LockKind::Unlock, ..lock };
                match self.cluster.meta_done("give a lock up", MetaOp::SetLock { inode, lock: none }).await {
                    Ok(()) => own.set(locked(&none)),
                    Err(error) => return LockOutcome { result: Err(error), own, before },
                }
            }
            Err(_) => {}
        }
        LockOutcome { result, own, before }
    }

    /// Makes the owner's locks what they were before one that nobody wants any more.
    async fn put_back(self: &Arc<LockBook>, inode: InodeId, lock: FileLock, unwanted: LockOutcome) {
        let LockOutcome { result, mut own, before } = unwanted;
        if result.is_ok() && lock.kind != LockKind::Unlock {
            for part in before.put_back(locked(&lock)) {
                let back = FileLock { kind: part.kind, start: part.start, end: part.end, ..lock };
                match self.cluster.meta_done("give a lock up", MetaOp::SetLock { inode, lock: back }).await {
                    Ok(()) => own.set(part),
                    Err(error) => {
                        tracing::warn!(%inode, %error, "a lock that nobody waits for any more was not given up");
                    }
                }
            }
        }
        drop(own);
        self.tidy((inode, lock.owner, lock.flock));
    }
}

fn locked(lock: &FileLock) -> Locked {
    let (start, end) = if lock.flock { (0, u64::MAX) } else { (lock.start, lock.end) };
    Locked { kind: lock.kind, start, end }
}

/// A request for a lock, whose outcome may come when nobody reads it any more.
struct PendingRequest<'a> {
    locks: &'a Arc<LockBook>,
    inode: InodeId,
    lock: FileLock,
    reply: oneshot::Receiver<LockOutcome>,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        self.reply.close();
        if let Ok(unwanted) = self.reply.try_recv() {
            let (locks, inode, lock) = (self.locks.clone(), self.inode, self.lock);
            self.locks.ctx.spawn(async move { locks.put_back(inode, lock, unwanted).await });
        }
    }
}

/// A wait at the server, taken back when it is dropped before its end.
struct ServerWait<'a> {
    locks: Option<&'a Arc<LockBook>>,
    inode: InodeId,
    lock: FileLock,
}

impl Drop for ServerWait<'_> {
    fn drop(&mut self) {
        let Some(locks) = self.locks else { return };
        let (inode, lock) = (self.inode, FileLock { kind: LockKind::Unlock, ..self.lock });
        let asked = locks.clone();
        locks.ctx.spawn(async move {
            if let Err(error) =
                asked.cluster.meta_done("stop waiting for a lock", MetaOp::LockWait { inode, lock }).await
            {
                tracing::debug!(%inode, %error, "a wait for a lock was not taken back; the server ends it by itself");
            }
        });
    }
}
