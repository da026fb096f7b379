// SPDX-License-Identifier: Apache-2.0

//! What parity costs: CPU time of all processes and space on disk for what is written and read with it, by what it is without. Erasure coding over
//! targets is held against `raid0` over as many with data, RAID 6 under one target against level 0 of as many drives with data. The same files are written
//! and read in turn, several times.

mod cluster;
mod compare;
mod document;
mod placement;
mod round;
mod space;
#[cfg(test)]
mod tests;

pub use cluster::ParityCluster;
pub use compare::{Comparison, Cost, Placed, compare};
pub use document::document;
pub use placement::Placement;
pub use round::{PHASES, round};
