// SPDX-License-Identifier: Apache-2.0

//! Repair of stored data: replacing a damaged copy, removing chunk files that no file needs, and waiting for changes under way.
//!
//! **Failure model.** As in `rpc::mirror`: requests are repeated until the group has done it, or `retry_timeout` is
//! over. That a repair was done does not say that it worked: the caller reads the copy again. A chunk file of an inode
//! that metadata does not know stays useless, since inode numbers are used once, unless metadata was restored from an
//! old copy: who removes one has been asked about that. A removal is repeated without harm.

use crate::error::Result;
use crate::rpc::cluster::Cluster;
use crate::rpc::storage::ChunkRange;
use nyala_wire::storage::{ChunkFileId, StorageOp};
use nyala_wire::{DataLocation, GroupId, TargetId};
use std::sync::Arc;

impl Cluster {
    /// The member `bad` of a group gets what a good one has.
    pub(crate) async fn repair_copy(
        self: &Arc<Cluster>,
        group: GroupId,
        file: ChunkFileId,
        (offset, len): (u64, u32),
        bad: TargetId,
    ) -> Result<()> {
        self.storage_done("repair data", chunk(group, file), StorageOp::Repair { offset, len, bad }).await
    }

    /// Removes a chunk file of an inode that does not exist from one target.
    pub(crate) async fn remove_chunk_file(self: &Arc<Cluster>, file: ChunkFileId, target: TargetId) -> Result<()> {
        let chunk =
            ChunkRange { inode: file.inode, location: DataLocation::Target(target), index: file.index, offset: 0 };
        self.storage_done("remove a chunk file", chunk, StorageOp::Unlink).await
    }

    /// Returns when all changes of a chunk file that were under way are on all members.
    pub(crate) async fn settled(self: &Arc<Cluster>, group: GroupId, file: ChunkFileId) -> Result<()> {
        // The primary answers that in its turn among the changes.
        self.storage_op("wait for changes", chunk(group, file), StorageOp::Stat).await.map(drop)
    }
}

fn chunk(group: GroupId, file: ChunkFileId) -> ChunkRange {
    ChunkRange { inode: file.inode, location: DataLocation::Group(group), index: file.index, offset: 0 }
}
