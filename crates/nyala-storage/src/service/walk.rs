// SPDX-License-Identifier: Apache-2.0

//! One step of a walk through a target.
//!
//! **Failure model.** Whoever asks may ask for anything: a step is bounded in bytes, in pieces and in time, and takes one piece after the
//! other, so that other requests wait behind 256 KiB at most. If the asker is gone, the step ends with the piece it is at.

use super::queue::{Outcome, Task, mistake};
use super::target::Target;
use nyala_wire::storage::{BLOCK_BYTES, MAX_IO_BYTES, StorageReply};
use nyala_wire::walk::{PIECE_BYTES, WalkAt};
use nyala_wire::{ErrorCode, WireError};
use std::time::{Duration, Instant};

/// A step ends after this time.
const STEP: Duration = Duration::from_millis(200);
/// Pieces that are looked up at once.
const AHEAD: usize = 64;

/// Says what is in a target from `from` on.
pub(super) async fn walk(target: &Target, from: WalkAt, bytes: u32, verify: bool) -> Result<StorageReply, WireError> {
    if bytes > MAX_IO_BYTES {
        return Err(ErrorCode::BAD_MESSAGE.with("a step of a walk has at most 4 MiB"));
    }
    let (began, mut left) = (Instant::now(), u64::from(bytes));
    let (mut pieces, mut from, mut looked) = (Vec::new(), from, false);
    loop {
        let Outcome::Pieces(places) = target.call(Task::PiecesFrom(from, AHEAD)).await? else { return Err(mistake()) };
        let last = places.len() < AHEAD;
        for at in places {
            if looked && (left == 0 || began.elapsed() >= STEP) {
                return Ok(StorageReply::Walked { pieces, next: Some(at) });
            }
            let Outcome::Piece(piece) = target.call(Task::Piece { at, verify }).await? else { return Err(mistake()) };
            looked = true;
            // Looking at small files costs as well: each piece counts for a block at least.
            let blocks = piece.as_ref().map_or(1, |piece| u64::from(piece.present.count_ones()));
            left = left.saturating_sub(blocks * BLOCK_BYTES);
            pieces.extend(piece);
            from = WalkAt { offset: at.offset + PIECE_BYTES, ..at };
        }
        if last {
            return Ok(StorageReply::Walked { pieces, next: None });
        }
    }
}
