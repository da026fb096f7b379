// SPDX-License-Identifier: Apache-2.0

//! Encoding in the background: of files that were closed, and of those that lost parts.
//!
//! **Failure model.** What waits is known to this client only: when it ends, `nyala entry encode` does the rest, and who reads an encoded file
//! that lost parts finds it again. Several clients may find the same one: the first makes it whole, and the others see that its data was moved
//! since. A target that is only away is no reason to do anything.

use crate::error::Error;
use crate::file::encode::encode;
use crate::file::encoding::Encoding;
use crate::file::logic::encodings::{Obstacle, Taken, Work};
use crate::file::ops::FileOps;
use crate::file::state::File;
use nyala_wire::{ErrorCode, InodeId, Layout};
use std::sync::Arc;

/// The last handle here may be gone.
pub(crate) fn encode_later(ops: &FileOps, file: &File) {
    let state = file.state.lock();
    let waits = state.open().handles() == 0 && ops.ctx.config.delegations;
    if let Some(layout) = state.layout().filter(|layout| waits && layout.to_encode().is_some()) {
        let (delay, now_ms) = (ops.ctx.config.encode_after, ops.ctx.now_ms());
        ops.encodings.lock().closed(file.inode, layout, delay, now_ms);
    }
}

/// Parts of a file with this layout, which is encoded, are gone for good.
pub(super) fn repair_later(ops: &FileOps, inode: InodeId, layout: &Layout) {
    let (delay, now_ms) = (ops.ctx.config.encode_after, ops.ctx.now_ms());
    if ops.ctx.config.delegations && ops.encodings.lock().damaged(inode, layout.moves, delay, now_ms) {
        tracing::warn!(%inode, "parts of an encoded file are lost; it is encoded again");
    }
}

/// A file that is due, unless enough are being encoded.
pub(crate) fn next_to_encode(ops: &FileOps) -> Option<Taken> {
    ops.encodings.lock().take_due(ops.ctx.now_ms())
}

/// Encodes a file that is due. why no error: `nyala entry encode` does what is left, and says why it cannot.
pub(crate) async fn encode_due(ops: &Arc<FileOps>, taken: Taken) {
    let (inode, work) = (taken.inode, taken.work());
    let wanted = match work {
        Work::Encode => Encoding::default(),
        Work::Repair { moves } => Encoding { again: true, moves: Some(moves), ..Encoding::default() },
    };
    let encoded = encode(ops, inode, &wanted, &|_| {}).await;
    let obstacle = encoded.as_ref().err().and_then(obstacle);
    ops.encodings.lock().ended(taken, obstacle, ops.ctx.now_ms());
    match encoded {
        Ok(Some((bytes, layout))) if work != Work::Encode => {
            ops.ctx.stats.repaired_files.add(1);
            tracing::info!(%inode, bytes, targets = ?layout.targets, "an encoded file that had lost parts is whole again");
        }
        Err(error) if obstacle == Some(Obstacle::Refused) => {
            tracing::warn!(%inode, %error, "a file is not encoded; nyala entry encode does it");
        }
        _ => {}
    }
}

/// Absent: there is nothing left to do, as the file is gone or is another one.
fn obstacle(error: &Error) -> Option<Obstacle> {
    match error.code() {
        ErrorCode::NOT_FOUND | ErrorCode::STALE => None,
        ErrorCode::AGAIN | ErrorCode::BUSY => Some(Obstacle::InUse),
        ErrorCode::NO_SPACE | ErrorCode::NOT_READY | ErrorCode::TIMED_OUT => Some(Obstacle::NoSpace),
        _ => Some(Obstacle::Refused),
    }
}
