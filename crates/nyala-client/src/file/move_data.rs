// SPDX-License-Identifier: Apache-2.0

//! Moving a file's data to other targets, while its inode, names and content stay.
//!
//! **Failure model.** Everything happens under one exclusive delegation, which is held from before the first byte is read until the
//! metadata server has answered: no other client writes meanwhile. Nor does a program of this client, or another move: they wait for the file's
//! `move_lock`, which a move gives up when it sees them, or have the file open, which it refuses to begin with. And a session that ended on the way moves nothing, as every step is
//! bound to it (`rpc::bound`). Whoever wants the file has it recalled: the move is then given up, and can be made again. The copy is on
//! the disks of its targets before metadata hears of it, and a target that lost power since it took a piece says so
//! (`WriteVerifier`). What an earlier attempt left in chunk files of the same names is cut first. What this attempt leaves when it fails
//! is cut too where that can be done; else it lies where no layout has it, and `nyala fsck` finds it.

use crate::delegation::admission::Access;
use crate::delegation::logic::delegations::Need;
use crate::error::{Error, Result};
use crate::file::encode_copy;
use crate::file::move_copy::Move;
use crate::file::move_purpose::{Purpose, Yielding, in_use};
use crate::file::ops::FileOps;
use crate::file::state::{File, stripe_writes};
use crate::rpc::bound::Bound;
use crate::rpc::failure::unexpected_reply;
use crate::types::Destination;
use crate::writeback::logic::unsynced::Unsynced;
use nyala_wire::meta::{MetaOp, MetaReply, Want};
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{DataLocation, ErrorCode, InodeId, Layout, SessionId, TargetId};
use std::sync::Arc;

/// With these a metadata server says that it has not moved it.
const REFUSED: [ErrorCode; 3] = [ErrorCode::AGAIN, ErrorCode::STALE, ErrorCode::INVALID];

/// Moves the data of a file that nobody has open here; `moved` hears how many bytes were copied, as they are. Returns how many, and the layout of now.
pub(crate) async fn migrate(
    ops: &Arc<FileOps>,
    inode: InodeId,
    to: &Destination,
    moved: &impl Fn(u64),
) -> Result<(u64, Layout)> {
    let file = ops.files.acquire(inode);
    let done = migrate_file(ops, &file, to, moved).await;
    ops.files.release(&file);
    done
}

async fn migrate_file(
    ops: &Arc<FileOps>,
    file: &Arc<File>,
    to: &Destination,
    moved: &impl Fn(u64),
) -> Result<(u64, Layout)> {
    let _locked = file.move_lock.to_move().await;
    // Whoever opens it from now on waits for the lock, and is seen.
    if file.state.lock().open().handles() > 0 {
        return Err(in_use());
    }
    move_data(ops, file, to, Purpose::Move, moved).await
}

/// Moves a file's data, for who has its lock of who moves it.
pub(super) async fn move_data(
    ops: &Arc<FileOps>,
    file: &Arc<File>,
    to: &Destination,
    purpose: Purpose,
    moved: &impl Fn(u64),
) -> Result<(u64, Layout)> {
    if !ops.ctx.config.delegations {
        return Err(Error::refused(ErrorCode::NOT_SUPPORTED, "a client without delegations moves no data"));
    }
    ops.writeback.flush_now(file).await?;
    let admission = ops.delegations.admit(file, Need { write: true, cached: true, patient: false }).await?;
    let (from, inline, size) = {
        let mut state = file.state.lock();
        let settled = admission.access == Access::Cached && state.is_clean() && stripe_writes::close(&mut state);
        let from = state.layout().cloned().filter(|_| settled).ok_or_else(in_use)?;
        (from, state.is_inline(), state.size())
    };
    let to = Arc::new(ops.cluster.move_targets(file.inode, to).await?);
    let (session, unsynced) = (admission.session, Unsynced::default());
    let mut work = Move { ops, file, session, from, to, size, unsynced, yielding: Yielding::new(purpose) };
    let bytes = if inline { 0 } else { copy(&mut work, moved).await? };
    if let Err(error) = move_to(ops, file, &work.to, session).await {
        // Only where it is certain that it was not done.
        if !inline && REFUSED.iter().any(|code| error.is(*code)) {
            work.give_up().await;
        }
        return Err(error);
    }
    // What is known of it is asked for before it is used again.
    file.state.lock().unload();
    Ok((bytes, (*work.to).clone()))
}

/// Says where the data is now.
pub(super) async fn move_to(ops: &Arc<FileOps>, file: &File, to: &Layout, session: SessionId) -> Result<()> {
    let op = MetaOp::MoveData { inode: file.inode, layout: to.clone() };
    let bound = Bound::new(file.inode, session);
    match ops.cluster.meta_bound("move a file's data", op, Want::NOTHING, bound).await?.reply {
        MetaReply::Done => Ok(()),
        _ => Err(unexpected_reply("move a file's data")),
    }
}

/// Copies everything and has it on disk.
async fn copy(work: &mut Move<'_>, moved: &impl Fn(u64)) -> Result<u64> {
    work.begin().await?;
    let copied = match work.to.encoded() {
        Some(code) => encode_copy::encode(work, code, moved).await,
        None => work.copy(moved).await,
    };
    work.finish(copied).await
}

/// Removes a chunk file that lies where the layout of its file has none, unless the file's data is just being moved there. Whether
/// it could: the layout has none there now, and a delegation was to be had.
pub(crate) async fn remove_beside_layout(
    ops: &Arc<FileOps>,
    file: &Arc<File>,
    chunk: ChunkFileId,
    target: TargetId,
) -> Result<bool> {
    let admission = ops.delegations.admit(file, Need { write: true, cached: true, patient: false }).await?;
    let layout = file.state.lock().layout().cloned().filter(|_| admission.access == Access::Cached);
    let Some(layout) = layout else { return Ok(false) };
    let here = match layout.has(chunk.index).then(|| layout.location(chunk.index)) {
        Some(DataLocation::Target(id)) => id == target,
        Some(DataLocation::Group(id)) => {
            let map = ops.cluster.maps.view().map.clone();
            map.group(id).is_none_or(|group| group.members.contains(&target))
        }
        None => false,
    };
    if here {
        return Ok(false);
    }
    ops.cluster.remove_chunk_file(chunk, target).await?;
    Ok(true)
}
