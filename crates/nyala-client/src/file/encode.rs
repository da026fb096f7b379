// SPDX-License-Identifier: Apache-2.0

//! Encoding of files that nobody has open, and the way back before they are written to.
//!
//! **Failure model.** Both are moves of the file's data ([`crate::file::move_data`]): what dies on the way leaves the file as it was. On this
//! client the file's `move_lock` is held meanwhile: an open counts its handle first and then takes the lock, and encoding, which has it,
//! stops when it sees a handle; so nothing is written by a layout that is being left. Other clients are kept out by the delegation
//! and by what their server knows to be open. What is encoded already, and is again since parts of it are lost, may be read meanwhile, here and
//! elsewhere: it is not written to by that layout, and encoding stops for who is about to.

use crate::error::Result;
use crate::file::encoding::{Encoded, Encoding};
use crate::file::logic::stripes;
use crate::file::move_data::move_data;
use crate::file::move_purpose::{Purpose, in_use};
use crate::file::ops::FileOps;
use crate::file::state::File;
use crate::rpc::deadline::Deadline;
use nyala_wire::{ErrorCode, InodeId, Pattern};
use std::sync::Arc;
use std::time::Duration;

/// Between two tries to have a file for writing.
const PAUSE: Duration = Duration::from_millis(50);

/// Encodes a file, unless there is nothing to do for it. `AGAIN`: it is in use.
pub(crate) async fn encode(
    ops: &Arc<FileOps>,
    inode: InodeId,
    wanted: &Encoding,
    moved: &impl Fn(u64),
) -> Result<Encoded> {
    let file = ops.files.acquire(inode);
    let encoded = encode_file(ops, &file, wanted, moved).await;
    ops.files.release(&file);
    encoded
}

async fn encode_file(ops: &Arc<FileOps>, file: &Arc<File>, wanted: &Encoding, moved: &impl Fn(u64)) -> Result<Encoded> {
    let _locked = file.move_lock.to_move().await;
    let info = ops.cluster.fetch_file_info(file.inode).await?;
    let layout = &info.layout;
    let purpose = if layout.encoded().is_some() { Purpose::Repair } else { Purpose::Move };
    if purpose == Purpose::Move && file.state.lock().open().handles() > 0 {
        return Err(in_use());
    }
    let Some(code) = wanted.code.or(layout.code) else { return Ok(None) };
    let done = layout.encoded() == Some(code) && !wanted.again;
    let other = wanted.moves.is_some_and(|moves| moves != layout.moves);
    if info.inline.is_some() || done || other || info.attr.size == 0 {
        return Ok(None);
    }
    let to = stripes::destination(&ops.cluster.maps.view().map, layout, (Pattern::Ec, code), wanted.avoid.clone())?;
    move_data(ops, file, &to, purpose, moved).await.map(Some)
}

/// Moves the data of a file that is encoded to where it can be written to; a handle or the caller's lock keeps it from being encoded
/// meanwhile. Others may read it.
pub(crate) async fn make_writable(ops: &Arc<FileOps>, file: &Arc<File>) -> Result<()> {
    let _locked = file.move_lock.to_change().await;
    make_writable_locked(ops, file).await
}

/// The same for who holds the file's `move_lock`.
pub(super) async fn make_writable_locked(ops: &Arc<FileOps>, file: &Arc<File>) -> Result<()> {
    let deadline = Deadline::of_call(&ops.ctx);
    loop {
        let Some(layout) = file.state.lock().layout().cloned() else { return Ok(()) };
        let Some(code) = layout.encoded() else { return Ok(()) };
        let to = stripes::destination(&ops.cluster.maps.view().map, &layout, (Pattern::Mirror, code), Vec::new())?;
        match move_data(ops, file, &to, Purpose::Write, &|_| {}).await {
            Ok(_) => return ops.delegations.file_info(file).await,
            Err(error) if error.is(ErrorCode::AGAIN) || error.is(ErrorCode::STALE) => {
                if deadline.is_over() || ops.ctx.is_stopped() {
                    return Err(error);
                }
                tokio::time::sleep(PAUSE).await;
                // Somebody else may have moved it.
                ops.delegations.file_info(file).await?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// A file was opened here, and its handle counts: who writes can write to it from now on, and it is not encoded any more.
pub(super) async fn opened(ops: &Arc<FileOps>, file: &Arc<File>, write: bool) -> Result<()> {
    if write {
        // One that is written in whole stripes here stays so as long as it only grows.
        let whole_stripes = file.state.lock().stripes().writing().is_some();
        return if whole_stripes { Ok(()) } else { make_writable(ops, file).await };
    }
    // What is encoded already is read by the layout that is known, until that is given up.
    if file.state.lock().layout().is_none_or(|layout| layout.encoded().is_none()) {
        file.move_lock.wait().await;
    }
    Ok(())
}
