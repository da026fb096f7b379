// SPDX-License-Identifier: Apache-2.0

//! What services report of the file systems that their targets are on.
//!
//! **Failure model.** The file system does not answer (its disk is gone): nothing is reported as free, so that nobody is sent
//! there, and the service goes on until an operation of its own fails.

use nyala_wire::mgmt::Capacity;
use std::path::Path;

/// Capacity of the file system that a directory is on, in bytes and inodes that we may use; zeros if it does not say. Blocks as
/// long as the file system takes.
pub fn capacity(dir: &Path) -> Capacity {
    match rustix::fs::statvfs(dir) {
        Ok(stat) => Capacity {
            total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
            free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
            total_inodes: stat.f_files,
            free_inodes: stat.f_favail,
        },
        Err(error) => {
            tracing::warn!(dir = %dir.display(), %error, "capacity is not known");
            Capacity::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_the_capacity_of_its_file_system_and_none_that_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let found = capacity(dir.path());
        assert!(found.total_bytes > 0 && found.free_bytes <= found.total_bytes, "{found:?}");
        assert!(found.free_inodes <= found.total_inodes, "{found:?}");
        assert_eq!(capacity(&dir.path().join("nothing")), Capacity::default());
    }
}
