// SPDX-License-Identifier: Apache-2.0

//! Sizing: from drives, redundancy, servers and networks to usable space and expected throughput. Pure arithmetic.
//!
//! - [`site`]: a site is so many equal enclosures of drives behind so many storage servers; [`Site::estimate`] says what it holds, how
//!   fast it streams, and what limits it.
//! - [`published`]: the configurations of a published sizing table, as data; the tests hold that the formulas give that table.
//!
//! What is measured, what is a formula and what is an assumption is told apart: each [`Estimate`] lists its assumptions.

mod error;
pub mod published;
mod raid;
pub mod site;

pub use error::PlanError;
pub use raid::Raid;
pub use site::{Estimate, Limit, Site};
