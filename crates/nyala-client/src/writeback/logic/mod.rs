// SPDX-License-Identifier: Apache-2.0

//! The deciding part of [`super`]: pure. No I/O, no clock, no randomness; time is an argument.

pub mod deferred_close;
mod due_index;
pub mod extents;
pub mod migrations;
mod partial_units;
pub mod ranges;
mod spare_capacity;
pub mod unsynced;
