// SPDX-License-Identifier: Apache-2.0

//! Mirror groups of metadata targets under seeded faults: management as it ships ([`crate::mgmt`]), and members as they ship
//! ([`nyala_replica::log`]), with tables of few keys. Each record sets a key to its own number, so that what a table holds tells which
//! records it has.
//!
//! What must hold is in [`check`]: what was answered for is at every good member, no two members lead a term, one record has one
//! content, and in the end everything is equal and at rest.

pub mod check;
mod decide;
pub mod faults;
mod members;
pub mod node;
pub mod run;
pub mod world;

pub use run::run_group;
