// SPDX-License-Identifier: Apache-2.0

//! Drive sets: directories, of this machine or others, as the drives of a software RAID. What is decided is in `nyala-raid`; this crate has the drives, the threads and the clock.
//!
//! Bytes on disk: `docs/format-raid.md`.
//!
//! **Failure model.** Of the drives: that of `nyala-raid`. A drive whose write, table or sync fails is out of the set, durably on the others, before anything is acknowledged
//! that it should have had; a failed sync is never tried again on it, since the kernel would say yes. A directory that is empty or missing is no drive. Reads that take
//! much longer than those of other drives are gone around. The process may die at any time, and the machine with what was not synced; opening the
//! set again brings the logs to an end. Several sets may want one empty directory: one gets it (`claim`). A set that is deleted is gone from all its drives or can be deleted again (`deletion`). A drive that is back in time catches up while the set is in use. Two processes must not use one drive: its table is locked.

mod access;
mod behind;
mod claim;
mod claim_dir;
mod core;
mod deletion;
mod deletion_dir;
mod directory;
mod discard;
mod drive;
mod drive_files;
mod error;
mod events;
mod files;
#[doc(hidden)]
pub mod fuzzing;
mod local;
mod missed;
mod open;
mod options;
mod os_dir;
mod owner;
mod progress;
mod rebuild;
mod repair;
mod requests;
mod returned;
mod rows;
mod run;
mod runner;
mod scrub;
mod set;
mod set_disk;
mod set_file;
mod set_files;
mod state;
mod status;
mod sync;
mod unsynced;

pub use crate::core::Counters;
pub use access::DriveAccess;
pub use claim_dir::{claimed_by, release_drive, take_drive};
pub use deletion_dir::{DriveDeletion, NO_SET, deletion_of, is_half_made};
pub use drive::{Drive, is_empty};
pub use drive_files::DriveFiles;
pub use error::SetError;
pub use files::OsFiles;
pub use open::create;
pub use progress::Progress;
pub use set::DriveSet;
pub use set_disk::set_disk;
pub use set_files::SetFiles;
pub use status::MemberStatus;
