// SPDX-License-Identifier: Apache-2.0

//! The deciding part of [`super`]: pure. No I/O, no clock, no randomness; time is an argument.

pub mod encodings;
pub mod eviction_clock;
pub mod inline;
pub mod leftovers;
pub mod minimal_acl;
pub mod own_locks;
pub mod read_ahead;
pub mod removals;
pub mod stripes;
