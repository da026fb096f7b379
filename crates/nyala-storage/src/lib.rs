// SPDX-License-Identifier: Apache-2.0

//! The storage service: chunk files with block checksums.
//!
//! [`run`] is the whole service; [`chunk_store`] is what one target does, without network. `docs/format-storage.md` shows
//! what is on disk.

pub mod chunk_store;
pub mod compare;
pub mod config;
pub mod disks;
pub mod drive_set;
pub mod error;
pub mod scrub;
pub mod service;
mod set_spec;
#[cfg(feature = "testing")]
pub mod testing;

pub use compare::{Comparison, compare};
pub use config::{DRIVE_PORT, ScrubConfig, StorageConfig, TargetSpec};
pub use disks::Disks;
pub use error::StorageError;
pub use nyala_netdrives::{DriveLocation, ExportSpec};
pub use service::{run, run_on};
pub use set_spec::SetSpec;
