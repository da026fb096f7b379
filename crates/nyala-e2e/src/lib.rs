// SPDX-License-Identifier: Apache-2.0

//! End-to-end tests: real processes, real mounts, faults.
//!
//! The library is the harness, `tests/e2e` are the tests:
//!
//! - [`Cluster`] runs the `nyala` binary: a whole cluster with its own directory, ports and mount point, that leaves nothing behind.
//! - [`Hosts`] runs one with a host (a network namespace) for every service; [`latency_probe`] measures how long a mount stands still.
//! - [`terminal`] shows what somebody sees at a terminal of 80 columns.
//! - [`browser`] leads a headless Chromium.
//! - [`fsck`] checks the whole file system after a failure; [`power`] knows what may be there after a power cut.
//! - [`mod@run`] runs programs with a time limit, [`posix`] holds checks of a directory's POSIX behaviour (they also run on the
//!   local file system, which proves the checks themselves), [`load`] is a load that knows what it was promised.
//!
//! `NYALA_BIN` names the binary; without it the newest of `target/release/nyala` and `target/debug/nyala` is used, and
//! built if there is none. `NYALA_E2E_DIR` names the directory for clusters (default `/var/tmp`: a real disk, so that fsync
//! means something). `NYALA_E2E_LONG=1` makes everything longer. Two tests run at a time,
//! but for those that want the machine for themselves ([`lanes`]); with `--test-threads=8`, as `make test-e2e` has it, they are put together so
//! that processors are busy, with `--test-threads=1` they run one by one.

pub mod binary;
pub mod browser;
pub mod cleanup;
pub mod cluster;
pub mod coherence;
pub mod file_handles;
pub mod file_locks;
pub mod fsck;
pub mod hosts;
pub mod lanes;
pub mod latency_probe;
pub mod load;
pub mod locker;
pub mod mounts;
pub mod multi_mount;
pub mod ports;
pub mod posix;
pub mod power;
pub mod prepared;
pub mod run;
pub mod shared;
mod signals;
pub mod strangers;
pub mod sys;
pub mod terminal;

pub use cluster::{Cluster, Options};
pub use hosts::Hosts;
pub use lanes::{alone, beside_others};
pub use mounts::Mounts;
pub use run::{Outcome, run, wait_until};
pub use shared::{long, shared};
