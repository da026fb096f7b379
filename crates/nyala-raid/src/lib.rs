// SPDX-License-Identifier: Apache-2.0

//! Pure: drive sets, which is RAID in software.
//!
//! A set keeps objects (endless arrays of bytes) on drives, each of which has a file for each object and a table. Every block has a checksum.
//!
//! | Module | |
//! |---|---|
//! | [`level`], [`geometry`] | which drive has which bytes |
//! | [`volume`] | operations on stripes: read, write, repair, discard, recovery after a crash |
//! | [`intent`], [`row`], [`key`] | what lies in the drives' tables |
//! | [`superblock`], [`member`], [`assemble`] | which drives are a set, and whether it may start |
//! | [`members`], [`event`], [`risk`] | the state of a set's drives, and what follows from what happens to them |
//! | [`options`] | what an operator has set |
//! | [`walk`] | rebuild and scrub: in which order, and from where on |
//! | [`latency`] | which drive is slow |
//!
//! Nothing here does I/O or reads a clock: an [`Operation`] is stepped with replies and returns effects.
//!
//! **Failure model.** Up to as many members of each group as it has parity strips may be missing, fail, be slow, return what was never
//! written or forget what was; a power cut takes what was not synced, from each drive for itself, and may come with the loss of drives. What was synced is read back unchanged;
//! what was not is, block by block, as it was before or as it was written (torn within a block only where the block was never synced before). Two operations on one
//! stripe at once, numbers that do not grow, and more lost members than parity are not covered: the caller sees to the first two, and the last is an error.

pub mod assemble;

mod checkpoint;
mod code;
pub mod effect;
mod error;
mod error_counts;
pub mod event;
pub mod geometry;
mod ids;
pub mod intent;
pub mod key;
pub mod latency;
pub mod level;
mod logs;
pub mod member;
pub mod members;
mod newest;
pub mod options;
mod reader;
mod recover;
mod recovered;
pub mod risk;
pub mod row;
pub mod stripe;
pub mod superblock;
pub mod task;
pub mod volume;
pub mod walk;

pub use effect::{Effect, Reply};
pub use error::StripeError;
pub use geometry::Geometry;
pub use ids::{BLOCK_BYTES, ObjectId, StripeId, StripePart};
pub use level::{GeometryError, Level};
pub use recovered::Recovered;
pub use stripe::outcome::{Damage, DamageKind, Repaired, Use, WriteMode, Written};
pub use task::{Operation, Step};
pub use volume::Volume;
