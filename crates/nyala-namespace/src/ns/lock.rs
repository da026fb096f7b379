// SPDX-License-Identifier: Apache-2.0

//! Locks of applications. A file's locks are one record; a row for each session and file says where a session has some.

use super::env::Env;
use crate::change::{Change, Step, stored};
use crate::file_locks::{self, FileLocks, Refusal};
use crate::keys;
use crate::view::View;
use nyala_wire::meta::{FileLock, LockKind, MetaOp, MetaReply};
use nyala_wire::{ErrorCode, InodeId, SessionId, WireError};
use std::ops::ControlFlow;

/// An operation on locks.
pub fn run(change: &mut Change, env: &Env, op: &MetaOp) -> Step<MetaReply> {
    match op {
        MetaOp::SetLock { inode, lock } => set(change, env, *inode, *lock),
        MetaOp::GetLock { inode, lock } => get(change, env, *inode, *lock),
        _ => Err(ErrorCode::UNKNOWN_MESSAGE.into()),
    }
}

/// Takes a lock or gives some up. EAGAIN if another owner's stands in the way, ENOLCK if there are too many. What is given
/// up need not be there, nor the file.
fn set(change: &mut Change, env: &Env, inode: InodeId, lock: FileLock) -> Step<MetaReply> {
    let lock = file_locks::check(lock)?;
    if lock.kind != LockKind::Unlock {
        change.inode(inode)?;
    }
    let mut locks = load(change, inode)?;
    match locks.set(env.session, &lock) {
        Ok(true) => store(change, env.session, inode, &locks)?,
        Ok(false) => {}
        Err(Refusal::Blocked(_)) => return Err(ErrorCode::AGAIN.into()),
        Err(Refusal::TooMany) => return Err(ErrorCode::NO_LOCKS.with("too many locks on one file").into()),
    }
    Ok(MetaReply::Done)
}

/// The first lock in the way of one.
fn get(change: &mut Change, env: &Env, inode: InodeId, lock: FileLock) -> Step<MetaReply> {
    let lock = file_locks::check(lock)?;
    if lock.kind == LockKind::Unlock {
        return Err(ErrorCode::INVALID.with("nothing stands in the way of giving up a lock").into());
    }
    change.inode(inode)?;
    let locks = load(change, inode)?;
    Ok(MetaReply::Lock(locks.in_the_way(env.session, &lock).next().map(|held| held.lock)))
}

/// Releases all locks that a session has on a file; whether there were some, and somebody may be waiting for them.
pub fn release_all(change: &mut Change, session: SessionId, inode: InodeId) -> Step<bool> {
    let mut locks = load(change, inode)?;
    let released = locks.release(session);
    if released {
        store(change, session, inode, &locks)?;
    }
    Ok(released)
}

/// Gives all locks that a session has on a file to another one.
pub fn hand_over(change: &mut Change, (from, to): (SessionId, SessionId), inode: InodeId) -> Step<()> {
    let mut locks = load(change, inode)?;
    let mine: Vec<FileLock> = locks.all().iter().filter(|held| held.session == from).map(|held| held.lock).collect();
    locks.release(from);
    for lock in &mine {
        // Nobody else's was in the way of them a moment ago, and they are no more than before.
        let _ = locks.set(to, lock);
    }
    store(change, from, inode, &locks)?;
    store(change, to, inode, &locks)
}

/// Releases everybody's locks on a file that is going.
pub fn forget(change: &mut Change, inode: InodeId) -> Step<()> {
    let locks = load(change, inode)?;
    for held in locks.all() {
        change.delete(keys::session_lock(held.session, inode));
    }
    if !locks.is_empty() {
        change.delete(keys::file_locks(inode));
    }
    Ok(())
}

/// Makes the row of a session's locks say what the file's locks say.
pub fn settle(change: &mut Change, session: SessionId, inode: InodeId) -> Step<()> {
    let locks = load(change, inode)?;
    store(change, session, inode, &locks)
}

/// The files on which a session has locks.
pub fn locked_by(view: &dyn View, session: SessionId) -> Result<Vec<InodeId>, WireError> {
    let mut found = Vec::new();
    let prefix = keys::session_lock_prefix(session);
    view.scan(&prefix, &keys::prefix_end(&prefix), &mut |key, _| {
        found.extend(keys::parse_session_lock(key).map(|(_, inode)| inode));
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

/// All locks on a file, as they are in the tables.
pub fn read(view: &dyn View, inode: InodeId) -> Result<FileLocks, WireError> {
    view.get(&keys::file_locks(inode))?.map_or(Ok(FileLocks::default()), |bytes| stored(&bytes))
}

/// All locks on a file.
pub fn load(change: &Change, inode: InodeId) -> Step<FileLocks> {
    Ok(change.record(&keys::file_locks(inode))?.unwrap_or_default())
}

fn store(change: &mut Change, session: SessionId, inode: InodeId, locks: &FileLocks) -> Step<()> {
    if locks.is_empty() {
        change.delete(keys::file_locks(inode));
    } else {
        change.put_record(keys::file_locks(inode), locks);
    }
    let row = keys::session_lock(session, inode);
    match (locks.has(session), change.get(&row)?.is_some()) {
        (true, false) => change.put(row, Vec::new()),
        (false, true) => change.delete(row),
        _ => {}
    }
    Ok(())
}
