// SPDX-License-Identifier: Apache-2.0

//! Mount options that are meant for others than the client. Pure.

/// Options that `mount(8)`, systemd or fstab mean for themselves, and those that are so anyway.
const IGNORED: [&str; 20] = [
    "rw",
    "suid",
    "dev",
    "exec",
    "atime",
    "relatime",
    "async",
    "allow_other",
    "default_permissions",
    "defaults",
    "auto",
    "noauto",
    "nofail",
    "_netdev",
    "user",
    "users",
    "nouser",
    "owner",
    "group",
    "diratime",
];

/// What the kernel itself is told of a FUSE mount; `mount -o remount` says it again as the table of mounts shows it.
const KERNELS: [&str; 5] = ["fd", "rootmode", "user_id", "group_id", "max_read"];

/// Whether an option without a value says nothing to us.
pub fn is_ignored(name: &str) -> bool {
    IGNORED.contains(&name) || name.starts_with("x-") || name.starts_with("X-")
}

/// Whether an option is the kernel's own, as the table of mounts shows it.
pub fn is_kernels(name: &str) -> bool {
    KERNELS.contains(&name)
}
