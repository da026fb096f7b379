// SPDX-License-Identifier: Apache-2.0

//! Setting what guides for storage hosts set (`nyala_tune`), and taking it back.
//!
//! **Failure model.** The kernel may refuse a value (a device that does not take it), or take another one: that file is named, and the
//! others are set. The program may be killed at any point: what every file said before is in the state file, synced, before the first one is changed, so
//! `revert` brings it back. A host that was restarted has the kernel's own values again: state of another boot is worth nothing,
//! and is not written back. Two programs at once: one waits for the other's lock. Values that somebody changed between `apply` and `revert` are
//! overwritten by `revert`, which says so.

mod apply;
mod list;
mod state;

pub use apply::{Change, Done, apply, changes, revert, reverts};
pub use list::{list, render};
