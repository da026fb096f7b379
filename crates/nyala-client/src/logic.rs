// SPDX-License-Identifier: Apache-2.0

//! The pure part of the client: no I/O, no clock, no randomness. Time is an argument.

pub mod epochs;
pub mod extents;
pub mod inline;
pub mod kept;
pub mod leases;
pub mod numbers;
pub mod own_locks;
pub mod ranges;
pub mod read_ahead;
pub mod segments;
pub mod sequence;
