// SPDX-License-Identifier: Apache-2.0

//! What checks of stored data need beside reading: having a damaged copy replaced, and knowing that nothing is under way.
//!
//! **Failure model.** As in `rpc::mirror`: asked again until the group has done it, or `retry_timeout` is over. That a repair was done does not
//! say that it worked: whoever wants to know looks at the copy again.

use crate::core::Core;
use crate::error::Result;
use crate::rpc::storage::ChunkRange;
use nyala_wire::storage::{ChunkFileId, StorageOp};
use nyala_wire::{GroupId, Home, TargetId};

impl Core {
    /// The member `bad` of a group gets what a good one has.
    pub(crate) async fn repair_copy(
        &self,
        group: GroupId,
        file: ChunkFileId,
        (offset, len): (u64, u32),
        bad: TargetId,
    ) -> Result<()> {
        self.storage_done("repair data", chunk(group, file), StorageOp::Repair { offset, len, bad }).await
    }

    /// Returns when all changes of a chunk file that were under way are on all members.
    pub(crate) async fn settled(&self, group: GroupId, file: ChunkFileId) -> Result<()> {
        // The primary answers that in its turn among the changes.
        self.storage_op("wait for changes", chunk(group, file), StorageOp::Stat).await.map(drop)
    }
}

fn chunk(group: GroupId, file: ChunkFileId) -> ChunkRange {
    ChunkRange { inode: file.inode, home: Home::Group(group), index: file.index, offset: 0 }
}
