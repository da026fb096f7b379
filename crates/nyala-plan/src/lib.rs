// SPDX-License-Identifier: Apache-2.0

//! Sizing: from drives, redundancy, servers and networks to usable space and expected throughput. Pure arithmetic.
//!
//! - [`site`]: a site is so many equal enclosures of drives behind so many storage servers; [`Estimate`] says what it holds, how
//!   fast it streams, and what limits it.
//! - [`cabling`]: which port of which host goes to which switch, server or enclosure.
//! - [`measured`]: what a machine was measured to do, put in the place of the published figures.
//! - [`drawing`]: hosts, drives, networks and the limit as a picture (SVG).
//! - [`published`]: the configurations of a published sizing table, as data; the tests hold that the formulas give that table.
//!
//! What is measured, what is a formula and what is an assumption is told apart: each [`Estimate`] lists its assumptions.

pub mod cabling;
pub mod drawing;
mod error;
pub mod estimate;
pub mod measured;
pub mod published;
mod raid;
mod rows;
pub mod site;
mod svg;

pub use cabling::{Cable, Fabric};
pub use error::PlanError;
pub use estimate::{Bound, Estimate, Limit};
pub use raid::Raid;
pub use site::Site;
