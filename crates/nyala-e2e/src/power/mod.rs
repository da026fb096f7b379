// SPDX-License-Identifier: Apache-2.0

//! Files that were synced, changes that were not, and a power cut: what may be there afterwards.
//!
//! - [`plan`]: which files a round has and what happens to each, from a seed.
//! - [`act`]: makes the files and changes them, through real mounts.
//! - [`maker`]: the process that does so.
//! - [`model`]: what each name may hold then. Pure.
//! - [`look`]: compares that with what a mount shows.
//!
//! Failure model: any of the services lose what they had not synced, each for itself; clients live, and may send later what
//! they still hold, or die with it. So a change is there, or not, or (where it was a write) a part of it. What was synced
//! before is there in any case, unless the change took it. What is read may never fail.

pub mod act;
pub mod look;
pub mod maker;
pub mod model;
pub mod plan;

pub use model::{Change, File};
pub use plan::files;
