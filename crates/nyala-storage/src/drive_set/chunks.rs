// SPDX-License-Identifier: Apache-2.0

//! Chunk files as objects of a set. Failure model: see the parent module.

use super::chunk::SetChunk;
use super::inner::{Inner, object, set_error, table_error};
use super::load::Load;
use crate::chunk_store::{ChunkDisk, Opened, Table, length_key};
use nyala_drives::DriveSet;
use nyala_store::Batch;
use nyala_wire::storage::ChunkFileId;
use std::io;
use std::sync::Arc;

/// The chunk files of a target on a set.
pub struct SetChunks(Arc<Inner>);

impl SetChunks {
    /// Those of a set, whose lengths are in `kv`.
    pub fn new(set: Arc<DriveSet>, kv: Arc<dyn Table>, load: Arc<Load>) -> SetChunks {
        SetChunks(Arc::new(Inner { set, kv, load }))
    }
}

impl ChunkDisk for SetChunks {
    fn open(&self, file: ChunkFileId, create: bool) -> io::Result<Option<Opened>> {
        let created = self.0.len(file)?.is_none();
        if created && !create {
            return Ok(None);
        }
        if created {
            // In the log before whatever follows from it.
            self.0.put_len(file, 0)?;
        }
        Ok(Some(Opened { file: Arc::new(SetChunk { inner: self.0.clone(), file }), created }))
    }

    fn remove(&self, file: ChunkFileId) -> io::Result<()> {
        if self.0.len(file)?.is_none() {
            return Ok(());
        }
        self.0.set.clear(object(file), 0, u64::MAX).map_err(set_error)?;
        let mut batch = Batch::new();
        batch.delete(length_key(file));
        self.0.kv.apply(&batch).map(drop).map_err(table_error)
    }

    fn sync_dirs(&self, _file: ChunkFileId) -> io::Result<()> {
        // There are none: that a file exists is a row.
        self.0.sync()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn writes_wait(&self) -> bool {
        true
    }
}
