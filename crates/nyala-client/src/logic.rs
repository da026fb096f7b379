// SPDX-License-Identifier: Apache-2.0

//! The pure part of the client: no I/O, no clock, no randomness. Time is an argument.

pub mod acked;
mod broken;
pub mod done;
pub mod epochs;
pub mod extents;
pub mod habits;
pub mod inline;
pub mod kept;
pub mod leases;
pub mod left;
pub mod moves;
pub mod numbers;
pub mod own_locks;
pub mod put_off;
pub mod ranges;
pub mod read_ahead;
pub mod removals;
mod rooms;
pub mod segments;
pub mod sequence;
pub mod unsynced;
