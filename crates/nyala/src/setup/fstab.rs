// SPDX-License-Identifier: Apache-2.0

//! The table of file systems, `/etc/fstab`: lines of ours are found and added; everything else in it stays byte for byte.
//!
//! **Failure model.** The host boots by this file. It may be missing, unreadable, without an end of its last line, not UTF-8, or have
//! broken lines: those stay, and a table that cannot be read is an error, never an empty one. It is written beside itself, synced and
//! renamed, so a crash leaves the old or the new one; mode and owner stay, and a table that is a link stays one. Somebody else may
//! change it between the plan and the step: the step looks again, and refuses another line for the mount point.

use super::replace::replace_file;
use crate::exit::{Failure, io};
use nyala_tune::fstab::{Known, known};
use std::io::ErrorKind;
use std::path::Path;

/// A table; an absent one is empty.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    match std::fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(io(path.display())),
    }
}

/// Refuses another line for the mount point; says whether the line is to be added.
pub fn is_to_be_added(path: &Path, line: &str) -> Result<bool, Failure> {
    match known(&read(path)?, line) {
        Known::No => Ok(true),
        Known::Same => Ok(false),
        Known::Other(there) => Err(Failure::failed(format!(
            "{} has another line for this mount point: {there}; change or remove that one. The new one would be: {line}",
            path.display()
        ))),
    }
}

/// Adds a line at the end, unless it is there.
pub fn add(path: &Path, line: &str) -> Result<(), Failure> {
    if !is_to_be_added(path, line)? {
        return Ok(());
    }
    let mut text = read(path)?;
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text.extend_from_slice(line.as_bytes());
    text.push(b'\n');
    replace_file(path, &text).map_err(io(format!("cannot write {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Gid, Uid};
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    const LINE: &str = "h:/ /mnt/a fuse.nyala _netdev 0 0";

    #[test]
    fn a_line_is_added_and_everything_else_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("fstab"));
        let before = b"# mine \xff\n\nbroken\nUUID=1 / ext4 rw 0 1".to_vec();
        std::fs::write(&real, &before).unwrap();
        std::fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("real", &link).unwrap();
        rustix::fs::chown(&real, Some(Uid::from_raw(7)), Some(Gid::from_raw(8))).unwrap();
        let inode = std::fs::metadata(&real).unwrap().ino();
        add(&link, LINE).unwrap();
        let after = [before.as_slice(), b"\n", LINE.as_bytes(), b"\n"].concat();
        assert_eq!(std::fs::read(&real).unwrap(), after);
        let now = std::fs::metadata(&real).unwrap();
        assert_eq!((now.mode() & 0o7777, now.uid(), now.gid()), (0o640, 7, 8));
        assert_ne!(now.ino(), inode, "it is another file that was renamed");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        add(&link, LINE).unwrap();
        assert_eq!(std::fs::read(&real).unwrap(), after, "not twice");
        let refused = add(&link, "k:/ /mnt/a fuse.nyala _netdev 0 0").unwrap_err().message;
        assert!(refused.contains(LINE) && refused.contains("change or remove"), "{refused}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left beside it");
        let new = dir.path().join("new");
        add(&new, LINE).unwrap();
        assert_eq!(std::fs::metadata(&new).unwrap().mode() & 0o7777, 0o644);
        assert!(read(dir.path()).is_err(), "what cannot be read is not empty");
    }
}
