// SPDX-License-Identifier: Apache-2.0

//! Identifiers, message layouts, codec, error codes and checksums of the Nyala protocol.
//!
//! This crate is pure: no I/O, no clock, no randomness. `docs/protocol.md` shows every byte of what is defined here.

pub mod checksum;
pub mod frame;
