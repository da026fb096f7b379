// SPDX-License-Identifier: Apache-2.0

//! Empties the kernel's page cache, so that reads come from disks.

use std::path::Path;

/// Drops clean pages, directory entries and inodes; says why it could not.
pub fn drop_caches() -> Result<(), String> {
    rustix::fs::sync();
    let file = Path::new("/proc/sys/vm/drop_caches");
    std::fs::write(file, "3").map_err(|error| format!("caches are warm: {} ({error})", file.display()))
}
