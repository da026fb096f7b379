// SPDX-License-Identifier: Apache-2.0

//! What a Nyala mount shows: the kernel's requests become calls of the client, its errors become errnos, once, here.
//!
//! Inode numbers are the cluster's own, so nothing has to be remembered for the kernel's references and `forget` does
//! nothing. Entries and attributes are cached by the kernel for [`FsOptions::cache_time`] at most (no leases yet), and
//! names that do not exist not at all. Permissions are checked by the kernel (`default_permissions`).
//!
//! Failure model: the cluster may be slow, restarting or gone; the client waits and tries again, and what comes here as
//! an error is final for the request. Nothing here is durable.

mod convert;
mod dirs;
mod fs;
mod handles;

pub use fs::{FsOptions, NyalaFs};
