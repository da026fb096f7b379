// SPDX-License-Identifier: Apache-2.0

//! The deciding part of [`super`]: pure. No I/O, no clock, no randomness; time is an argument.

pub mod acknowledged;
pub(crate) mod checksum;
pub mod effects;
pub(crate) mod grants;
pub mod group_numbers;
pub(crate) mod proofs;
pub mod replay_log;
pub(crate) mod replay_messages;
pub mod segments;
pub mod sequence;
pub(crate) mod slots_came;
