// SPDX-License-Identifier: Apache-2.0

//! Which mount of ours a path lies on, from the kernel's table of mounts, without asking the mount.
//!
//! **Failure model.** The table may be unreadable (no `/proc`): an error. A mount whose daemon hangs or is gone must not
//! hang us: paths are made absolute by their text and their parents outside the mount, see [`absolute`].

use crate::exit::{Failure, io};
use nyala_fuse::mount::table;
use std::path::{Component, Path, PathBuf};

pub use nyala_fuse::mount::FS_TYPE;
pub use nyala_fuse::mount::table::MountEntry;

/// All mounts, in the order in which they were made.
pub fn all() -> Result<Vec<MountEntry>, Failure> {
    table::all().map_err(io(table::PATH))
}

/// The mount of ours at exactly this mount point, if that is what is uppermost there.
pub fn at(mountpoint: &Path) -> Result<Option<MountEntry>, Failure> {
    let uppermost = table::top_at(mountpoint).map_err(io(table::PATH))?;
    Ok(uppermost.filter(|mounted| mounted.fs_type == FS_TYPE))
}

/// The mount of ours that an absolute path lies on, if it lies on one.
pub fn holding(mounts: &[MountEntry], path: &Path) -> Option<MountEntry> {
    let over = mounts.iter().enumerate().filter(|(_, mounted)| path.starts_with(&mounted.mountpoint));
    // The longest mount point, and of equal ones the last, is what the path leads to.
    let (_, top) = over.max_by_key(|(at, mounted)| (mounted.mountpoint.components().count(), *at))?;
    (top.fs_type == FS_TYPE).then(|| top.clone())
}

/// An absolute path without `.` and `..` by text alone.
pub fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    let path = std::path::absolute(path).map_err(io(path.display()))?;
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    Ok(clean)
}

/// An absolute path without links as far as it exists, as the table of mounts has it. A mount of ours in it is not asked.
pub fn settled(path: &Path) -> Result<PathBuf, Failure> {
    let path = absolute(path)?;
    if at(&path)?.is_some() {
        return Ok(path);
    }
    for ancestor in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (std::fs::canonicalize(ancestor), path.strip_prefix(ancestor)) {
            return Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) });
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] =
        b"20 1 0:1 / / rw - ext4 /dev/a rw\n36 20 0:44 / /mnt/a\\040b rw,noatime shared:1 - fuse.nyala h:/ rw\n\
        37 36 0:45 / /mnt/a\\040b/sub rw - tmpfs none rw\n38 20 0:46 / /mnt/x rw - fuse.nyala x:/ rw\nnonsense\n";

    #[test]
    fn the_nearest_mount_counts() {
        let mounts: Vec<MountEntry> = table::parse(TABLE).collect();
        assert_eq!(mounts.len(), 4);
        let source = |path: &str| holding(&mounts, Path::new(path)).map(|mounted| mounted.source);
        assert_eq!(source("/mnt/a b"), Some("h:/".into()));
        assert_eq!(source("/mnt/a b/c/d"), Some("h:/".into()));
        assert_eq!(source("/mnt/a b/sub/c"), None, "another file system is mounted inside");
        assert_eq!(source("/mnt/xy"), None, "names are compared whole");
        assert_eq!(source("/mnt/x/y"), Some("x:/".into()));
        assert_eq!(source("/etc"), None);
    }

    #[test]
    fn links_are_followed_as_far_as_the_path_exists() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&real, real.join("link")).unwrap();
        assert_eq!(settled(&real.join("link/new/deep")).unwrap(), real.join("new/deep"));
        assert_eq!(settled(&real.join("link")).unwrap(), real);
    }

    #[test]
    fn paths_are_cleaned_by_text() {
        assert_eq!(absolute(Path::new("/a/./b/../c/")).unwrap(), Path::new("/a/c"));
        assert_eq!(absolute(Path::new("/../..")).unwrap(), Path::new("/"));
        assert!(absolute(Path::new("x")).unwrap().is_absolute());
    }
}
