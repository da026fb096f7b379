// SPDX-License-Identifier: Apache-2.0

//! Truncation of striped files: storage has to follow before the client hears that it is done.
//!
//! The new size and a record of the pending truncation are logged together; the inode stays locked until every target
//! has cut its chunk file and the record is gone from the log. After a restart the records bring the locks back and
//! the work goes on. A truncation is never repeated after the client was answered: by then the record's end is written.
//! `O_TRUNC` is a truncation to nothing.
//!
//! Failure model: either side may lose power and what it had not synced.
//!
//! - **Metadata.** A smaller size is on disk before storage hears of it: else the old size could come back, and the file
//!   would have zeros where its data was. That costs one sync of the log, which all who wait share. A size that is not
//!   smaller cuts only what lies behind it, which belongs to no size that could come back: the sizes before it are smaller,
//!   or were on disk before this truncation could begin, since the inode was locked. So it waits for no sync.
//! - **Storage.** A target answers when its cut is on disk (`StorageOp::Truncate`). Only then the record may go: what came
//!   back later would show as soon as the file grows again.
//! - **Metadata again.** When the record's end is lost, so is everything that was logged after it, and the cut is done
//!   again. That destroys only data behind the new size, which no synced size reached yet.
//!
//! Holes (`FALLOC_FL_PUNCH_HOLE`, `FALLOC_FL_ZERO_RANGE`) are not decided here: clients send them to storage, and a target
//! that loses power shows the old bytes or zeros until the file is synced.

use super::coordinate::Patience;
use super::state::{Caller, State};
use super::until_done::until_done;
use nyala_kv::Batch;
use nyala_namespace::keys;
use nyala_namespace::locks::LockKey;
use nyala_namespace::records::{InodeRecord, TruncateRecord};
use nyala_namespace::view::View;
use nyala_wire::meta::MetaOp;
use nyala_wire::meta_tx::TxId;
use nyala_wire::storage::{ChunkFileId, StorageOp};
use nyala_wire::{InodeId, Time, WireError, codec};
use std::rc::Rc;

/// A truncation under way, and the name under which its lock is held.
#[derive(Debug)]
pub struct Pending {
    inode: InodeId,
    record: TruncateRecord,
    /// The new size has to be on disk before storage hears of it.
    shrinks: bool,
    lock: TxId,
}

/// If this change, which is not applied yet, truncates a striped file: locks the inode until [`finish`]. To a larger size it
/// cuts at the old one, if storage may have something behind that which nobody committed.
pub fn begin(state: &State, op: &MetaOp, batch: &mut Batch) -> Result<Option<Pending>, WireError> {
    let MetaOp::SetAttr { inode, set } = op else { return Ok(None) };
    if set.size.is_none() {
        return Ok(None);
    }
    let key = keys::truncate(*inode);
    let Some(value) = batch.iter().find(|(k, _)| *k == key).and_then(|(_, value)| value) else { return Ok(None) };
    let mut record: TruncateRecord = codec::decode(value)?;
    let before = View::get(&state.tables, &keys::inode(*inode))?;
    let before: Option<InodeRecord> = before.map(|bytes| codec::decode(&bytes)).transpose()?;
    let shrinks = before.as_ref().is_none_or(|before| record.size < before.size);
    super::doubt::cut_at_old_size(state, *inode, before, &mut record, batch);
    Ok(Some(lock(state, *inode, record, shrinks)?))
}

fn lock(state: &State, inode: InodeId, record: TruncateRecord, shrinks: bool) -> Result<Pending, WireError> {
    let lock = state.new_tx();
    state.lock(lock, &[LockKey::Inode(inode)])?;
    Ok(Pending { inode, record, shrinks, lock })
}

/// The change was not made after all.
pub fn cancel(state: &State, pending: Option<Pending>) {
    if let Some(pending) = pending {
        state.unlock(pending.lock);
    }
}

/// Cuts the chunk files, however long that takes, then forgets the record and unlocks. Goes on by itself when the
/// request is given up.
pub async fn finish(state: &Rc<State>, pending: Option<Pending>) -> Result<(), WireError> {
    let Some(pending) = pending else { return Ok(()) };
    let state = state.clone();
    let work = tokio::task::spawn_local(async move { cut_and_forget(&state, pending).await });
    work.await.unwrap_or_else(|_| Err(nyala_wire::ErrorCode::NOT_READY.with("the service stops")))
}

async fn cut_and_forget(state: &Rc<State>, pending: Pending) -> Result<(), WireError> {
    let result = cut(state, &pending).await.inspect(|()| state.doubts.borrow_mut().settle(pending.inode));
    state.unlock(pending.lock);
    result
}

async fn cut(state: &Rc<State>, pending: &Pending) -> Result<(), WireError> {
    // If the log fails, the process ends, and the next one does what its log says.
    state.flusher.flushed().await?;
    if pending.shrinks {
        state.durable().await?;
    }
    let layout = &pending.record.layout;
    let cuts = (0..layout.targets.len() as u16).map(|index| {
        let len = layout.chunk_file_len(index, pending.record.size);
        let file = ChunkFileId { inode: pending.inode, index };
        let (home, state) = (layout.home(index), state.clone());
        tokio::task::spawn_local(async move { until_done(&state, home, file, StorageOp::Truncate { len }).await })
    });
    for cut in cuts.collect::<Vec<_>>() {
        // A task that is gone means that the service stops; the record stays and the next run goes on.
        cut.await.map_err(|_| nyala_wire::ErrorCode::NOT_READY.with("the service stops"))?;
    }
    let mut batch = Batch::new();
    batch.delete(keys::truncate(pending.inode));
    state.apply(&batch)?;
    state.flusher.flushed().await
}

/// Takes up truncations that the last run of the service left.
pub fn recover(state: &Rc<State>, pending: Vec<(InodeId, TruncateRecord)>) -> Result<(), WireError> {
    for (inode, record) in pending {
        let pending = lock(state, inode, record, true)?;
        let state = state.clone();
        tokio::task::spawn_local(async move {
            if let Err(error) = cut_and_forget(&state, pending).await {
                tracing::error!(%inode, %error, "pending truncation");
            }
        });
    }
    Ok(())
}

/// Before a repeated request gets its kept reply: waits until its truncation, taken up after a restart, is over, so
/// that it cannot cut what the client writes next. `BUSY` when patience has run out.
pub async fn settled(state: &State, op: &MetaOp, patience: &Patience) -> Result<(), WireError> {
    let MetaOp::SetAttr { inode, .. } = op else { return Ok(()) };
    loop {
        let released = state.released.notified();
        let caller = Caller::service(Time::default());
        let waiting = state.with_change(&caller, None, |change, _| change.get(&keys::truncate(*inode)));
        match waiting {
            Ok(Some(_)) => {
                patience.check()?;
                super::execute::wait_release(released).await;
            }
            _ => return Ok(()),
        }
    }
}
