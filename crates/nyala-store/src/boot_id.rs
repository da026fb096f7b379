// SPDX-License-Identifier: Apache-2.0

//! Whether the machine under a directory is still the same.
//!
//! **Failure model.** A sameness that is not there would leave torn files unread; a change that was none costs a comparison. So whatever cannot be told is an error, and what
//! changes without a loss (a mount in another name space) counts as a change.

use rustix::fs::StatxFlags;
use std::io;
use std::path::Path;

/// `STATX_MNT_ID_UNIQUE` (Linux 6.8): a number that no other mount gets; older kernels give one that is used again.
pub(crate) const UNIQUE_MOUNT: StatxFlags = StatxFlags::from_bits_retain(0x4000);

/// The number of the kernel's run.
pub(crate) fn kernel_run() -> io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// What changes when bytes that were written and not synced may be gone: the kernel's run, and the mount. A file system that
/// shut itself down, or was cut off from its disk, loses what it had in memory without a restart of the machine. A mount that only
/// looks like another one (of another name space, say) costs a comparison of the files that were not synced.
pub fn boot_id(dir: &Path) -> io::Result<String> {
    const MOUNT: StatxFlags = UNIQUE_MOUNT.union(StatxFlags::MNT_ID);
    let run = kernel_run()?;
    let mount = rustix::fs::statx(rustix::fs::CWD, dir, rustix::fs::AtFlags::empty(), MOUNT)?.stx_mnt_id;
    Ok(format!("{run} {mount}"))
}
