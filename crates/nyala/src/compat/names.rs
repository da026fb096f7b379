// SPDX-License-Identifier: Apache-2.0

//! The names of the old commands.

/// The names; each is in the same directory below the prefix.
pub const NAMES: [&str; 10] = [
    "beegfs-ctl",
    "beegfs-df",
    "beegfs-net",
    "beegfs-check-servers",
    "beegfs-setup-mgmtd",
    "beegfs-setup-meta",
    "beegfs-setup-storage",
    "beegfs-setup-client",
    "xiraid",
    "xicli",
];
