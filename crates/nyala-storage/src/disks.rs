// SPDX-License-Identifier: Apache-2.0

//! What a storage target stands on, as a trait, so that tests can put simulated disks under the whole service.
//!
//! Failure model: that of [`crate::chunk_store`] for chunk files and of `nyala_store` for the store. Either half may lose what was
//! not synced of it without the other; [`Disks::boot_id`] says that it may have happened.

use crate::chunk_store::{ChunkDisk, OsDisk};
use nyala_store::{Options, Recovery, Store, StoreError};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Opens the two halves of a target, and says whether the machine under them is still the same.
pub trait Disks: Send + Sync {
    /// Opens the target's store: checksums, intents, and what is remembered of sessions and mirrors.
    fn store(&self, dir: &Path, options: Options) -> Result<(Store, Recovery), StoreError>;
    /// Opens the directory of its chunk files, which exists.
    fn chunks(&self, dir: &Path) -> io::Result<Arc<dyn ChunkDisk>>;
    /// What changes when bytes that were written and not synced may be gone.
    fn boot_id(&self, dir: &Path) -> io::Result<String>;
}

/// The disks of this machine.
pub struct OsDisks;

impl Disks for OsDisks {
    fn store(&self, dir: &Path, options: Options) -> Result<(Store, Recovery), StoreError> {
        Store::open(dir, options)
    }

    fn chunks(&self, dir: &Path) -> io::Result<Arc<dyn ChunkDisk>> {
        Ok(Arc::new(OsDisk::open(dir)?))
    }

    fn boot_id(&self, dir: &Path) -> io::Result<String> {
        nyala_store::boot_id(dir)
    }
}
