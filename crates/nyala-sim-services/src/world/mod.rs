// SPDX-License-Identifier: Apache-2.0

//! What runs on the simulated kernel: a cluster, its clients, and the accidents that happen to them.

pub mod cells;
pub mod cluster;
pub mod data_moves;
pub mod disks;
pub mod errors;
pub mod faults;
pub mod moves;
pub mod names;
pub mod run;
pub mod setup;
pub mod trip;
pub mod work;
