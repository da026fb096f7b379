// SPDX-License-Identifier: Apache-2.0

//! A page of the list of a target's chunk files.
//!
//! **Failure model.** Whoever asks may ask for anything: a page is bounded in files and in time, and each file is one task of its
//! worker, so that other requests wait for one `stat` at most. If the asker is gone, the page ends with the file it is at.

use super::queue::{Outcome, Task, mistake};
use super::target::Target;
use nyala_wire::storage::{ChunkFileId, ListedFile, MAX_LISTED, StorageOp, StorageReply};
use nyala_wire::{ErrorCode, WireError};
use std::time::{Duration, Instant};

/// A page ends after this time.
const PAGE: Duration = Duration::from_millis(200);
/// Files that are looked up at once.
const AHEAD: usize = 64;

/// Lists chunk files from `from` on.
pub(super) async fn list(target: &Target, from: ChunkFileId, most: u32) -> Result<StorageReply, WireError> {
    if most == 0 {
        return Err(ErrorCode::BAD_MESSAGE.with("a list of no chunk files"));
    }
    let (began, most) = (Instant::now(), most.min(MAX_LISTED) as usize);
    let (mut files, mut next) = (Vec::new(), Some(from));
    while let Some(from) = next {
        // One more than is looked at: there the list goes on.
        let Outcome::Files(found) = target.call(Task::FilesFrom(from, AHEAD + 1)).await? else { return Err(mistake()) };
        next = found.get(AHEAD).map(|(file, _)| *file);
        for (file, least) in found.into_iter().take(AHEAD) {
            if files.len() == most || (!files.is_empty() && began.elapsed() >= PAGE) {
                return Ok(StorageReply::Listed { files, next: Some(file) });
            }
            let Outcome::Stat(len, _) = target.call(Task::Other(file, StorageOp::Stat)).await? else {
                return Err(mistake());
            };
            files.push(ListedFile { file, len, least });
        }
    }
    Ok(StorageReply::Listed { files, next: None })
}
