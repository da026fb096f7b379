// SPDX-License-Identifier: Apache-2.0

//! The deciding part of [`super`]: pure. No I/O, no clock, no randomness; time is an argument.

pub mod all_names;
#[cfg(test)]
mod all_names_tests;
pub mod cached_inode;
pub mod delegations;
pub mod generations;
pub mod known_names;
pub mod open_predictor;
pub mod shared;
pub mod use_order;
