// SPDX-License-Identifier: Apache-2.0

//! Whose a chunk file is. Failure model: see the parent module.

use super::Look;
use crate::exit::Failure;
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{DataLocation, ErrorCode, GroupId};

/// Where the layout of its file has a chunk file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// There.
    At(DataLocation),
    /// There is no such file: what is left of it goes in the background, or is a leftover (`leftover.rs`).
    Gone,
    /// The file has none with that index.
    Unknown,
}

impl Look {
    /// Asks metadata whose a chunk file is.
    pub async fn owner(&self, file: ChunkFileId) -> Result<Owner, Failure> {
        let info = match self.client.entry_info(file.inode).await {
            Err(error) if error.is(ErrorCode::NOT_FOUND) || error.is(ErrorCode::STALE) => return Ok(Owner::Gone),
            other => other?,
        };
        let layout = info.layout.filter(|layout| usize::from(file.index) < layout.targets.len());
        Ok(layout.map_or(Owner::Unknown, |layout| Owner::At(layout.location(file.index))))
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
