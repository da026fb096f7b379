// SPDX-License-Identifier: Apache-2.0

//! The chunk files of one target and the checksums of their blocks.
//!
//! ```text
//! ChunkStore ── worker(i) ──► ChunkWorker   (one thread each; a chunk file belongs to one worker)
//!      │                          │ write, read, truncate, punch, allocate, sync, stat, seek, unlink
//!      ├── Table (nyala-store): checksums, intents, flags     └── ChunkDisk: sparse files of exact length
//! ```
//!
//! # Failure model
//! A block's content and its checksum live in two places that no system call changes together. So every change goes
//! **(A)** intent with the new checksums into the log, **(B)** file, **(C)** new checksums into the log, intent gone.
//!
//! - **The process dies.** What was written to file and log is still in the page cache. (A) is handed to the kernel
//!   before (B) begins. Opening goes through the intents that are left: a block that matches the intent's checksum or
//!   the old one gets that; anything else was torn in the middle of an unacknowledged write and gets the checksum of
//!   what is there (logged and counted). (C) needs no flush of its own before the acknowledgement: if it is lost, the
//!   intent is there and says the same, since the log loses only its end.
//! - **The machine dies.** Unsynced data may be lost or torn, while checksums are there or not. A flag in the log marks
//!   files with changes that may not be on disk. It is *on disk* before a block that had a checksum before is
//!   overwritten, and goes only after the file was synced. After a start of another kernel, or on another mount (boot id), flagged
//!   files are read, and blocks that do not match get the checksum of what is there (logged and counted). All other files
//!   keep their checksums, so damage to synced data is found. Data whose checksums were lost reads as zeros.
//! - **The disk is full, or fails.** A failed write is resolved at once as after a death of the process. If that fails
//!   too, the intent stays, and the file answers nothing until it could be resolved. A failed sync stays failed for that
//!   file: asking the kernel again would give a false yes, also after a restart of the process. That is in the log with the flag, and
//!   the next start writes the file's blocks again before it believes in them.
//! - **The disk lies, or somebody changes chunk files.** Checksums are compared before old bytes are merged with new ones,
//!   by clients on every read, and here if asked to. A file that is shorter than its blocks is damage too.
//!   What the store holds no checksum for is a hole and reads as zeros, whatever the file has there. In a flagged file, damage that was there
//!   before the machine died cannot be told from a torn write, unless somebody had come across it (`damage`).
//! - **Clients lie or repeat themselves.** Lengths and offsets are checked before anything is allocated. A change that is sent again is
//!   done once; an old copy that comes late does nothing (`repeats`). Writes that come after the removal get `ESTALE`, changes of
//!   sessions that metadata has fenced get `FENCED`.

pub mod bad_blocks;
mod changes;
mod copy;
mod counters;
mod damage;
mod data_count;
mod direct;
mod disk;
mod disk_errors;
mod error;
mod fence;
mod fence_list;
mod fence_set;
#[doc(hidden)]
pub mod fuzzing;
pub mod list;
mod losses;
mod optimistic;
mod os_disk;
mod plan;
mod query;
mod read;
mod read_plan;
mod recover;
mod region;
mod repeats;
mod reserve;
mod resize;
mod rows;
mod shared;
mod sync;
mod table;
mod unlink;
mod walk;
mod worker;
mod write;
mod zero_copy;

#[cfg(test)]
mod tests;

pub use copy::{check_copy, copy_write, pad_copy};
pub use counters::{ChunkCounters, Count};
pub use disk::{ChunkDisk, ChunkFile, Opened};
pub use error::ChunkError;
pub use optimistic::{OptimisticRead, SMALL_BYTES, Written};
pub use os_disk::{OsDisk, directory_of, path_of};
pub use read::ReadOut;
pub use region::{BadBlock, Region, RegionHeader, There};
pub use repeats::Author;
pub(crate) use rows::{group_key, length_key, parse_key, tag};
pub use shared::{ChunkStore, ChunkStoreOptions, RecoveryReport, worker_of};
pub use sync::SyncJob;
pub use table::{Table, Visit};
pub use unlink::Remover;
pub use worker::ChunkWorker;
pub use write::WriteOp;
pub use zero_copy::ZeroCopyRead;

/// Longest chunk file, bytes.
pub const MAX_CHUNK_FILE_BYTES: u64 = 1 << 50;
