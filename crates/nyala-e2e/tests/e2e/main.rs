// SPDX-License-Identifier: Apache-2.0

//! The end-to-end tests. `cargo test -p nyala-e2e` runs them; the crate's documentation says with what settings.

mod damage;
mod hopper;
mod kills;
mod layout;
mod lifecycle;
mod mounts;
mod pjdfstest;
mod posix;
mod programs;
mod promises;
mod refusals;
mod stress_ng;
mod verifiers;
mod writers;
