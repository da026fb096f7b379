// SPDX-License-Identifier: Apache-2.0

//! Removing chunk files that no file needs, for who has found them (`nyala scrub --leftovers --remove`).
//!
//! **Failure model.** What was found may be needed by now. A chunk file of an inode that metadata does not know stays useless: numbers are
//! given out once; unless metadata was restored from an old copy, and whoever calls this has been asked about that. Beside inline content
//! a move may begin at any moment: what lies there is cut under an exclusive lease, which keeps all movers out, and only where metadata
//! itself says that somebody may have left something. A removal is repeated without harm.

use crate::core::Core;
use crate::delegation::admission::Access;
use crate::delegation::logic::delegations::Need;
use crate::error::Result;
use crate::file::state::File;
use crate::rpc::storage::ChunkRange;
use crate::writeback::leftovers::Leftovers;
use nyala_wire::storage::{ChunkFileId, StorageOp};
use nyala_wire::{Home, TargetId};
use std::sync::Arc;

impl Core {
    /// Removes a chunk file of an inode that does not exist from one target.
    pub(crate) async fn remove_chunk_file(&self, file: ChunkFileId, target: TargetId) -> Result<()> {
        let chunk = ChunkRange { inode: file.inode, home: Home::Target(target), index: file.index, offset: 0 };
        self.storage_done("remove a chunk file", chunk, StorageOp::Unlink).await
    }

    /// Cuts what lies at storage beside a file's inline content. Whether it could: the content is inline, a lease was to be had,
    /// and metadata tells of leftovers.
    pub(crate) async fn cut_beside_inline(self: &Arc<Core>, file: &Arc<File>) -> Result<bool> {
        let admission = self.admit(file, Need { write: true, cached: true, patient: false }).await?;
        let beyond = {
            let state = file.state.lock();
            let listed = state.is_inline() && state.leftovers != Leftovers::Clean;
            (listed && admission.access == Access::Cached).then_some(state.inline_limit..state.inline_limit + 1)
        };
        let Some(beyond) = beyond else { return Ok(false) };
        self.cut_leftovers(file, &beyond, admission.session).await?;
        Ok(true)
    }
}
