// SPDX-License-Identifier: Apache-2.0

//! Whose a chunk file is. Failure model: see the parent module.

use super::Look;
use crate::exit::Failure;
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{DataLocation, ErrorCode, GroupId};

pub use nyala_storage::scrub::Owner;

impl Look {
    /// Asks metadata whose a chunk file is.
    pub async fn owner(&self, file: ChunkFileId) -> Result<Owner, Failure> {
        match self.client.entry_info(file.inode).await {
            // What is left of it goes in the background, or is a leftover (`leftover.rs`).
            Err(error) if error.is(ErrorCode::NOT_FOUND) || error.is(ErrorCode::STALE) => Ok(Owner::Gone),
            other => Ok(Owner::by(other?.layout.as_ref(), file)),
        }
    }
}

/// Chunk files that are not a mirror group's; metadata is asked once for each, not for each of its pieces.
#[derive(Debug, Default)]
pub struct Others {
    last: Option<ChunkFileId>,
}

impl Others {
    /// Whether a chunk file is not of this group.
    pub async fn has(&mut self, look: &Look, file: ChunkFileId, group: GroupId) -> Result<bool, Failure> {
        if self.last != Some(file) && look.owner(file).await? == Owner::At(DataLocation::Group(group)) {
            return Ok(false);
        }
        self.last = Some(file);
        Ok(true)
    }
}
