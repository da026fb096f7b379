// SPDX-License-Identifier: Apache-2.0

//! The end-to-end tests. `cargo test -p nyala-e2e` runs them; the crate's documentation says with what settings.

mod damage;
mod kills;
mod layout;
mod lifecycle;
mod mounts;
mod posix;
mod programs;
mod refusals;
mod verifiers;
mod writers;
