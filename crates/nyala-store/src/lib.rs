// SPDX-License-Identifier: Apache-2.0

//! Durable ordered tables: an append-only log with group commit (the truth), tables in memory, and atomic checkpoints
//! in sorted batches into an ordered store on disk (a tree of checked pages).
//!
//! ```text
//! apply ──► log buffer ──flush──► segment file ──sync──► disk          (order, durability)
//!    └────► active table ──freeze──► frozen table ──commit──► tree     (lookup, larger than memory)
//! ```
//!
//! # Failure model
//! - The process dies at any instruction: what was flushed is in the page cache, the rest is gone. Open replays the log.
//! - The machine loses power: what was synced is there; of the rest any 512-byte sector may be new or old. Every record
//!   says how far the log was on disk when it was written, so recovery can tell an unsynced tail (cut, and reported)
//!   from damage to what was once on disk (refused, never skipped).
//! - The disk is full: a segment is allocated whole before its first record, so `apply` refuses with
//!   [`StoreError::Full`] and nothing is half done; smaller segments are tried first, then one made of a file that was
//!   allocated ahead. Checkpoints have a reserve of allocated space, and release segments. One that finds no room is made in
//!   slices, each of which uses the pages that the one before released; if that does not do either, it is tried again, and memory limits slow callers.
//! - A write or a sync fails: nobody knows what is on disk, and asking again can lie. The store is poisoned: it refuses
//!   every change until it is opened anew.
//! - The disk lies: every record, segment header and page of the tree has a CRC-32C; damage is an error with file and
//!   offset, and nothing that was there is ever taken for missing.
//! - Two processes open one directory: the second gets [`StoreError::Locked`].
//!
//! The bytes on disk are described in `docs/format-store.md`.

mod boot_id;
mod continuity;
mod damage;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod growth;
mod lmdb;
mod lock;
mod log;
mod memtable;
pub mod metrics;
mod open;
mod options;
mod ordered;
pub mod own_dir;
pub mod private;
mod progress;
mod scrub;
mod shared;
mod slices;
mod space;
mod space_state;
mod store;
mod tables;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod threads;
mod tree;

pub use boot_id::boot_id;
pub use error::StoreError;
pub use log::disk::{FreeSpace, LogDisk, LogFile};
pub use nyala_kv::{
    Batch, BatchIter, Change, ChangeKind, MAX_BATCH_BYTES, MAX_KEY_BYTES, MAX_VALUE_BYTES, ONE_PAGE_VALUE_BYTES, Visit,
    prefix_end,
};
pub use open::hold;
pub use options::{Condition, Lsn, Options, Recovery, Stats, Value};
pub use ordered::{CheckpointMeta, OrderedStore, Verified};
pub use space::{Shortage, Space, SpaceRule};
pub use store::{Mark, Store};
