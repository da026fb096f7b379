// SPDX-License-Identifier: Apache-2.0

//! What the chunk files of a set share: the set, and the store that has their lengths. Failure model: see the parent module.

use super::load::Load;
use crate::chunk_store::{Table, length_key};
use nyala_drives::{DriveSet, SetError};
use nyala_raid::ObjectId;
use nyala_store::{Batch, StoreError};
use nyala_wire::storage::ChunkFileId;
use std::io;
use std::sync::Arc;

/// What its files share.
pub(super) struct Inner {
    pub set: Arc<DriveSet>,
    pub kv: Arc<dyn Table>,
    pub load: Arc<Load>,
}

/// Objects of chunk files; those of other kinds have something in the upper bits.
pub(super) fn object(file: ChunkFileId) -> ObjectId {
    ObjectId(u128::from(file.inode.0) << 16 | u128::from(file.index))
}

pub(super) fn set_error(error: SetError) -> io::Error {
    tracing::error!(%error, "a drive set");
    io::Error::from_raw_os_error(libc::EIO)
}

pub(super) fn table_error(error: StoreError) -> io::Error {
    match error {
        StoreError::Full { .. } => io::Error::from_raw_os_error(libc::ENOSPC),
        other => io::Error::other(other),
    }
}

impl Inner {
    /// Length of a chunk file; none if there is no such file.
    pub fn len(&self, file: ChunkFileId) -> io::Result<Option<u64>> {
        let Some(value) = self.kv.get(&length_key(file)).map_err(table_error)? else { return Ok(None) };
        let bytes = <[u8; 8]>::try_from(&*value);
        let damaged = |_| io::Error::new(io::ErrorKind::InvalidData, "the record of a chunk file's length is damaged");
        bytes.map(|bytes| Some(u64::from_le_bytes(bytes))).map_err(damaged)
    }

    pub fn put_len(&self, file: ChunkFileId, len: u64) -> io::Result<()> {
        let mut batch = Batch::new();
        batch.put(length_key(file), len.to_le_bytes());
        self.kv.apply(&batch).map(drop).map_err(table_error)
    }

    pub fn sync(&self) -> io::Result<()> {
        self.kv.flush().map_err(table_error)?;
        self.set.sync().map_err(set_error)
    }
}
