// SPDX-License-Identifier: Apache-2.0

//! Hosts as network namespaces: every service of a cluster has a kernel network stack, addresses and packet filter of its own,
//! so that a host can vanish, which no process on one machine can.
//!
//! - [`net`]: namespaces, a switch between them, cutting one off.
//! - [`disks`]: a file system of its own for each service, that loses what was not synced when the power goes.
//! - [`Hosts`]: a cluster of real `nyala` processes on them, and the faults: killed, stopped, cut off, powered off.
//! - [`machine`]: a host with file systems of its own too, for commands as documents print them.
//! - [`equal`]: whether two targets hold the same.
//!
//! Failure model: as of [`crate::cluster`]. Namespaces outlive processes and directories; their names stand in a file of the
//! test's directory before they are made, and [`crate::cleanup`] removes them from there, also when the test process is
//! killed. All processes have the directory in their command line; image files and their mounts lie in it.

pub mod disks;
pub mod equal;
pub mod machine;
pub mod net;

mod services;

/// What a program does first that has a mount namespace of its own for longer than a moment, in `sh`.
pub const DETACH: &str = include_str!("detach.sh");

pub use disks::Disks;
pub use machine::Machine;
pub use services::{Fault, Hosts, Plan};
