// SPDX-License-Identifier: Apache-2.0

//! Which mount of ours a path lies on, from `/proc/self/mountinfo`, without asking the mount.
//!
//! **Failure model.** The table may be unreadable (no `/proc`): an error. A mount whose daemon hangs or is gone must not
//! hang us: paths are made absolute by their text and their parents outside the mount, see [`absolute`].

use crate::exit::{Failure, io};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// File system type of our mounts.
pub const FS_TYPE: &str = "fuse.nyala";

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// Where.
    pub mountpoint: PathBuf,
    /// Device number, `major:minor`: the same for all copies of a mount, in whatever namespace.
    pub device: String,
    /// Type, `fuse.nyala` for ours.
    pub fs_type: String,
    /// What the mount says it is, such as `host:/`.
    pub source: String,
}

/// All mounts, in the order in which they were made.
pub fn all() -> Result<Vec<Mounted>, Failure> {
    let table = std::fs::read("/proc/self/mountinfo").map_err(io("/proc/self/mountinfo"))?;
    Ok(parse(&table))
}

/// The mount of ours at exactly this mount point, if that is what is uppermost there.
pub fn at(mountpoint: &Path) -> Result<Option<Mounted>, Failure> {
    let uppermost = all()?.into_iter().rfind(|mounted| mounted.mountpoint == mountpoint);
    Ok(uppermost.filter(|mounted| mounted.fs_type == FS_TYPE))
}

/// The mount of ours that an absolute path lies on, if it lies on one.
pub fn holding(mounts: &[Mounted], path: &Path) -> Option<Mounted> {
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

fn parse(table: &[u8]) -> Vec<Mounted> {
    table.split(|byte| *byte == b'\n').filter_map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<Mounted> {
    let mut fields = line.split(|byte| *byte == b' ');
    let device = String::from_utf8_lossy(fields.nth(2)?).into_owned();
    let mountpoint = PathBuf::from(OsString::from_vec(unescape(fields.nth(1)?)));
    fields.find(|field| *field == b"-")?;
    let mut text = || fields.next().map(|field| String::from_utf8_lossy(&unescape(field)).into_owned());
    Some(Mounted { mountpoint, device, fs_type: text()?, source: text()? })
}

/// Takes back the octal escapes of blanks and the like.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut at = 0;
    while at < field.len() {
        let octal = field.get(at + 1..at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| field[at] == b'\\') {
            Some(byte) => {
                bytes.push(byte);
                at += 4;
            }
            None => {
                bytes.push(field[at]);
                at += 1;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] =
        b"20 1 0:1 / / rw - ext4 /dev/a rw\n36 20 0:44 / /mnt/a\\040b rw,noatime shared:1 - fuse.nyala h:/ rw\n\
        37 36 0:45 / /mnt/a\\040b/sub rw - tmpfs none rw\n38 20 0:46 / /mnt/x rw - fuse.nyala x:/ rw\nnonsense\n";

    #[test]
    fn the_nearest_mount_counts() {
        let mounts = parse(TABLE);
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
