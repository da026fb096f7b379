// SPDX-License-Identifier: Apache-2.0

//! Waiting for locks: the server keeps a request until the lock may be free, so that clients need not ask again and
//! again. The lock itself is taken with `SetLock` afterwards, and somebody else may be faster.
//!
//! Failure model: a client may die, be interrupted, or send its request twice; a wait then lasts a few seconds for
//! nothing and takes nothing. Whoever gives up its lock or its session ends its waits here, so that no circle is found
//! through a program that no longer waits. Other servers may be down or slow: a circle through them is found when they
//! answer. What was waited for is read from the tables whenever it counts, never from memory.

use super::state::{Caller, State};
use nyala_namespace::change::Fault;
use nyala_namespace::deadlock::{closes_circle, is_victim, lasting};
use nyala_namespace::file_locks::{self, FileLocks};
use nyala_namespace::ns::lock;
use nyala_wire::map::TargetKind;
use nyala_wire::meta::{FileLock, LockKind, MetaReply};
use nyala_wire::meta_tx::{LockEdge, LockOwner, MAX_LOCK_EDGES, TxAction, TxId, TxReply, TxRequest};
use nyala_wire::{ErrorCode, InodeId, SessionId, Time, WireError};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;

/// A wait is answered after so long at the latest.
const LONGEST: Duration = Duration::from_secs(5);
/// After so long other servers are asked who waits there, and again after each doubling.
const ASK_OTHERS_AFTER: Duration = Duration::from_secs(1);
/// Most waits at once; beyond, ENOLCK.
const MAX_WAITS: usize = 1 << 16;

#[derive(Clone, Copy, Debug)]
struct Wait {
    session: SessionId,
    inode: InodeId,
    lock: FileLock,
    /// It shall end: nobody waits any more.
    over: bool,
}

impl Wait {
    fn owner(&self) -> LockOwner {
        LockOwner { session: self.session, owner: self.lock.owner }
    }
}

#[derive(Debug, Default)]
struct Waits {
    all: BTreeMap<u64, Wait>,
    by_owner: HashMap<LockOwner, Vec<u64>>,
    bells: HashMap<InodeId, (Rc<Notify>, usize)>,
}

/// Who waits on this server for which lock.
#[derive(Debug, Default)]
pub struct LockWaits {
    waits: RefCell<Waits>,
    next: Cell<u64>,
}

impl LockWaits {
    /// After a `SetLock` was applied: wakes who waits for locks of that file. Who gives up a range no longer waits for one
    /// within it.
    pub fn applied(&self, session: SessionId, inode: InodeId, lock: &FileLock) {
        if lock.kind == LockKind::Unlock {
            self.give_up(session, inode, lock);
        }
        self.ring(inode);
    }

    /// Ends an owner's waits for locks within a range.
    fn give_up(&self, session: SessionId, inode: InodeId, lock: &FileLock) {
        let inside = |wait: &Wait| lock.flock || (lock.start <= wait.lock.start && wait.lock.end <= lock.end);
        let owner = LockOwner { session, owner: lock.owner };
        self.end(|wait| wait.owner() == owner && wait.inode == inode && wait.lock.flock == lock.flock && inside(wait));
        self.ring(inode);
    }

    /// After a session's locks on a file were released: wakes who waits for them.
    pub fn released(&self, inode: InodeId) {
        self.ring(inode);
    }

    /// A session has ended: it waits for nothing any more.
    pub fn forget(&self, session: SessionId) {
        let inodes = self.end(|wait| wait.session == session);
        inodes.into_iter().for_each(|inode| self.ring(inode));
    }

    /// Number of waits.
    pub fn len(&self) -> usize {
        self.waits.borrow().all.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn end(&self, which: impl Fn(&Wait) -> bool) -> BTreeSet<InodeId> {
        let mut inodes = BTreeSet::new();
        for wait in self.waits.borrow_mut().all.values_mut().filter(|wait| which(wait)) {
            wait.over = true;
            inodes.insert(wait.inode);
        }
        inodes
    }

    fn ring(&self, inode: InodeId) {
        if let Some((bell, _)) = self.waits.borrow().bells.get(&inode) {
            bell.notify_waiters();
        }
    }

    fn begin(&self, session: SessionId, inode: InodeId, lock: FileLock) -> Result<Waiting<'_>, WireError> {
        let mut waits = self.waits.borrow_mut();
        if waits.all.len() >= MAX_WAITS {
            return Err(ErrorCode::NO_LOCKS.with("too many programs wait for locks"));
        }
        let number = self.next.get();
        self.next.set(number + 1);
        let wait = Wait { session, inode, lock, over: false };
        waits.all.insert(number, wait);
        waits.by_owner.entry(wait.owner()).or_default().push(number);
        let (bell, users) = waits.bells.entry(inode).or_default();
        *users += 1;
        Ok(Waiting { waits: self, number, wait, bell: bell.clone() })
    }

    /// For whom an owner waits on this server, with the waits' numbers.
    fn waits_for(&self, owner: LockOwner, around: &impl Around) -> Vec<LockEdge> {
        let waits = self.waits.borrow();
        let numbers = waits.by_owner.get(&owner).map_or(&[][..], |numbers| &numbers[..]);
        let mut edges = Vec::new();
        for (number, wait) in numbers.iter().filter_map(|number| Some((*number, waits.all.get(number)?))) {
            if wait.over || wait.lock.flock {
                continue;
            }
            // A table that cannot be read is reported to who waits for it.
            let locks = around.locks(wait.inode).unwrap_or_default();
            let holders: BTreeSet<LockOwner> =
                locks.in_the_way(wait.session, &wait.lock).map(file_locks::Held::owner).collect();
            edges.extend(holders.into_iter().map(|holder| LockEdge { waiter: owner, holder, wait: number }));
        }
        edges
    }

    fn edges(&self, around: &impl Around) -> Vec<LockEdge> {
        let owners: BTreeSet<LockOwner> = self.waits.borrow().by_owner.keys().copied().collect();
        owners.into_iter().flat_map(|owner| self.waits_for(owner, around)).take(MAX_LOCK_EDGES).collect()
    }

    async fn wait(
        &self,
        session: SessionId,
        inode: InodeId,
        lock: FileLock,
        around: &impl Around,
    ) -> Result<MetaReply, WireError> {
        let lock = file_locks::check(lock)?;
        if lock.kind == LockKind::Unlock {
            self.give_up(session, inode, &lock);
            return Ok(MetaReply::Done);
        }
        let me = self.begin(session, inode, lock)?;
        let (began, mut ask_after) = (around.now(), ASK_OTHERS_AFTER);
        loop {
            let bell = me.bell.notified();
            if me.is_over() || around.locks(inode)?.in_the_way(session, &lock).next().is_none() {
                return Ok(MetaReply::Done);
            }
            let waits_for = |owner| self.waits_for(owner, around).into_iter().map(|edge| edge.holder).collect();
            if !lock.flock && closes_circle(me.wait.owner(), waits_for) {
                return Err(deadlock());
            }
            let waited = around.now().saturating_sub(began);
            if waited >= LONGEST {
                return Ok(MetaReply::Done);
            }
            if !lock.flock && waited >= ask_after {
                if self.is_victim(me.wait.owner(), around).await && !me.is_over() {
                    return Err(deadlock());
                }
                ask_after = ask_after.saturating_mul(2).max(waited + ASK_OTHERS_AFTER);
                continue;
            }
            let until = if lock.flock { LONGEST } else { LONGEST.min(ask_after) };
            tokio::select! {
                () = bell => {}
                () = around.sleep(until.saturating_sub(waited)) => {}
            }
        }
    }

    async fn is_victim(&self, me: LockOwner, around: &impl Around) -> bool {
        let mut before: Option<BTreeSet<LockEdge>> = None;
        loop {
            let mut edges: BTreeSet<LockEdge> = around.others().await.into_iter().collect();
            edges.extend(self.edges(around));
            let sure = before.as_ref().map_or_else(|| edges.clone(), |before| lasting(before, &edges));
            if !is_victim(me, &sure) {
                return false;
            }
            if before.replace(edges).is_some() {
                return true;
            }
        }
    }
}

fn deadlock() -> WireError {
    ErrorCode::DEADLOCK.with("the lock's holder waits, by way of others perhaps, for one of this owner's locks")
}

/// One who waits, until dropped.
struct Waiting<'a> {
    waits: &'a LockWaits,
    number: u64,
    wait: Wait,
    bell: Rc<Notify>,
}

impl Waiting<'_> {
    fn is_over(&self) -> bool {
        self.waits.waits.borrow().all.get(&self.number).is_none_or(|wait| wait.over)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut waits = self.waits.waits.borrow_mut();
        waits.all.remove(&self.number);
        let owner = self.wait.owner();
        if let Some(numbers) = waits.by_owner.get_mut(&owner) {
            numbers.retain(|number| *number != self.number);
            if numbers.is_empty() {
                waits.by_owner.remove(&owner);
            }
        }
        if let Some((_, users)) = waits.bells.get_mut(&self.wait.inode) {
            *users -= 1;
            if *users == 0 {
                waits.bells.remove(&self.wait.inode);
            }
        }
    }
}

/// What is around: the tables and the other servers.
trait Around {
    /// All locks on a file.
    fn locks(&self, inode: InodeId) -> Result<FileLocks, WireError>;
    /// Who waits on other servers, as far as they answer.
    async fn others(&self) -> Vec<LockEdge>;
    /// Time since some beginning.
    fn now(&self) -> Duration;
    /// Lets some time go by.
    async fn sleep(&self, time: Duration);
}

impl Around for Rc<State> {
    fn locks(&self, inode: InodeId) -> Result<FileLocks, WireError> {
        locks(self, inode)
    }

    async fn others(&self) -> Vec<LockEdge> {
        let map = self.map();
        let others = map.targets.iter().filter(|target| target.kind == TargetKind::Meta && target.id != self.me);
        let asked = others.map(|target| {
            let (state, map, target) = (self.clone(), map.clone(), target.id);
            tokio::task::spawn_local(async move {
                let tx = TxId { coordinator: state.me, number: 0 };
                let request = TxRequest { tx, action: TxAction::LockEdges };
                match state.peers.tx(&map, target, &request).await {
                    Ok(TxReply::LockEdges(edges)) => edges,
                    Ok(_) => Vec::new(),
                    Err(error) => {
                        tracing::debug!(%target, %error, "who waits for locks there is not known");
                        Vec::new()
                    }
                }
            })
        });
        let mut edges = Vec::new();
        for answer in asked.collect::<Vec<_>>() {
            // A task that is gone means that the service stops.
            edges.extend(answer.await.unwrap_or_default());
        }
        edges
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.now_ms())
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}

/// All locks on a file.
pub fn locks(state: &State, inode: InodeId) -> Result<FileLocks, WireError> {
    let caller = Caller::service(Time::default());
    state.with_change(&caller, None, |change, _| lock::load(&change, inode)).map_err(|fault| match fault {
        Fault::Refused(error) => error,
        Fault::Blocked | Fault::Elsewhere(_) => ErrorCode::BUSY.into(),
    })
}

/// Answers `LockWait`: `Done` when the lock could be had (or nobody waits any more, which `Unlock` says), when the wait is over, or after 5 s; EDEADLK if it never could.
pub async fn wait(
    state: &Rc<State>,
    session: SessionId,
    inode: InodeId,
    lock: FileLock,
) -> Result<MetaReply, WireError> {
    state.lock_waits.wait(session, inode, lock, state).await
}

/// Answers another server's `LockEdges`.
pub fn edges(state: &Rc<State>) -> Vec<LockEdge> {
    state.lock_waits.edges(state)
}

#[cfg(test)]
mod tests;
