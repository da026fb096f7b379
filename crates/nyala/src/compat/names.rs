// SPDX-License-Identifier: Apache-2.0

//! The names of the old commands.

/// The names, and the directory below the prefix that each is in.
pub const NAMES: [&str; 8] = [
    "beegfs-ctl",
    "beegfs-df",
    "beegfs-net",
    "beegfs-check-servers",
    "beegfs-setup-mgmtd",
    "beegfs-setup-meta",
    "beegfs-setup-storage",
    "beegfs-setup-client",
];
