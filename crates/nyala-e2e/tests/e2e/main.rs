// SPDX-License-Identifier: Apache-2.0

//! The end-to-end tests. `cargo test -p nyala-e2e` runs them; the crate's documentation says with what settings.

mod coherence;
mod damage;
mod deaths;
mod delegation_cost;
mod entries;
mod exit_codes;
mod failures;
mod fenced;
mod fsck;
mod full_disk;
mod full_management;
mod full_storage;
mod handles;
mod kills;
mod layout;
mod leftovers;
mod lifecycle;
mod lock_ends;
mod locks;
mod management;
mod mirrored_metadata;
mod mount_copies;
mod mounts;
mod moved;
mod multi_mount;
mod operating;
mod pjdfstest;
mod posix;
mod power;
mod programs;
mod promises;
mod refusals;
mod remount;
mod restore;
mod resync;
mod scrub;
mod soak;
mod strangers;
mod stress_ng;
mod takeover;
mod verifiers;
mod waits;
mod ways;
mod writers;
