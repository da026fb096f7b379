// SPDX-License-Identifier: Apache-2.0

//! Scrubs: everything on a target is read and compared with its checksums. What decides about those that a service does by itself (`logic`),
//! and what they share with `nyala scrub`: whose a damaged chunk file is, and how a damaged piece is repaired.
//!
//! **Failure model.** See `service::scrub`, and `nyala::walk` of the command line.

pub mod logic;
pub mod owner;
pub mod repair;

pub use owner::Owner;
pub use repair::{Copies, repair};
